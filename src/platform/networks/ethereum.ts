import { EIP_7825_GAS, type EvmNetworkFile, GWEI, logoUrlOf, POOL_TRANSACTION_BYTES } from './network.ts'

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
} as const satisfies EvmNetworkFile
