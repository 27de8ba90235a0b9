import type { Tx } from '../../../db/client.ts'
import { holdCursor, readCursor, readSeenHash } from '../../../db/queries/cursors.ts'
import {
  longQuiet,
  type QuietRow,
  type TransactionRow,
  touchTransactions,
  transactionsWithAttempts,
  type WithAttempts,
} from '../../../db/queries/transactions.ts'
import { finalNumberOf } from '../../blocks/cursor.ts'
import type { Round } from '../../blocks/follow.ts'
import type { Chain, Hex } from '../../chains/chain.ts'
import type { TrackingCtx } from '../ctx.ts'
import { type Observation, recordObservation } from './record-observation.ts'
import { isNonceUsedForAll, isUnknownToAll } from './second-opinion.ts'

/** The node is asked about a live transaction after this time without news. */
const QUIET_SECONDS = 20
/** Transactions a round; a request has a hundred of them. */
const BATCH = 1_000
/** How many transactions that the node does not have in its pool are checked in a round. */
const UNCLEAR_MAX = 200
const ASKED_TOGETHER = 25

type Asked = { readonly chain: Chain; readonly rows: readonly QuietRow[] }

/** Asks the node about each live transaction without news, by our tables and not by the queue's. */
export const reconcileTransactions = async (ctx: TrackingCtx, round: Round): Promise<void> => {
  const { chain, isOver } = round
  const rows = await longQuiet(ctx.db, { network: chain.network, seconds: QUIET_SECONDS, limit: BATCH })
  const [waiting, unclear] = await splitByPool(ctx, { chain, rows })
  await markAsked(ctx, waiting)
  for (let at = 0; at < Math.min(unclear.length, UNCLEAR_MAX) && !isOver(); at += ASKED_TOGETHER) {
    const group = unclear.slice(at, at + ASKED_TOGETHER)
    const isAnswered = await reconcileTogether(ctx, { chain, rows: group })
    await markAsked(ctx, isAnswered ? group : await reconcileEach(ctx, { round, rows: group }))
  }
}

/** @returns whether the node answered for all of them. */
const reconcileTogether = async (ctx: TrackingCtx, { chain, rows }: Asked): Promise<boolean> => {
  try {
    await reconcileRows(ctx, { chain, rows })
    return true
  } catch (err) {
    ctx.log.warn({ err, network: chain.network, ids: rows.map(({ id }) => id) }, 'could not reconcile transactions')
    return false
  }
}

/** One bad answer fails the whole group. Then each transaction is queried alone. @returns those that were queried. */
const reconcileEach = async (
  ctx: TrackingCtx,
  { round: { chain, isOver }, rows }: { readonly round: Round; readonly rows: readonly QuietRow[] },
): Promise<readonly QuietRow[]> => {
  for (const [index, row] of rows.entries()) {
    if (isOver()) return rows.slice(0, index)
    await reconcileTogether(ctx, { chain, rows: [row] })
  }
  return rows
}

const markAsked = (ctx: TrackingCtx, rows: readonly QuietRow[]): Promise<void> =>
  touchTransactions(
    ctx.db,
    rows.map(({ id }) => id),
  )

/** Splits the rows into those whose chosen attempt is in the node's pool, and all other rows. */
const splitByPool = async (
  ctx: TrackingCtx,
  { chain, rows }: Asked,
): Promise<readonly [waiting: readonly QuietRow[], unclear: readonly QuietRow[]]> => {
  const inNoBlock = rows.filter(({ minedBlockHash }) => minedBlockHash === null)
  const isWaiting = new Set<QuietRow>()
  try {
    const statuses = await chain.statuses(
      inNoBlock.map(({ chosenHash }) => ({ hash: chosenHash as Hex, blockHash: null })),
    )
    for (const [index, row] of inNoBlock.entries()) if (statuses[index]?.kind === 'pending') isWaiting.add(row)
  } catch (err) {
    // One bad answer fails the whole batch: then each is asked about by itself.
    ctx.log.warn({ err, network: chain.network }, 'could not read the statuses of transactions')
  }
  return [rows.filter((row) => isWaiting.has(row)), rows.filter((row) => !isWaiting.has(row))]
}

