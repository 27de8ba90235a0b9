// Chooses a nonce. No counter is stored: the chain's counts and our live and mined rows decide each time.

import type { HasDb } from '../../../db/client.ts'
import { readHeldNonces, type Signer } from '../../../db/queries/transactions.ts'
import type { TransactionCounts } from '../../chains/chain.ts'
import { AppError } from '../../platform/errors.ts'

type NonceFacts = {
  /** The signer's mined transactions; `pendingCount` adds those in the node's pool. */
  readonly minedCount: number
  readonly pendingCount: number
  /** Nonces from `minedCount` on that our live and mined transactions hold. */
  readonly held: ReadonlySet<number>
}

/** The lowest nonce from the chain's pending count on that none of our transactions holds. Pure. */
export const nextNonce = (facts: Pick<NonceFacts, 'pendingCount' | 'held'>): number => {
  let nonce = facts.pendingCount
  while (facts.held.has(nonce)) nonce += 1
  return nonce
}

/** The caller's nonce if one is given, else the next. Pure. */
export const chooseNonce = (wanted: number | undefined, facts: NonceFacts): number => {
  const next = nextNonce(facts)
  if (wanted === undefined || wanted === next) return next
  if (wanted < facts.minedCount) {
    throw new AppError('nonce_too_low', `Field "unsigned_transaction.nonce" is used already; the next one is ${next}.`)
  }
  if (wanted < facts.pendingCount || facts.held.has(wanted)) {
    throw new AppError('nonce_conflict', `A pending transaction has this nonce; the next free one is ${next}.`)
  }
  throw new AppError('nonce_gap', `Field "unsigned_transaction.nonce" would leave a gap; the next one is ${next}.`)
}

/** Makes what chooses a signer's next nonce, for something that is only signed: nothing reserves it. */
export const nextNonceChooser =
  (ctx: HasDb, signer: Signer) =>
  async ({ pendingCount }: TransactionCounts): Promise<number> =>
    nextNonce({ pendingCount, held: await readHeldNonces(ctx.db, signer, { fromNonce: pendingCount }) })
