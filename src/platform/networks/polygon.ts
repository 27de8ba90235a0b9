import { type EvmNetworkFile, GWEI, logoUrlOf, POOL_TRANSACTION_BYTES, TWO_SECOND_BLOCKS } from './network.ts'

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
} as const satisfies EvmNetworkFile
