// The display of tokens that exist on several networks, with their logos at Trust Wallet. Names and amounts always come
// from the contract, so a wrong address in a network's file can only give a token a wrong logo.

import { LOGOS, type TokenDisplay } from './network.ts'

/** @param onEthereum the token's address on Ethereum, after which its logo is named. */
const token = (onEthereum: string, displayDecimals: number): TokenDisplay => ({
  logoUrl: `${LOGOS}/ethereum/assets/${onEthereum}/logo.png`,
  displayDecimals,
})

export const USDC = token('0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 2)
export const USDT = token('0xdAC17F958D2ee523a2206206994597C13D831ec7', 2)
export const DAI = token('0x6B175474E89094C44Da98b954EedeAC495271d0F', 2)
export const WETH = token('0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', 6)
export const WBTC = token('0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599', 8)
export const LINK = token('0x514910771AF9Ca656af840dff83E8264EcF986CA', 4)
export const UNI = token('0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984', 4)
export const CBBTC: TokenDisplay = { logoUrl: '', displayDecimals: 8 }
