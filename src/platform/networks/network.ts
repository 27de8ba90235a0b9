// The data that describes a network. If a network needs special treatment, add a field here instead of a special case.

import type { Environment, Network } from '../../../db/words.ts'

export type Watch = {
  readonly everyMs: number
  /** A node is behind if another one is ahead of it by more than this (node/member.ts). */
  readonly behindMs: number
  /** A node is stalled if its newest block is older than this; null where the age of a block says nothing. */
  readonly stalledAfterMs: number | null
}

export type NativeCoin = {
  /** The word that stands for the coin where a token has a contract address. */
  readonly word: string
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  readonly displayDecimals: number
  /** Empty if there is none. */
  readonly logoUrl: string
}

export type TokenDisplay = {
  /** Empty if there is none. */
  readonly logoUrl: string
  /** null for the default. */
  readonly displayDecimals: number | null
}

type Common = {
  readonly network: Network
  readonly coin: NativeCoin
  /** Well-known tokens by canonical address. The operator's lists take precedence. */
  readonly knownTokens: ReadonlyMap<string, TokenDisplay>
  readonly explorerUrl: string | null
  /** The usual time from one block to the next. */
  readonly blockIntervalMs: number
  /** Without a new block for so long the chain, or its node, stands still: no waiting transaction's time counts. */
  readonly stalledAfterSeconds: number
  readonly pollIntervalMs: number
  readonly watch: Watch
}

export type EvmNetworkRow = Common & {
  readonly family: 'evm'
  /** EIP-155. */
  readonly chainId: number
  /** Nodes do not relay transactions with a lower tip. */
  readonly minPriorityFeeWei: bigint
  /** The highest tip that is accepted on a node's word. Recent blocks must confirm a higher one (evm/market.ts). */
  readonly believedTipWei: bigint
  /** The fee ceiling per gas, unless the caller fixes the fee. An operator may configure another one. */
  readonly maxFeePerGasCapWei: bigint
  /** Whether EIP-7623 applies: the length of the data sets a minimum for the gas of a transaction. */
  readonly hasDataFloor: boolean
  /** No block has a transaction with a higher gas limit (EIP-7825); null if only the gas limit of a block bounds it. */
  readonly maxTransactionGas: bigint | null
  /** Nodes take no signed transaction with more bytes into their pools. */
  readonly maxTransactionBytes: number
  /** Number of blocks, the transaction's own included, before it is reported as success or failed. */
  readonly confirmations: number
  /** Number of blocks after which a block is treated as final if the node does not report finality. */
  readonly finalDepth: number
  /**
   * For a wallet with a history, this many blocks below the indexer are read in full, so that internal coin movements
   * and transfers without indexed addresses are found. Older blocks are only searched with eth_getLogs. At least
   * `finalDepth`.
   */
  readonly wholeBackfillBlocks: number
  /** How long a broadcast transaction waits before its fees are raised, and before it is given up. */
  readonly climbAfterSeconds: number
  readonly expireAfterSeconds: number
  /** The predeploy that computes the layer 1 data fee on OP-stack chains; null elsewhere. */
  readonly gasPriceOracle: string | null
  /**
   * The contract by which the coin can be used as a token; null if there is none. `movesIn`: where a transfer by it
   * shows, as the value of calls, or in its Transfer events alone (evm/coin-contract.ts).
   */
  readonly coinContract: { readonly address: string; readonly movesIn: 'calls' | 'events' } | null
  /** The ENS registry (EIP-137), null if there is none. Ethereum's testnets have it at the same address. */
  readonly nameRegistry: string | null
}

export type SubstrateNetworkRow = Common & {
  readonly family: 'substrate'
  /** The prefix of SS58 addresses (paritytech/ss58-registry); the testnet has the same. */
  readonly ss58Prefix: number
  /** The hash of the first block. It identifies the chain and is signed with every extrinsic. */
  readonly genesisHash: `0x${string}`
  /** The coin symbol that was part of the metadata hash when the runtime was built (RFC 78). */
  readonly hashedSymbol: string
  /** Whether the network has Gear programs; NFTs are then in programs. */
  readonly hasPrograms: boolean
  /** How long an extrinsic may wait, and the least and most blocks for that: powers of two (sp_runtime, Era). */
  readonly era: { readonly seconds: number; readonly least: number; readonly most: number }
  /** A higher fee or tip is refused as a mistake. */
  readonly feeCapPlanck: bigint
  /** The address of the public key of zeros: mints come from it, burns go to it. */
  readonly nobody: string
}

export type NetworkRow = EvmNetworkRow | SubstrateNetworkRow

/** A network in its file, with the values that differ by environment. */
export type EvmNetworkFile = Omit<
  EvmNetworkRow,
  'chainId' | 'explorerUrl' | 'stalledAfterSeconds' | 'watch' | 'knownTokens'
> & {
  readonly chainIds: Readonly<Record<Environment, number>>
  readonly explorerUrls: Readonly<Record<Environment, string | null>>
}

export type SubstrateNetworkFile = Omit<
  SubstrateNetworkRow,
  | 'genesisHash'
  | 'hashedSymbol'
  | 'explorerUrl'
  | 'era'
  | 'stalledAfterSeconds'
  | 'pollIntervalMs'
  | 'watch'
  | 'knownTokens'
> & {
  readonly genesisHashes: Readonly<Record<Environment, `0x${string}`>>
  /** The genesis hash of the chain that the devnet starts for this network. */
  readonly localGenesisHash: `0x${string}`
  /** The symbol passed to `enable_metadata_hash` in the build script of the runtime. */
  readonly hashedSymbols: Readonly<Record<Environment, string>>
  readonly explorerUrls: Readonly<Record<Environment, string | null>>
}

export const LOGOS = 'https://raw.githubusercontent.com/trustwallet/assets/master/blockchains'

export const logoUrlOf = (blockchain: string): string => `${LOGOS}/${blockchain}/info/logo.png`

export const GWEI = 1_000_000_000n

/** Times of a chain with a block every two seconds. */
export const TWO_SECOND_BLOCKS = {
  // Two hours.
  wholeBackfillBlocks: 3_600,
  blockIntervalMs: 2_000,
  pollIntervalMs: 1_000,
  climbAfterSeconds: 20,
  expireAfterSeconds: 1_800,
} as const

/** EIP-7825: 2^24. */
export const EIP_7825_GAS = 16_777_216n

/**
 * 128 KiB: txMaxSize of go-ethereum (core/txpool/legacypool) and of bor, coreth and op-geth, which have it from there;
 * DEFAULT_MAX_TX_INPUT_BYTES of reth, which counts the whole encoding; MaxTxSize of nethermind.
 */
export const POOL_TRANSACTION_BYTES = 131_072

/** The wei of a decimal number of gwei with at most nine decimals. */
export const parseGwei = (gwei: string): bigint => {
  const [units = '', decimals = ''] = gwei.split('.')
  return BigInt(units + decimals.padEnd(9, '0'))
}

/** An amount of wei in gwei, with at most three decimals. */
export const gweiOf = (wei: bigint): number => Number((wei * 1_000n) / GWEI) / 1_000
