// How assets move, as a chain's own events and traces tell it.

import type { AssetStandard } from '../../db/words.ts'
import type { Hex } from './intent.ts'

/** One movement of an asset between two addresses, as the chain's own events and traces tell it. */
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
 * A transfer event names no standard: a token id that is not indexed looks like an amount, an indexed amount like a token
 * id. Where the contract's own standard is known, this sets it right. Pure.
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
  /**
   * Its place within the transaction, unique and stable over re-reading: a log's index in the block, then the item's
   * index in a batch; native movements use index -1 for the transaction's own value.
   */
  readonly logIndex: number
  readonly itemIndex: number
}
