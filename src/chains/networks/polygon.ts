import { type EvmNetworkFile, GWEI, logoUrlOf } from './network.ts'

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
  confirmations: 10,
  finalDepth: 256,
  // Two hours.
  wholeBackfillBlocks: 3_600,
  pollIntervalMs: 1_000,
  climbAfterSeconds: 20,
  expireAfterSeconds: 1_800,
  gasPriceOracle: null,
  nameRegistry: null,
} as const satisfies EvmNetworkFile
