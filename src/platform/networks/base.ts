import {
  EIP_7825_GAS,
  type EvmNetworkFile,
  GWEI,
  logoUrlOf,
  POOL_TRANSACTION_BYTES,
  TWO_SECOND_BLOCKS,
} from './network.ts'

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
  // Since Azul, 2026-05-28; on Sepolia since 2026-04-20 (specs.base.org, upgrades/azul/exec-engine). Deposits are
  // exempt.
  maxTransactionGas: EIP_7825_GAS,
  maxTransactionBytes: POOL_TRANSACTION_BYTES,
  confirmations: 5,
  finalDepth: 1_000,
  ...TWO_SECOND_BLOCKS,
  gasPriceOracle: '0x420000000000000000000000000000000000000F',
  coinContract: null,
  nameRegistry: null,
} as const satisfies EvmNetworkFile
