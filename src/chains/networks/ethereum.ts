import { type EvmNetworkFile, GWEI } from './network.ts'

const LOGO = 'https://raw.githubusercontent.com/trustwallet/assets/master/blockchains/ethereum/info/logo.png'

export const ethereum = {
  network: 'Ethereum',
  family: 'evm',
  // chainlist of ethereum-lists.
  chainIds: { testnet: 11_155_111, mainnet: 1 },
  coin: { word: 'ETH', name: 'Ether', symbol: 'ETH', decimals: 18, displayDecimals: 6, logoUrl: LOGO },
  explorerUrls: { testnet: 'https://sepolia.etherscan.io', mainnet: 'https://etherscan.io' },
  // Below this go-ethereum leaves a transaction out of the blocks that it builds (miner.gasprice).
  minPriorityFeeWei: GWEI / 1_000n,
  // Higher ones are paid in rushes, and then the base fee is high as well.
  believedTipWei: 20n * GWEI,
  // The rushes of 2021 and 2022 went beyond it for minutes or hours: whoever must send then chooses a higher one.
  maxFeePerGasCapWei: 1_000n * GWEI,
  hasDataFloor: true,
  confirmations: 3,
  finalDepth: 64,
  // A day: some ten minutes of a node that traces.
  wholeBackfillBlocks: 7_200,
  pollIntervalMs: 2_000,
  climbAfterSeconds: 60,
  expireAfterSeconds: 3_600,
  gasPriceOracle: null,
  nameRegistry: '0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e',
} as const satisfies EvmNetworkFile
