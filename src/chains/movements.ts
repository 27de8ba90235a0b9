// Movements of assets, as read from the chain's events and traces.

import type { AssetStandard } from '../../db/words.ts'
import type { Hex } from './intent.ts'

/** One movement of an asset between two addresses. */
export type Movement = {
  readonly standard: Exclude<AssetStandard, 'other'>
  /** null for the native coin. */
  readonly contract: string | null
  /** null for fungible assets. */
  readonly tokenId: bigint | null
  readonly from: string
  readonly to: string
  /** 1 for an ERC-721 token. */
  readonly amount: bigint
}

/**
 * Corrects a movement by the known standard of its contract. A transfer event does not say its standard: a token id
 * that is not indexed looks like an amount, and an indexed amount looks like a token id. Pure.
 */
export const asStandard = <M extends Movement>(movement: M, standard: AssetStandard | undefined): M => {
  if (movement.standard === 'erc20' && standard === 'erc721') {
    return { ...movement, standard, tokenId: movement.amount, amount: 1n }
  }
  if (movement.standard === 'erc721' && standard === 'erc20') {
    return { ...movement, standard, tokenId: null, amount: movement.tokenId ?? 0n }
  }
  return movement
}

export type RecordedMovement = Movement & {
  readonly transactionHash: Hex
  /** Who sent the transaction; null if the chain did it by itself, or the node does not say it. */
  readonly initiatedBy: string | null
  /**
   * With `itemIndex` a unique position in the transaction, the same at each reading: the index of the log in the block,
   * and of the item in a batch. `logIndex` -1 is the value of the transaction itself.
   */
  readonly logIndex: number
  readonly itemIndex: number
}
