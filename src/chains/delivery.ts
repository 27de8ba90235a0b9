// Sends signed transactions and reads their status.

import type { Refusal } from '../../db/words.ts'
import type { Hex } from './intent.ts'
import type { Rpc } from './node/rpc.ts'

/**
 * A node's answer to a raw transaction. After `unknown` (a time-out, a 5xx, an unreadable answer) the nonce stays in
 * use, because the transaction may be in a pool.
 */
export type BroadcastOutcome =
  | { readonly kind: 'accepted' | 'nonce_too_low' | 'nonce_too_high' }
  | { readonly kind: 'underpriced' | 'insufficient_funds' | 'unknown'; readonly reason: string }
  | { readonly kind: 'rejected'; readonly refusal: Refusal; readonly reason: string }

/** `unknown`: the node does not know the transaction, or does not know its outcome (`reason` says why). */
export type HashStatus =
  | { readonly kind: 'unknown'; readonly reason?: string }
  | { readonly kind: 'pending' }
  | {
      readonly kind: 'mined'
      readonly success: boolean
      readonly blockNumber: bigint
      readonly blockHash: Hex
      /** 1 in the newest block. */
      readonly confirmations: number
      /** The contract that the transaction or a contract wallet in it created; null if none. */
      readonly contractAddress: string | null
      /** Why it failed, if the chain itself records this. */
      readonly reason: string | null
      /** The contract wallets whose execution in this transaction succeeded. */
      readonly executedBy: readonly string[]
      /** Whether the transaction succeeded, but its contract wallet's execution failed and used up the signature. */
      readonly failedWithin: boolean
    }

export type AskedHash = { readonly hash: Hex; readonly blockHash: Hex | null }

export type Delivery = {
  /**
   * Sends once, without retries, and only to a node of the right chain. "Already known" counts as `accepted`. A node's
   * refusal or failure is returned as an outcome and never thrown.
   */
  broadcast(raw: Hex): Promise<BroadcastOutcome>
  status(hash: Hex): Promise<HashStatus>
  /** Why a mined transaction failed, if a replay shows it; null if not. For networks whose status has no reason. */
  failureReason(mined: { readonly hash: Hex; readonly blockNumber: bigint }): Promise<string | null>
  /** The status of many hashes, in bounded batches. Some families find a hash only in the block where it was seen. */
  statuses(asked: readonly AskedHash[]): Promise<readonly HashStatus[]>
}

/**
 * Sends a transaction to all nodes at once. The first acceptance counts; without one, the answer of the most preferred
 * node that is certain of it.
 */
export const deliver = async (
  outbounds: readonly Rpc[],
  send: (outbound: Rpc) => Promise<BroadcastOutcome>,
): Promise<BroadcastOutcome> => {
  const sent = outbounds.map(send)
  const accepted = sent.map(async (outcome) => {
    if ((await outcome).kind !== 'accepted') throw new Error('not accepted')
    return outcome
  })
  return Promise.any(accepted).catch(async () => {
    const outcomes = await Promise.all(sent)
    const [first] = [...outcomes.filter(({ kind }) => kind !== 'unknown'), ...outcomes]
    return first ?? { kind: 'unknown', reason: 'there is no node' }
  })
}
