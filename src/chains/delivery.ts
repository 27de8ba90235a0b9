// Sending signed bytes, and what became of them.

import type { Hex } from './intent.ts'

/** What a node said to a raw transaction. `unknown` (a time-out, a 5xx, an unreadable answer) frees nothing: a pool may have it. */
export type BroadcastOutcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'nonce_too_low' }
  | { readonly kind: 'nonce_too_high' }
  | { readonly kind: 'underpriced'; readonly reason: string }
  | { readonly kind: 'insufficient_funds'; readonly reason: string }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string }

/** Where a hash stands on the chain. `unknown`: no node in reach has heard of it, or knows how it ended (`hindrance` says why). */
export type HashStatus =
  | { readonly kind: 'unknown'; readonly hindrance?: string }
  | { readonly kind: 'pending' }
  | {
      readonly kind: 'mined'
      readonly success: boolean
      readonly blockNumber: bigint
      readonly blockHash: Hex
      /** Blocks on top of and with its own: 1 in the newest block. */
      readonly confirmations: number
      /** The created contract, by the transaction itself or by a contract wallet in it; null for everything else. */
      readonly contractAddress: string | null
      /** Why it failed, where the chain itself says so. */
      readonly reason: string | null
      /** The contract wallets that did in it what they were told. */
      readonly executedBy: readonly string[]
      /** Whether the contract wallet that it goes to was told in vain: the transaction succeeded, and only used a signature up. */
      readonly failedWithin: boolean
    }

export type AskedHash = { readonly hash: Hex; readonly blockHash: Hex | null }

export type Delivery = {
  /** Sends once, without a retry inside, and only to a node of the right chain; "already known" is `accepted`. Never throws for what a node says. */
  broadcast(raw: Hex): Promise<BroadcastOutcome>
  /** @throws node_unavailable. */
  status(hash: Hex): Promise<HashStatus>
  /**
   * Of many, in bounded batches. Nodes of some families look a hash up only in a block: the one where it was seen.
   * @throws node_unavailable.
   */
  statuses(asked: readonly AskedHash[]): Promise<readonly HashStatus[]>
}
