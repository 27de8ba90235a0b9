import { type EvmNetworkFile, GWEI, logoUrlOf } from './network.ts'

export const avalanche = {
  network: 'Avalanche',
  family: 'evm',
  // chainlist of ethereum-lists.
  chainIds: { testnet: 43_113, mainnet: 43_114 },
  coin: {
    word: 'AVAX',
    name: 'Avalanche',
    symbol: 'AVAX',
    decimals: 18,
    displayDecimals: 4,
    logoUrl: logoUrlOf('avalanchec'),
  },
  explorerUrls: { testnet: 'https://testnet.snowtrace.io', mainnet: 'https://snowtrace.io' },
  minPriorityFeeWei: GWEI / 1_000n,
  believedTipWei: 20n * GWEI,
  // Before fees followed the load (ACP-176), inscriptions raised them above 1,000 gwei.
  maxFeePerGasCapWei: 2_000n * GWEI,
  hasDataFloor: false,
  confirmations: 1,
  finalDepth: 12,
  // Two hours.
  wholeBackfillBlocks: 3_600,
  pollIntervalMs: 1_000,
  climbAfterSeconds: 20,
  expireAfterSeconds: 1_800,
  gasPriceOracle: null,
  nameRegistry: null,
} as const satisfies EvmNetworkFile
