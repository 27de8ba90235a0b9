import { type EvmNetworkFile, GWEI, logoUrlOf } from './network.ts'

export const base = {
  network: 'Base',
  family: 'evm',
  // chainlist of ethereum-lists.
  chainIds: { testnet: 84_532, mainnet: 8453 },
  coin: { word: 'ETH', name: 'Ether', symbol: 'ETH', decimals: 18, displayDecimals: 6, logoUrl: logoUrlOf('ethereum') },
  explorerUrls: { testnet: 'https://sepolia.basescan.org', mainnet: 'https://basescan.org' },
  minPriorityFeeWei: GWEI / 1_000n,
  believedTipWei: 2n * GWEI,
  maxFeePerGasCapWei: 200n * GWEI,
  hasDataFloor: true,
  confirmations: 5,
  finalDepth: 1_000,
  // Two hours.
  wholeBackfillBlocks: 3_600,
  pollIntervalMs: 1_000,
  climbAfterSeconds: 20,
  expireAfterSeconds: 1_800,
  gasPriceOracle: '0x420000000000000000000000000000000000000F',
  nameRegistry: null,
} as const satisfies EvmNetworkFile
