// What the worker does after new blocks: raises the fees of waiting transactions or gives them up, finds nonces that
// other transactions used, and refreshes the state of waiting signers.

import { recordAttemptError } from '../../../db/queries/attempts.ts'
import {
  dueClocks,
  lowestWaiting,
  saveSignerState,
  signersToRefresh,
  waitingBelow,
} from '../../../db/queries/clocks.ts'
import { type BlockPoint, type Cursor, recordBaseFee } from '../../../db/queries/cursors.ts'
import { startClocks } from '../../../db/queries/transactions.ts'
import { NONCE_USED } from '../../../db/words.ts'
import type { Round } from '../../blocks/follow.ts'
import type { Chain, Head } from '../../chains/chain.ts'
import type { TrackingCtx } from '../ctx.ts'
import { isNonceUsedInFinalBlock, reconcileOne } from './reconcile.ts'
import { recordObservation } from './record-observation.ts'

/** EIP-1559: the base fee rises by at most an eighth from block to block. */
const RISE_DIVISOR = 8n

/** Notes what the next block asks for, also while none of our transactions waits: the next one is told by it. */
export const noteBaseFee = async (
  ctx: TrackingCtx,
  { chain, head, cursor }: { readonly chain: Chain; readonly head: Head; readonly cursor: Cursor },
): Promise<void> => {
  const { baseFeePerGas } = head
  if (baseFeePerGas !== cursor.baseFeePerGas) await recordBaseFee(ctx.db, { network: chain.network, baseFeePerGas })
}

/**
 * Raises the fees of a network's waiting transactions, or gives them up. Only the lowest nonce of each signer: nothing
 * behind it can be mined first.
 *
 * If the newest block asks for more than the transaction offers, it climbs at once to a rung that the next block can
 * take. Otherwise its clock decides. The clock starts when a node is first asked to take the transaction, even if it
 * refuses: what is refused for ever must end too. Only a transaction that a node accepted climbs by time, as a higher
 * fee helps no other. The clock stands still while blocks ask for more than the top rung offers, and while no block
 * comes: a higher fee makes no block, and the cancel would be the dearest transaction of the first one.
 */
export const runClocks = async (
  ctx: TrackingCtx,
  { chain, head }: { readonly chain: Chain; readonly head: Head },
): Promise<void> => {
  const { network } = chain
  const { baseFeePerGas } = head
  const askedPerGas = baseFeePerGas === null ? null : baseFeePerGas + baseFeePerGas / RISE_DIVISOR
  const clocks = await dueClocks(ctx.db, { network, ...chain.patience, askedPerGas })
  const starting = clocks.filter(({ due }) => due === 'start')
  if (starting.length > 0) {
    await startClocks(
      ctx.db,
      starting.map(({ id }) => id),
    )
  }
  for (const { id: transactionId, due: clockDue, payable } of clocks) {
    const due = clockDue === 'start' ? null : clockDue
    if (due === null && payable === 0) continue
    ctx.log.info({ network, transactionId, due, payable }, 'a transaction has waited too long, or waits for lower fees')
    await ctx.db.transaction((tx) =>
      recordObservation(ctx, tx, { transactionId, observation: { kind: 'clock', due, payable } }),
    )
  }
}

/** Most transactions are mined sooner than this: no need to ask about them. */
const WAITED_SECONDS = 4
/** Signers to ask about per block, those that have waited longest first; the reconciler asks about all. */
const SIGNERS_MAX = 50

/** Callers see a used nonce at once (`nonce_used`), and a failure when the transaction count is final. */
export const findUsedNonces = async (
  ctx: TrackingCtx,
  { chain, at }: { readonly chain: Chain; readonly at: BlockPoint },
): Promise<void> => {
  const { network } = chain
  const signers = await lowestWaiting(ctx.db, { network, seconds: WAITED_SECONDS, limit: SIGNERS_MAX })
  const check = async ({ address, nonce }: (typeof signers)[number]): Promise<void> => {
    // As of that block: the tracker knows nothing of later ones.
    const count = await chain.transactionCountAt({ address, blockNumber: at.number })
    if (count === null || count <= nonce) return
    for (const row of await waitingBelow(ctx.db, { network, address, nonce: count })) {
      await recordAttemptError(ctx.db, { transactionId: row.id, hash: row.chosenHash, error: NONCE_USED })
      if (await isNonceUsedInFinalBlock(ctx, { chain, row })) await reconcileOne(ctx, { chain, row })
    }
  }
  const results = await Promise.allSettled(signers.map(check))
  const failed = results.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected')
    ctx.log.warn({ err: failed.reason, network }, 'could not read the transaction counts of waiting signers')
}

/** After this wait operators want to know the signer's state. */
const SIGNER_WAITED_SECONDS = 20
const SIGNERS_AT_ONCE = 100

/** Stores the node's view of waiting signers, so that operators can distinguish a nonce gap from a low fee. */
export const refreshSignerStates = async (ctx: TrackingCtx, { chain, isOver }: Round): Promise<void> => {
  const { network } = chain
  for (const address of await signersToRefresh(ctx.db, {
    network,
    seconds: SIGNER_WAITED_SECONDS,
    limit: SIGNERS_AT_ONCE,
  })) {
    if (isOver()) return
    try {
      await saveSignerState(ctx.db, { network, address, state: await chain.accountState(address) })
    } catch (err) {
      // A node that does not answer for one signer will not answer for another.
      ctx.log.warn({ err, network }, "could not read a signer's state")
      return
    }
  }
}
