import { EIP_7825_GAS, type EvmNetworkFile, GWEI, logoUrlOf, POOL_TRANSACTION_BYTES } from './network.ts'
import { CBBTC, DAI, LINK, UNI, USDC, USDT, WBTC, WETH } from './tokens.ts'

export const ethereum = {
  network: 'Ethereum',
  family: 'evm',
  // chainlist of ethereum-lists.
  chainIds: { testnet: 11_155_111, mainnet: 1 },
  coin: { word: 'ETH', name: 'Ether', symbol: 'ETH', decimals: 18, displayDecimals: 6, logoUrl: logoUrlOf('ethereum') },
  explorerUrls: { testnet: 'https://sepolia.etherscan.io', mainnet: 'https://etherscan.io' },
  // go-ethereum does not include transactions with a lower tip in its blocks (miner.gasprice).
  minPriorityFeeWei: GWEI / 1_000n,
  // Higher tips are paid only in rushes, when the base fee is high as well.
  believedTipWei: 20n * GWEI,
  // The rushes of 2021 and 2022 exceeded it for minutes or hours. An operator who must send then chooses a higher one.
  maxFeePerGasCapWei: 1_000n * GWEI,
  hasDataFloor: true,
  // Since Fusaka, 2025-12-03; on Sepolia since 2025-10-14 (EIP-7607).
  maxTransactionGas: EIP_7825_GAS,
  maxTransactionBytes: POOL_TRANSACTION_BYTES,
  confirmations: 3,
  finalDepth: 64,
  // One day; a tracing node needs about ten minutes for it.
  wholeBackfillBlocks: 7_200,
  blockIntervalMs: 12_000,
  pollIntervalMs: 2_000,
  climbAfterSeconds: 60,
  expireAfterSeconds: 3_600,
  gasPriceOracle: null,
  coinContract: null,
  nameRegistry: '0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e',
  tokens: {
    testnet: {
      '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238': USDC,
      '0xfFf9976782d46CC05630D1f6eBAb18b2324d6B14': WETH,
      '0x779877A7B0D9E8603169DdbD7836e478b4624789': LINK,
      '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984': UNI,
    },
    mainnet: {
      '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48': USDC,
      '0xdAC17F958D2ee523a2206206994597C13D831ec7': USDT,
      '0x6B175474E89094C44Da98b954EedeAC495271d0F': DAI,
      '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2': WETH,
      '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599': WBTC,
      '0x514910771AF9Ca656af840dff83E8264EcF986CA': LINK,
      '0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984': UNI,
      '0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf': CBBTC,
    },
  },
} as const satisfies EvmNetworkFile