const reconcileRows = async (ctx: TrackingCtx, { chain, rows }: Asked): Promise<void> => {
  const read = await transactionsWithAttempts(
    ctx.db,
    rows.map(({ id }) => id),
  )
  const found = rows.flatMap(({ id }) => read.get(id) ?? [])
  const statuses = await chain.statuses(
    found.flatMap(({ transaction: { minedBlockHash }, attempts }) =>
      attempts.map(({ hash }) => ({ hash: hash as Hex, blockHash: minedBlockHash as Hex | null })),
    ),
  )
  let next = 0
  for (const each of found) {
    const own = statuses.slice(next, next + each.attempts.length)
    next += each.attempts.length
    const observation = await observe(ctx, { chain, found: each, statuses: own })
    if (observation === null) continue
    await ctx.db.transaction(async (tx) => {
      if (observation.kind === 'included' && (await trackerHasAnotherBlock(tx, chain, observation))) return
      await recordObservation(ctx, tx, { transactionId: each.transaction.id, observation })
    })
  }
}

export const reconcileOne = (
  ctx: TrackingCtx,
  { chain, row }: { readonly chain: Chain; readonly row: QuietRow },
): Promise<void> => reconcileRows(ctx, { chain, rows: [row] })

/** The tracker has processed another block at that height: the node's answer is older than a reorganisation. */
const trackerHasAnotherBlock = async (
  tx: Tx,
  { network }: Chain,
  { blockNumber, blockHash }: { readonly blockNumber: bigint; readonly blockHash: string },
): Promise<boolean> => {
  const tracker = { network, purpose: 'track' } as const
  const cursor = await holdCursor(tx, tracker)
  if (cursor === null || blockNumber > cursor.number) return false
  const tracked = await readSeenHash(tx, tracker, blockNumber)
  return tracked !== null && tracked !== blockHash
}

/** What the node says about a transaction; null for nothing new. */
const observe = async (
  ctx: TrackingCtx,
  input: {
    readonly chain: Chain
    readonly found: WithAttempts
    /** The statuses of its attempts, in their order. */
    readonly statuses: Awaited<ReturnType<Chain['statuses']>>
  },
): Promise<Observation | null> => {
  const { chain, found, statuses } = input
  const { chosen, minedBlockHash } = found.transaction
  for (const [attempt, { hash }] of found.attempts.entries()) {
    const status = statuses[attempt]
    if (status?.kind !== 'mined') continue
    return { kind: 'included', hash, blockNumber: status.blockNumber, blockHash: status.blockHash }
  }
  if (minedBlockHash !== null) {
    return (await hasBlockChanged(chain, found.transaction)) ? { kind: 'excluded', blockHash: minedBlockHash } : null
  }
  if (statuses[chosen]?.kind === 'pending') return null
  // The pool has another attempt only. That may never be mined, and the job that sends the chosen one may be lost.
  if (statuses.some(({ kind }) => kind === 'pending')) return { kind: 'dropped' }
  if (!(await isNonceUsedInFinalBlock(ctx, { chain, row: found.transaction }))) return { kind: 'dropped' }
  const hashes = found.attempts.map(({ hash }) => hash as Hex)
  return (await isUnknownToAll(ctx, chain, hashes)) ? { kind: 'nonce_taken' } : null
}

/** Whether another block is at that height. That the node does not know the transaction would prove nothing. */
const hasBlockChanged = async (
  chain: Chain,
  { minedBlockHash, minedBlockNumber }: Pick<TransactionRow, 'minedBlockHash' | 'minedBlockNumber'>,
): Promise<boolean> => {
  const there = minedBlockNumber === null ? null : await chain.block(minedBlockNumber)
  return there !== null && there.hash !== minedBlockHash
}

/** The tracker must have processed every block up to there: that a node does not know our hashes proves nothing. */
export const isNonceUsedInFinalBlock = async (
  ctx: TrackingCtx,
  input: { readonly chain: Chain; readonly row: Pick<QuietRow, 'signerAddress' | 'nonce'> },
): Promise<boolean> => {
  const { chain, row } = input
  const final = finalNumberOf(chain, await chain.head())
  const cursor = await readCursor(ctx.db, { network: chain.network, purpose: 'track' })
  if (cursor === null || cursor.number < final) return false
  // As of that block: another node behind the same URL may be ahead of the tracker.
  const count = await chain.transactionCountAt({ address: row.signerAddress, blockNumber: final })
  // A node that does not answer proves nothing.
  if (count === null || count <= row.nonce) return false
  // The tracker may be on a branch that a reorganisation has left.
  if ((await chain.block(cursor.number))?.hash !== cursor.hash) return false
  return isNonceUsedForAll(ctx, chain, { address: row.signerAddress, nonce: row.nonce, blockNumber: final })
}
