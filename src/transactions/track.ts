// Tracking, per network and not per transaction: each new block's hashes are matched to live attempts in one query, and
// receipts are asked for hits only. Blocks come from a cursor, so none is skipped; the cursor moves in the same database
// transaction as what was learnt, so a killed worker learns it again.

import type { Tx } from '../../db/client.ts'
import { type BlockPoint, beginCursor, type Follower, readCursor } from '../../db/queries/cursors.ts'
import {
  attemptsAmong,
  type MinedIn,
  minedAbove,
  minedBeside,
  minedUnsettled,
  minedUpTo,
  type TransactionRow,
} from '../../db/queries/transactions.ts'
import { advance } from '../blocks/advance.ts'
import type { StepResult } from '../blocks/follow.ts'
import { finalNumberOf, type Head, isReorganised } from '../blocks/fork.ts'
import { rewind } from '../blocks/rewind.ts'
import type { BlockWithHashes, Chain, Hex } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { runClocks } from './clocks.ts'
import { learn } from './learn.ts'

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
    const undo = async (tx: Tx, fork: BlockPoint) => {
      const gone = await minedAbove(tx, { network: chain.network, blockNumber: fork.number })
      await exclude(tx, gone)
      return gone.length
    }
    return rewind(ctx, { chain, head, follower, cursor, undo })
  }
  if (next === null) {
    await settleDeepEnough(ctx, { chain, head, tracked: cursor.number })
    await runClocks(ctx, chain)
    return 'caught_up'
  }
  const moved = await takeIn(ctx, { chain, follower, cursor, next, head })
  if (moved) await settleDeepEnough(ctx, { chain, head, tracked: next.number })
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
      // The reconciler may have found one in a block that was gone again before it was taken in here.
      const block = { blockNumber: next.number, blockHash: next.hash }
      await exclude(tx, await minedBeside(tx, { network, ...block }))
      for (const { transactionId, hash } of hits) {
        await learn(tx, { transactionId, news: { kind: 'included', hash, ...block } })
      }
    },
  })
}

/** They are in no block of the chain any more. */
const exclude = async (tx: Tx, mined: readonly MinedIn[]): Promise<void> => {
  for (const { transactionId, blockHash } of mined) {
    await learn(tx, { transactionId, news: { kind: 'excluded', blockHash } })
  }
}

const lower = (one: bigint, other: bigint): bigint => (one < other ? one : other)

/** Only blocks that were taken in count: of those above nobody would notice that they went away. */
const settleDeepEnough = async (
  ctx: WorkerCtx,
  input: { readonly chain: Chain; readonly head: Head; readonly tracked: bigint },
): Promise<void> => {
  const { chain, head, tracked } = input
  const upToBlock = lower(head.latest.number - BigInt(chain.depth.confirmations - 1), tracked)
  const rows = await minedUnsettled(ctx.db, { network: chain.network, upToBlock, limit: SETTLE_BATCH })
  await Promise.all(rows.map((row) => settle(ctx, { chain, row })))
  const finalNumber = lower(finalNumberOf(chain, head), tracked)
  for (const { transactionId } of await minedUpTo(ctx.db, { network: chain.network, blockNumber: finalNumber })) {
    await ctx.db.transaction((tx) => learn(tx, { transactionId, news: { kind: 'finalized' } }))
  }
}

/** Tells how it ended, unless its block is gone meanwhile: then the next step sees the reorganisation. */
const settle = async (
  ctx: WorkerCtx,
  input: { readonly chain: Chain; readonly row: TransactionRow },
): Promise<void> => {
  const { chain, row } = input
  const { shownHash, minedBlockHash: blockHash } = row
  if (shownHash === null || blockHash === null) return
  const status = await chain.status(shownHash as Hex)
  if (status.kind !== 'mined' || status.blockHash !== blockHash) return
  const { success, contractAddress } = status
  const news = { kind: 'confirmed', blockHash, success, contractAddress } as const
  await ctx.db.transaction((tx) => learn(tx, { transactionId: row.id, news }))
}
