import { type EvmNetworkFile, GWEI, logoUrlOf, POOL_TRANSACTION_BYTES, TWO_SECOND_BLOCKS } from './network.ts'

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
  // coreth has no EIP-7825 (core/txpool/validation.go): only the gas limit of a block.
  maxTransactionGas: null,
  maxTransactionBytes: POOL_TRANSACTION_BYTES,
  confirmations: 1,
  finalDepth: 12,
  ...TWO_SECOND_BLOCKS,
  gasPriceOracle: null,
  coinContract: null,
  nameRegistry: null,
} as const satisfies EvmNetworkFile
