// The chain's blocks, and what moved in them.

import type { BalanceCheck, BalanceScope } from './balance-check.ts'
import type { Hex } from './intent.ts'
import type { RecordedMovement } from './movements.ts'

export type BlockRef = {
  readonly number: bigint
  readonly hash: Hex
  readonly parentHash: Hex
  readonly timestampMs: number
}

/** The newest block, the newest that the node calls final, and the newest one's base fee in wei: null where there is none. */
export type Head = {
  readonly latest: BlockRef
  readonly finalized: BlockRef | null
  readonly baseFeePerGas: bigint | null
}

export type BlockWithHashes = BlockRef & { readonly transactionHashes: readonly Hex[] }

export type BlockMovements = BlockRef & {
  readonly movements: readonly RecordedMovement[]
  /** Coins that moved within transactions are among them. */
  readonly isTraced: boolean
}

/** What a node has of a block: all that `movements` needs, no longer, or not yet. */
export type History = 'kept' | 'pruned' | 'not_there'

export type Blocks = {
  /** Blocks with and above a transaction's own before it is told, and before it is taken as final where the node does not say. */
  readonly depth: { readonly confirmations: number; readonly final: number }
  /** How far below the indexer's cursor blocks are read whole for a wallet with a past. */
  readonly wholeBackfillBlocks: number
  readonly pollIntervalMs: number
  /** Of the blocks that the indexer takes in, how many are held against balances where no operator has said it. */
  readonly checkedPercent: number
  /** @throws node_unavailable. */
  head(): Promise<Head>
  /** Blocks with their transactions' hashes, for the tracker; null for a block that the node does not have (yet). @throws node_unavailable. */
  block(number: bigint): Promise<BlockWithHashes | null>
  /** Every movement in a range of blocks, both ends included, or null where the node does not have all of them (yet). @throws node_unavailable, RangeTooWide. */
  movements(input: { readonly fromBlock: bigint; readonly toBlock: bigint }): Promise<readonly BlockMovements[] | null>
  /**
   * What events that index an address tell of it, both ends of the range included: only blocks with such events, oldest
   * first; null where the node is not of one mind about them. Coins only where events tell of them. @throws node_unavailable, RangeTooWide.
   */
  eventMovements(input: {
    readonly address: string
    readonly fromBlock: bigint
    readonly toBlock: bigint
  }): Promise<readonly BlockMovements[] | null>
  /**
   * Holds what was told of a block against balances: what an address holds must change by what moved, and by fees. null where the node no longer has what that takes, or has another block there.
   * @throws node_unavailable.
   */
  checkBalances(block: BlockMovements, scope: BalanceScope): Promise<BalanceCheck | null>
  /** Whether the node still has a block and its events: whoever has it has those above it. @throws node_unavailable. */
  history(number: bigint): Promise<History>
}

/** A node refused a range of blocks for its width or its number of results: ask for less. */
export class RangeTooWide extends Error {
  constructor(cause: unknown) {
    super('The node refused the range of blocks as too wide.', { cause })
    this.name = 'RangeTooWide'
  }
}
