// Repairs after a reorganisation of final blocks: transactions that had a final status may be gone from the chain or in
// another block, and their nonces free. Only an operator decides this, with `cli tx repair`. No other code changes a
// final status.

import type { HasDb, Tx } from '../../../db/client.ts'
import { readAttemptHashes } from '../../../db/queries/attempts.ts'
import { type BlockPoint, readOldestSeenBlock } from '../../../db/queries/cursors.ts'
import { countedTooFew, type FinalRow, finalFromTheTop, releaseLost, reopenMoved } from '../../../db/queries/mined.ts'
import type { Chain, Hex } from '../../chains/chain.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import type { HasLog } from '../../platform/process/log.ts'
import type { TrackingCtx } from '../ctx.ts'
import { FAILURE_SENTENCES } from './failure-words.ts'

/** Counts and audits the event, in the database transaction in which the tracker goes back. */
export const recordFinalBlocksLost = async (
  ctx: TrackingCtx,
  tx: Tx,
  { chain, fork }: { readonly chain: Pick<Chain, 'network'>; readonly fork: BlockPoint },
): Promise<void> => {
  const { network } = chain
  tx.afterCommit(() => ctx.metrics.chains.deepReorganisations.inc({ network }))
  await ctx.audit.record(tx, {
    projectId: null,
    actor: 'system',
    action: 'final_blocks_lost',
    subject: network,
    details: { network, above: String(fork.number) },
  })
}

/**
 * Logs what the tracker cannot see: the node's newest block is below a final one, or the chain counts fewer
 * transactions of a signer than we have as final. Only logs, because a node that lags behind looks the same.
 */
export const checkFinalBlocks = async (ctx: HasDb & HasLog, chain: Chain): Promise<void> => {
  const { network } = chain
  const final = await readOldestSeenBlock(ctx.db, { network, purpose: 'track' })
  if (final === null) return
  try {
    const { latest } = await chain.head()
    if (latest.number < final.number) {
      const blocks = { newest: String(latest.number), final: String(final.number) }
      ctx.log.error({ network, ...blocks }, "the node's newest block is below one that was final: see tx repair")
    }
  } catch (err) {
    ctx.log.warn({ err, network }, 'could not check whether final blocks are still there')
  }
  for (const signer of await countedTooFew(ctx.db, { network })) {
    ctx.log.error(
      { network, ...signer },
      'the chain counts fewer transactions of a signer than are final: see tx repair',
    )
  }
}

export type Fate =
  /** The node does not know it: it failed, and its nonce is free. */
  | { readonly kind: 'gone' }
  /** It is in another block: the tracker settles it again. */
  | { readonly kind: 'moved'; readonly hash: string; readonly blockNumber: bigint; readonly blockHash: string }
  /** It is in a pool: nothing is done until it is in a block, or gone. */
  | { readonly kind: 'in_pool' }
  /** Its block is above the node's newest. A node that lags behind looks the same, so nothing is done. */
  | { readonly kind: 'above_head' }

type Lost = { readonly row: FinalRow; readonly fate: Fate }

const BATCH = 200

type RepairCtx = HasDb & HasAudit

/** Finds final transactions whose blocks the chain no longer has, highest first. Changes nothing. */
export const findLost = async (ctx: Pick<RepairCtx, 'db'>, chain: Chain): Promise<readonly Lost[]> => {
  const { latest } = await chain.head()
  const lost: Lost[] = []
  for (let offset = 0; ; offset += BATCH) {
    const rows = await finalFromTheTop(ctx.db, { network: chain.network, offset, limit: BATCH })
    for (const row of rows) {
      if (row.blockNumber > latest.number) {
        lost.push({ row, fate: { kind: 'above_head' } })
        continue
      }
      const block = await chain.block(row.blockNumber)
      if (block === null) throw new Error(`the node of ${chain.network} has no block ${row.blockNumber}`)
      // All blocks below a block of the chain are on the chain too.
      if (block.hash === row.blockHash) return lost
      lost.push({ row, fate: await findFate(ctx, { chain, row }) })
    }
    if (rows.length < BATCH) return lost
  }
}

const findFate = async (
  ctx: Pick<RepairCtx, 'db'>,
  { chain, row }: { readonly chain: Chain; readonly row: FinalRow },
): Promise<Fate> => {
  const hashes = await readAttemptHashes(ctx.db, row.id)
  const statuses = await chain.statuses(hashes.map((hash) => ({ hash: hash as Hex, blockHash: null })))
  for (const [index, status] of statuses.entries()) {
    if (status.kind !== 'mined') continue
    const { blockNumber, blockHash } = status
    return { kind: 'moved', hash: hashes[index] ?? '', blockNumber, blockHash }
  }
  return { kind: statuses.some(({ kind }) => kind === 'pending') ? 'in_pool' : 'gone' }
}

/** Repairs what `findLost` found, as far as it is certain. @returns what it repaired. */
export const repairLost = async (
  ctx: RepairCtx,
  { chain, actor }: { readonly chain: Chain; readonly actor: string },
): Promise<readonly Lost[]> => {
  const lost = await findLost(ctx, chain)
  const done: Lost[] = []
  for (const each of lost) {
    const { row, fate } = each
    if (fate.kind === 'in_pool' || fate.kind === 'above_head') continue
    await ctx.db.transaction(async (tx) => {
      const failure = { errorCode: 'reorganised' as const, error: FAILURE_SENTENCES.reorganised }
      const isDone = fate.kind === 'gone' ? await releaseLost(tx, row, failure) : await reopenMoved(tx, row, fate)
      if (!isDone) return
      const { projectId, id: subject, nonce, status } = row
      const details = { network: chain.network, transaction: subject, nonce: String(nonce), was: status, is: fate.kind }
      await ctx.audit.record(tx, { projectId, actor, action: 'lost_transaction_settled', subject, details })
      done.push(each)
    })
  }
  return done
}
