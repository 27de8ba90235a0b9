// What the tracker does once it has taken blocks in: it lets waiting transactions climb and expire, finds nonces that somebody
// else used, and asks how waiting signers stand.

import {
  dueClocks,
  lowestWaiting,
  noteStanding,
  signersToHear,
  startClocks,
  waitingBelow,
} from '../../db/queries/clocks.ts'
import { type BlockPoint, type Cursor, noteBaseFee } from '../../db/queries/cursors.ts'
import { noteAttemptError } from '../../db/queries/transactions.ts'
import { NONCE_USED } from '../../db/words.ts'
import type { Head } from '../blocks/fork.ts'
import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { learn } from './learn.ts'
import { isNonceTakenForGood, reconcileOne } from './reconcile.ts'

/** EIP-1559: from block to block the base fee rises by an eighth at most. */
const RISE_DIVISOR = 8n

/**
 * Lets a network's waiting transactions climb and expire: of each signer only the lowest, as nothing behind it can be mined
 * before it is. Where the newest block asks for more than it offers, it climbs at once, to a rung that the next one can take.
 * Else its clock decides, which runs from when a node was first asked to take it, whatever came of that: what is refused for
 * ever must end too, and giving up frees no nonce, so that an answer which nobody heard does no harm. But only what a node
 * took climbs by time: that makes no refused offer better. While blocks ask for more than its top rung offers, no time passes.
 */
export const runClocks = async (
  ctx: Pick<WorkerCtx, 'db' | 'log' | 'metrics'>,
  { chain, head, cursor }: { readonly chain: Chain; readonly head: Head; readonly cursor: Cursor },
): Promise<void> => {
  const { network } = chain
  const { baseFeePerGas } = head
  if (baseFeePerGas !== cursor.baseFeePerGas) await noteBaseFee(ctx.db, { network, baseFeePerGas })
  const askedPerGas = baseFeePerGas === null ? null : baseFeePerGas + baseFeePerGas / RISE_DIVISOR
  const clocks = await dueClocks(ctx.db, { network, ...chain.patience, askedPerGas })
  const starting = clocks.filter(({ due }) => due === 'start')
  if (starting.length > 0) {
    await startClocks(
      ctx.db,
      starting.map(({ id }) => id),
    )
  }
  for (const { id: transactionId, due: said, payable } of clocks) {
    const due = said === 'start' ? null : said
    if (due === null && payable === 0) continue
    ctx.log.info({ network, transactionId, due, payable }, 'a transaction waits for too long, or for lower fees')
    await ctx.db.transaction((tx) => learn(ctx, tx, { transactionId, news: { kind: 'clock', due, payable } }))
  }
}

/** What has waited for less is asked about by nobody: most of it is mined before. */
const WAITED_SECONDS = 4
/** So many signers are asked about at a block, those that have waited longest; the reconciler asks about all. */
const SIGNERS_MAX = 50

/**
 * After a block was taken in: whether it counts more transactions of a signer than are ours. Then somebody else used the
 * nonce, which is told at once as what it waits for, and as a failure as soon as that is final.
 */
export const tellUsedNonces = async (
  ctx: WorkerCtx,
  { chain, at }: { readonly chain: Chain; readonly at: BlockPoint },
): Promise<void> => {
  const { network } = chain
  const signers = await lowestWaiting(ctx.db, { network, seconds: WAITED_SECONDS, limit: SIGNERS_MAX })
  const tell = async ({ address, nonce }: (typeof signers)[number]): Promise<void> => {
    // As of that block: of one above the tracker knows nothing yet.
    const count = await chain.transactionCountAt({ address, blockNumber: at.number })
    if (count === null || count <= nonce) return
    for (const row of await waitingBelow(ctx.db, { network, address, nonce: count })) {
      await noteAttemptError(ctx.db, { network, hash: row.chosenHash, error: NONCE_USED })
      if (await isNonceTakenForGood(ctx, { chain, row })) await reconcileOne(ctx, { chain, row })
    }
  }
  const results = await Promise.allSettled(signers.map(tell))
  const failed = results.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected')
    ctx.log.warn({ err: failed.reason, network }, 'could not ask which nonces are used')
}

/** A transaction that waits for so long makes operators ask how its signer stands. */
const SIGNER_WAITED_SECONDS = 20
const SIGNERS_AT_ONCE = 100

/** Asks the node how the signers of what waits stand, so that a gap in their nonces can be told from a low fee. */
export const hearSigners = async (ctx: Pick<WorkerCtx, 'db' | 'log'>, chain: Chain): Promise<void> => {
  const { network } = chain
  for (const address of await signersToHear(ctx.db, {
    network,
    seconds: SIGNER_WAITED_SECONDS,
    limit: SIGNERS_AT_ONCE,
  })) {
    try {
      await noteStanding(ctx.db, { network, address, standing: await chain.standing(address) })
    } catch (err) {
      // A node that does not answer one will not answer the others.
      ctx.log.warn({ err, network }, 'could not ask how a signer stands')
      return
    }
  }
}
