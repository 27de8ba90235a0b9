// Logos and display decimals of well-known tokens, by chain id, used if no imported list has them. Names and amounts always
// come from the contract, so a wrong address here could only give a token a wrong logo. Logos are files of
// trustwallet/assets; "" means none.

import type { TokenDisplay } from './token.ts'

const LOGOS = 'https://raw.githubusercontent.com/trustwallet/assets/master/blockchains'
const ofChain = (chain: string): string => `${LOGOS}/${chain}/info/logo.png`
const ofToken = (address: string): string => `${LOGOS}/ethereum/assets/${address}/logo.png`

const POL_LOGO = ofChain('polygon')
const AVAX_LOGO = ofChain('avalanchec')

const USDC: TokenDisplay = { logoUrl: ofToken('0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'), displayDecimals: 2 }
const USDT: TokenDisplay = { logoUrl: ofToken('0xdAC17F958D2ee523a2206206994597C13D831ec7'), displayDecimals: 2 }
const DAI: TokenDisplay = { logoUrl: ofToken('0x6B175474E89094C44Da98b954EedeAC495271d0F'), displayDecimals: 2 }
const WETH: TokenDisplay = { logoUrl: ofToken('0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'), displayDecimals: 6 }
const WBTC: TokenDisplay = { logoUrl: ofToken('0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599'), displayDecimals: 8 }
const LINK: TokenDisplay = { logoUrl: ofToken('0x514910771AF9Ca656af840dff83E8264EcF986CA'), displayDecimals: 4 }
const UNI: TokenDisplay = { logoUrl: ofToken('0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984'), displayDecimals: 4 }
const CBBTC: TokenDisplay = { logoUrl: '', displayDecimals: 8 }
const WPOL: TokenDisplay = { logoUrl: POL_LOGO, displayDecimals: 4 }
const WAVAX: TokenDisplay = { logoUrl: AVAX_LOGO, displayDecimals: 4 }

const DISPLAYS: Readonly<Record<number, Readonly<Record<string, TokenDisplay>>>> = {
  1: {
    '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48': USDC,
    '0xdAC17F958D2ee523a2206206994597C13D831ec7': USDT,
    '0x6B175474E89094C44Da98b954EedeAC495271d0F': DAI,
    '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2': WETH,
    '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599': WBTC,
    '0x514910771AF9Ca656af840dff83E8264EcF986CA': LINK,
    '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984': UNI,
    '0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf': CBBTC,
  },
  137: {
    '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359': USDC,
    '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174': USDC,
    '0xc2132D05D31c914a87C6611C10748AEb04B58e8F': USDT,
    '0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063': DAI,
    '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619': WETH,
    '0x1BFD67037B42Cf73acF2047067bd4F2C47D9BfD6': WBTC,
    '0x53E0bca35eC356BD5ddDFebbD1Fc0fD03FaBad39': LINK,
    '0xb33EaAd8d922B1083446DC23f610c2567fB5180f': UNI,
    '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270': WPOL,
  },
  8453: {
    '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913': USDC,
    '0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2': USDT,
    '0x50c5725949A6F0c72E6C4a641F24049A917DB0Cb': DAI,
    '0x4200000000000000000000000000000000000006': WETH,
    '0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf': CBBTC,
    '0x88Fb150BDc53A65fe94Dea0c9BA0a6dAf8C6e196': LINK,
  },
  43114: {
    '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E': USDC,
    '0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7': USDT,
    '0xd586E7F844cEa2F87f50152665BCbc2C279D8d70': DAI,
    '0x49D5c2BdFfac6CE2BFdB6640F4F80f226bc10bAB': WETH,
    '0x50b7545627a5162F82A992c33b87aDc75187B218': WBTC,
    '0x5947BB275c521040051D82396192181b413227A3': LINK,
    '0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7': WAVAX,
  },
  11155111: {
    '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238': USDC,
    '0xfFf9976782d46CC05630D1f6eBAb18b2324d6B14': WETH,
    '0x779877A7B0D9E8603169DdbD7836e478b4624789': LINK,
    '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984': UNI,
  },
  80002: {
    '0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582': USDC,
    '0x0Fd9e8d3aF1aaee056EB9e802c3A762a667b1904': LINK,
    '0x360ad4f9a9A8EFe9A8DCB5f461c4Cc1047E1Dcf9': WPOL,
  },
  84532: {
    '0x036CbD53842c5426634e7929541eC2318f3dCF7e': USDC,
    '0x4200000000000000000000000000000000000006': WETH,
    '0xE4aB69C077896252FAFBD49EFD26B5D171A32410': LINK,
  },
  43113: {
    '0x5425890298aed601595a70AB815c96711a31Bc65': USDC,
    '0xd00ae08403B9bbb9124bB305C09058E32C39A48c': WAVAX,
    '0x0b9d5D9136855f6FEc3c0993feE6E9CE8a297846': LINK,
  },
}

/** By EIP-155 chain id, then by canonical address. */
export const DEFAULT_DISPLAYS: ReadonlyMap<number | null, ReadonlyMap<string, TokenDisplay>> = new Map(
  Object.entries(DISPLAYS).map(([chainId, tokens]) => [Number(chainId), new Map(Object.entries(tokens))]),
)
