import { type EvmNetworkFile, GWEI, logoUrlOf, POOL_TRANSACTION_BYTES, TWO_SECOND_BLOCKS } from './network.ts'
import { DAI, LINK, UNI, USDC, USDT, WBTC, WETH } from './tokens.ts'

const WPOL = { logoUrl: logoUrlOf('polygon'), displayDecimals: 4 }

export const polygon = {
  network: 'Polygon',
  family: 'evm',
  // chainlist of ethereum-lists.
  chainIds: { testnet: 80_002, mainnet: 137 },
  coin: {
    word: 'MATIC',
    name: 'Polygon Ecosystem Token',
    symbol: 'POL',
    decimals: 18,
    displayDecimals: 4,
    logoUrl: logoUrlOf('polygon'),
  },
  explorerUrls: { testnet: 'https://amoy.polygonscan.com', mainnet: 'https://polygonscan.com' },
  // Bor refuses lower tips (PIP-34 and the node's default).
  minPriorityFeeWei: 25n * GWEI,
  believedTipWei: 300n * GWEI,
  // In 2023 inscriptions raised fees to several thousand gwei.
  maxFeePerGasCapWei: 10_000n * GWEI,
  hasDataFloor: true,
  // 2^25 since Madhugiri, 2025-12-09 (bor params/protocol_params.go, MaxTxGas: twice that of EIP-7825).
  maxTransactionGas: 33_554_432n,
  maxTransactionBytes: POOL_TRANSACTION_BYTES,
  confirmations: 10,
  finalDepth: 256,
  ...TWO_SECOND_BLOCKS,
  gasPriceOracle: null,
  // MRC20 of maticnetwork/contracts, on both networks.
  coinContract: { address: '0x0000000000000000000000000000000000001010', movesIn: 'calls' },
  nameRegistry: null,
  tokens: {
    testnet: {
      '0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582': USDC,
      '0x0Fd9e8d3aF1aaee056EB9e802c3A762a667b1904': LINK,
      '0x360ad4f9a9A8EFe9A8DCB5f461c4Cc1047E1Dcf9': WPOL,
    },
    mainnet: {
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
  },
} as const satisfies EvmNetworkFile
