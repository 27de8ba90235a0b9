// The chain's blocks, and the movements of assets in them.

import type { Hex } from './intent.ts'
import type { RecordedMovement } from './movements.ts'

// The result of checking a block's movements against balances: see `Blocks.checkBalances`.

/** A balance of the native coin (`contract` is null) or of a token whose change over one block was not as expected. */
export type BalanceDifference = {
  readonly address: string
  readonly contract: string | null
  /** The actual change of the balance, and the change that the indexed movements and fees explain. */
  readonly changed: bigint
  readonly expected: bigint
}

/** How many balances were checked in a block, and the differences found. */
export type BalanceCheck = { readonly checked: number; readonly differences: readonly BalanceDifference[] }

/** Which addresses and tokens a balance check covers. */
export type BalanceScope = {
  /** The watched ones of the addresses that a block touched. It may add some whose balance should not have changed. */
  choose(touched: readonly string[]): Promise<ReadonlySet<string>>
  /** The token contracts whose balances, as far as is known, change only by transfers. */
  reliable(contracts: readonly string[]): ReadonlySet<string>
}

export type BlockRef = {
  readonly number: bigint
  readonly hash: Hex
  readonly parentHash: Hex
  readonly timestampMs: number
}

/** The newest block with its base fee in wei, and the newest final block. null for what the node or network lacks. */
export type Head = {
  readonly latest: BlockRef
  readonly finalized: BlockRef | null
  readonly baseFeePerGas: bigint | null
}

export type BlockWithHashes = BlockRef & { readonly transactionHashes: readonly Hex[] }

/**
 * `from` and `to` in the chain's form of an address; `to` is null if it is unknown, or if the transaction creates a
 * contract. `callText` ends with the text that `Submission.callTextOf` gives for an equal transaction.
 */
export type SentTransaction = Readonly<Record<'from' | 'callText', string>> & {
  readonly hash: Hex
  readonly to: string | null
}

export type BlockWithSenders = Pick<BlockRef, 'number'> & { readonly transactions: readonly SentTransaction[] }

export type BlockMovements = BlockRef & {
  readonly movements: readonly RecordedMovement[]
  /** Whether the movements include those of coins inside transactions (internal transfers). */
  readonly isTraced: boolean
}

/** Whether a node has what `movements` needs of a block: yes, no longer, or not yet. */
export type History = 'kept' | 'pruned' | 'not_there'

export type Blocks = {
  /**
   * Numbers of blocks, the transaction's own included: before its outcome is reported, and before it is treated as
   * final if the node does not report finality.
   */
  readonly depth: { readonly confirmations: number; readonly final: number }
  /** For a wallet with a history: how many blocks below the indexer's cursor are read in full. */
  readonly wholeBackfillBlocks: number
  readonly pollIntervalMs: number
  /** The default percentage of indexed blocks that are checked against balances. */
  readonly checkedPercent: number
  head(): Promise<Head>
  /** A block with its transaction hashes; null if the node does not have it (yet). */
  block(number: bigint): Promise<BlockWithHashes | null>
  /** At most `limit` blocks from a number on, each the child of the one before. It ends where one is missing. */
  blocksFrom(input: { readonly number: bigint; readonly limit: number }): Promise<readonly BlockWithHashes[]>
  /** The same with who sent each transaction. Unsigned ones are left out. */
  sendersFrom(input: { readonly number: bigint; readonly limit: number }): Promise<readonly BlockWithSenders[]>
  /**
   * All movements in a range of blocks, both ends included; null if the node does not have all of them (yet).
   * @throws RangeTooWide
   */
  movements(input: { readonly fromBlock: bigint; readonly toBlock: bigint }): Promise<readonly BlockMovements[] | null>
  /**
   * The movements in events that index the address, in a range with both ends included: only blocks with such events,
   * oldest first. Movements of the native coin are included only if the chain emits events for them. null if the node's
   * answers contradict each other. @throws RangeTooWide
   */
  eventMovements(input: {
    readonly address: string
    readonly fromBlock: bigint
    readonly toBlock: bigint
  }): Promise<readonly BlockMovements[] | null>
  /**
   * Checks the movements of a block against balances: the balance of an address must change by its movements and fees.
   * null if the node no longer has the state, or has another block at this height.
   */
  checkBalances(block: BlockMovements, scope: BalanceScope): Promise<BalanceCheck | null>
  /** Whether the node has a block and its events; if so, it also has those of later blocks. */
  history(number: bigint): Promise<History>
}

/** The blocks up to the first that is missing or has another parent: the chain changed between two answers. */
export const chained = (blocks: readonly (BlockWithHashes | null)[]): readonly BlockWithHashes[] => {
  const found: BlockWithHashes[] = []
  for (const block of blocks) {
    const last = found.at(-1)
    if (block === null || (last !== undefined && block.parentHash !== last.hash)) break
    found.push(block)
  }
  return found
}

/** A node refused a range of blocks because it, or the number of results, is too large. Ask for a smaller range. */
export class RangeTooWide extends Error {
  constructor(cause: unknown) {
    super('The node refused the range of blocks as too wide.', { cause })
    this.name = 'RangeTooWide'
  }
}
