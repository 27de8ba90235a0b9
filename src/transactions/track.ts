// Tracking, per network and not per transaction: each new block's hashes are matched to live attempts in one query, and
// receipts are asked for hits only. Blocks come from a cursor, so none is skipped; the cursor moves in the same database
// transaction as what was learnt, so a killed worker learns it again.

import type { Tx } from '../../db/client.ts'
import { type BlockPoint, beginCursor, type Follower, readCursor } from '../../db/queries/cursors.ts'
import {
  attemptsAmong,
  finalizeUpTo,
  markMined,
  minedUnsettled,
  settleMined,
  type TransactionRow,
  unmineAbove,
} from '../../db/queries/transactions.ts'
import { advance } from '../blocks/advance.ts'
import type { StepResult } from '../blocks/follow.ts'
import { finalNumberOf, type Head, isReorganised } from '../blocks/fork.ts'
import { rewind } from '../blocks/rewind.ts'
import type { BlockWithHashes, Chain, Hex } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'

const SETTLE_BATCH = 100

/** Takes in the next block of a network, or a reorganisation, and settles what is deep enough. */
export const trackStep = async (ctx: WorkerCtx, chain: Chain): Promise<StepResult> => {
  const follower: Follower = { network: chain.network, purpose: 'track' }
  const head = await chain.head()
  const cursor = await readCursor(ctx.db, follower)
  if (cursor === null) {
    await beginCursor(ctx.db, follower, head.latest)
    return 'advanced'
  }
  const next = cursor.number < head.latest.number ? await chain.block(cursor.number + 1n) : null
  if (isReorganised({ cursor, latest: head.latest, next })) {
    const undo = (tx: Tx, fork: BlockPoint) => unmineAbove(tx, { network: chain.network, blockNumber: fork.number })
    return rewind(ctx, { chain, head, follower, cursor, undo })
  }
  if (next === null) {
    await settleDeepEnough(ctx, { chain, head })
    return 'caught_up'
  }
  const moved = await takeIn(ctx, { chain, follower, cursor, next, head })
  if (moved) await settleDeepEnough(ctx, { chain, head })
  return moved ? 'advanced' : 'overtaken'
}

const takeIn = async (
  ctx: WorkerCtx,
  input: {
    readonly chain: Chain
    readonly follower: Follower
    readonly cursor: BlockPoint
    readonly next: BlockWithHashes
    readonly head: Head
  },
): Promise<boolean> => {
  const { chain, next } = input
  const { network } = chain
  const hits = await attemptsAmong(ctx.db, { network, hashes: next.transactionHashes })
  return advance(ctx, {
    ...input,
    blocks: [next],
    write: async (tx) => {
      for (const hit of hits) {
        await markMined(tx, { ...hit, network, blockNumber: next.number, blockHash: next.hash })
      }
    },
  })
}

const settleDeepEnough = async (
  ctx: WorkerCtx,
  input: { readonly chain: Chain; readonly head: Head },
): Promise<void> => {
  const { chain, head } = input
  const upToBlock = head.latest.number - BigInt(chain.depth.confirmations - 1)
  const rows = await minedUnsettled(ctx.db, { network: chain.network, upToBlock, limit: SETTLE_BATCH })
  await Promise.all(rows.map((row) => settle(ctx, { chain, row })))
  await finalizeUpTo(ctx.db, { network: chain.network, blockNumber: finalNumberOf(chain, head) })
}

/** Tells how it ended, unless its block is gone meanwhile: then the next step sees the reorganisation. */
const settle = async (
  ctx: WorkerCtx,
  input: { readonly chain: Chain; readonly row: TransactionRow },
): Promise<void> => {
  const { chain, row } = input
  if (row.shownHash === null || row.minedBlockHash === null) return
  const status = await chain.status(row.shownHash as Hex)
  if (status.kind !== 'mined' || status.blockHash !== row.minedBlockHash) return
  await settleMined(ctx.db, {
    transactionId: row.id,
    blockHash: row.minedBlockHash,
    outcome: status.success
      ? { status: 'success', contractAddress: status.contractAddress }
      : {
          status: 'failed',
          errorCode: 'execution_reverted',
          error: 'The transaction was mined, and its execution reverted.',
        },
  })
}
