import type { Tx } from '../../db/client.ts'
import { holdCursor, readCursor, seenHash } from '../../db/queries/cursors.ts'
import {
  longQuiet,
  type QuietRow,
  type TransactionRow,
  touchTransactions,
  transactionWithAttempts,
} from '../../db/queries/transactions.ts'
import { finalNumberOf } from '../blocks/fork.ts'
import type { Chain, Hex } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { learn, type News } from './learn.ts'

/** How long nothing may be learnt of a live transaction before the node is asked about it. */
const QUIET_SECONDS = 20
/** So many are asked about in a round, a hundred in a request. */
const BATCH = 1_000
/** Of those that the node does not have as it should, so many are looked into in a round, each by itself. */
const LOOKED_INTO = 200

/**
 * Looks after what was left behind, by our tables and not by the queue's: whatever is live and has been quiet is looked
 * up on the chain, and sent again where the chain does not have it.
 */
export const reconcileTransactions = async (ctx: WorkerCtx, chain: Chain): Promise<void> => {
  const rows = await longQuiet(ctx.db, { network: chain.network, seconds: QUIET_SECONDS, limit: BATCH })
  const [waiting, unclear] = await sortOut(ctx, { chain, rows })
  await touch(ctx, waiting)
  for (const row of unclear.slice(0, LOOKED_INTO)) {
    try {
      await reconcileOne(ctx, { chain, row })
    } catch (err) {
      ctx.log.warn({ err, network: chain.network, transactionId: row.id }, 'could not reconcile a transaction')
    }
    await touch(ctx, [row])
  }
}

const touch = (ctx: Pick<WorkerCtx, 'db'>, rows: readonly QuietRow[]): Promise<void> =>
  touchTransactions(
    ctx.db,
    rows.map(({ id }) => id),
  )

/** Those whose chosen attempt waits in the node's pool as it should, and the others. */
const sortOut = async (
  ctx: Pick<WorkerCtx, 'log'>,
  { chain, rows }: { readonly chain: Chain; readonly rows: readonly QuietRow[] },
): Promise<readonly [waiting: readonly QuietRow[], unclear: readonly QuietRow[]]> => {
  const inNoBlock = rows.filter(({ minedBlockHash }) => minedBlockHash === null)
  const isWaiting = new Set<QuietRow>()
  try {
    const statuses = await chain.statuses(
      inNoBlock.map(({ chosenHash }) => ({ hash: chosenHash as Hex, blockHash: null })),
    )
    for (const [index, row] of inNoBlock.entries()) if (statuses[index]?.kind === 'pending') isWaiting.add(row)
  } catch (err) {
    // One spoilt answer spoils the batch: then each is asked about by itself.
    ctx.log.warn({ err, network: chain.network }, 'could not ask how transactions stand')
  }
  return [rows.filter((row) => isWaiting.has(row)), rows.filter((row) => !isWaiting.has(row))]
}

/** Looks one up on the chain, and takes in what that says. @throws node_unavailable. */
export const reconcileOne = async (
  ctx: WorkerCtx,
  input: { readonly chain: Chain; readonly row: QuietRow },
): Promise<void> => {
  const news = await newsOf(ctx, input)
  if (news === null) return
  await ctx.db.transaction(async (tx) => {
    if (news.kind === 'included' && (await hasTrackedOtherwise(tx, input.chain, news))) return
    await learn(ctx, tx, { transactionId: input.row.id, news })
  })
}

/** The tracker took in another block at that height: the node's word is older than a reorganisation. */
const hasTrackedOtherwise = async (
  tx: Tx,
  { network }: Chain,
  { blockNumber, blockHash }: { readonly blockNumber: bigint; readonly blockHash: string },
): Promise<boolean> => {
  const tracker = { network, purpose: 'track' } as const
  const cursor = await holdCursor(tx, tracker)
  if (cursor === null || blockNumber > cursor.number) return false
  const tracked = await seenHash(tx, tracker, blockNumber)
  return tracked !== null && tracked !== blockHash
}

/** What the node says of a transaction that was quiet; null where it says nothing new. */
const newsOf = async (
  ctx: WorkerCtx,
  input: { readonly chain: Chain; readonly row: QuietRow },
): Promise<News | null> => {
  const { chain, row } = input
  const found = await transactionWithAttempts(ctx.db, row.id)
  if (found === null) return null
  const { chosen, minedBlockHash } = found.transaction
  const statuses = await chain.statuses(
    found.attempts.map(({ hash }) => ({ hash: hash as Hex, blockHash: minedBlockHash as Hex | null })),
  )
  for (const [attempt, { hash }] of found.attempts.entries()) {
    const status = statuses[attempt]
    if (status?.kind !== 'mined') continue
    return { kind: 'included', hash, blockNumber: status.blockNumber, blockHash: status.blockHash }
  }
  if (minedBlockHash !== null) {
    return (await isBlockGone(chain, found.transaction)) ? { kind: 'excluded', blockHash: minedBlockHash } : null
  }
  if (statuses[chosen]?.kind === 'pending') return null
  // Another one alone may never be mined, and the job that was to replace it may be lost.
  if (statuses.some(({ kind }) => kind === 'pending')) return { kind: 'forgotten' }
  return { kind: (await isNonceTakenForGood(ctx, input)) ? 'usurped' : 'forgotten' }
}

/** A node that does not know the transaction proves nothing; another block in that place does. */
const isBlockGone = async (
  chain: Chain,
  { minedBlockHash, minedBlockNumber }: Pick<TransactionRow, 'minedBlockHash' | 'minedBlockNumber'>,
): Promise<boolean> => {
  const there = minedBlockNumber === null ? null : await chain.block(minedBlockNumber)
  return there !== null && there.hash !== minedBlockHash
}

/**
 * The nonce was used in a block that can no longer go away, and the tracker, which has taken in every block up to there,
 * met none of our hashes: a node that lags behind or has forgotten them proves nothing.
 */
export const isNonceTakenForGood = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: { readonly chain: Chain; readonly row: Pick<QuietRow, 'signerAddress' | 'nonce'> },
): Promise<boolean> => {
  const { chain, row } = input
  const final = finalNumberOf(chain, await chain.head())
  const cursor = await readCursor(ctx.db, { network: chain.network, purpose: 'track' })
  if (cursor === null || cursor.number < final) return false
  // As of that block: a node that is ahead of the one that told it counts what the tracker has not come by.
  const count = await chain.transactionCountAt({ address: row.signerAddress, blockNumber: final })
  // Nothing is proven where the node does not say.
  if (count === null || count <= row.nonce) return false
  // It may stand where the chain went another way.
  return (await chain.block(cursor.number))?.hash === cursor.hash
}
