import type { Hex } from './intent.ts'

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
