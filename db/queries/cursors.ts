// The cursors of the block followers, and how far these were behind their chains.

import { and, asc, desc, eq, gt, lt, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { type Given, prepare } from '../prepare.ts'
import { firstRow, readRows } from '../rows.ts'
import { cursors, seenBlocks } from '../schema.ts'
import type { CursorPurpose, Network } from '../words.ts'

export type Follower = { readonly network: Network; readonly purpose: CursorPurpose }
export type BlockPoint = { readonly number: bigint; readonly hash: string }
export type Cursor = BlockPoint & {
  /** Wei: of the newest block that was seen, by the tracker of an EVM network. */
  readonly baseFeePerGas: bigint | null
}

const at = (follower: Follower) => and(eq(cursors.network, follower.network), eq(cursors.purpose, follower.purpose))
const isOf = (follower: Follower) =>
  and(eq(seenBlocks.network, follower.network), eq(seenBlocks.purpose, follower.purpose))

const point = { number: seenBlocks.number, hash: seenBlocks.hash }

const cursorOf = prepare((db, { network, purpose }: Given<Follower>) =>
  db
    .select()
    .from(cursors)
    .where(and(eq(cursors.network, network), eq(cursors.purpose, purpose))),
)

/** The last block that a follower has processed; null before it began. */
export const readCursor = async (db: Queryable, { network, purpose }: Follower): Promise<Cursor | null> => {
  const [row] = await cursorOf(db, { network, purpose })
  if (row === undefined) return null
  return { number: row.blockNumber, hash: row.blockHash, baseFeePerGas: row.baseFeePerGas }
}

export const recordBaseFee = async (
  db: Queryable,
  { network, baseFeePerGas }: { readonly network: Network; readonly baseFeePerGas: bigint | null },
) => {
  await db
    .update(cursors)
    .set({ baseFeePerGas })
    .where(at({ network, purpose: 'track' }))
}

/** Says that a follower works, also without a new block. */
export const recordStep = async (db: Queryable, follower: Follower) => {
  await db.update(cursors).set({ steppedAt: sql`now()` }).where(at(follower))
}

/** A follower takes a step every few seconds; each may take as long as a node has for an answer. */
const STALLED_AFTER_SECONDS = 30

/** The networks with a follower that began and has taken no step for half a minute. Also in db/views.sql. */
export const stalledNetworks = async (db: Queryable): Promise<readonly string[]> => {
  const rows = await db
    .selectDistinct({ network: cursors.network })
    .from(cursors)
    .where(sql`${cursors.steppedAt} < now() - make_interval(secs => ${STALLED_AFTER_SECONDS})`)
  return rows.map(({ network }) => network)
}

export const holdCursor = async (tx: Tx, follower: Follower): Promise<BlockPoint | null> => {
  const [row] = await tx.select().from(cursors).where(at(follower)).for('share')
  return row === undefined ? null : { number: row.blockNumber, hash: row.blockHash }
}

export const beginCursor = async (db: Queryable, follower: Follower, point: BlockPoint) => {
  await db
    .insert(cursors)
    .values({ ...follower, blockNumber: point.number, blockHash: point.hash })
    .onConflictDoNothing()
  await db
    .insert(seenBlocks)
    .values({ ...follower, ...point })
    .onConflictDoNothing()
}

/**
 * Moves the cursor, and notes it if the follower goes on after a standstill. @returns false, and changes nothing, if
 * another process has moved the cursor meanwhile: then the caller writes nothing more.
 */
export const moveCursor = async (
  tx: Tx,
  input: {
    readonly follower: Follower
    readonly from: BlockPoint
    readonly to: BlockPoint
    readonly stalledAfterSeconds: number
  },
) => {
  const { follower, from, to, stalledAfterSeconds } = input
  const hasStoodStill = sql`${cursors.updatedAt} < now() - make_interval(secs => ${stalledAfterSeconds})`
  const { rowCount } = await tx
    .update(cursors)
    .set({
      blockNumber: to.number,
      blockHash: to.hash,
      updatedAt: sql`now()`,
      resumedAt: sql`case when ${hasStoodStill} then now() else ${cursors.resumedAt} end`,
      steppedAt: sql`now()`,
    })
    .where(and(at(follower), eq(cursors.blockNumber, from.number), eq(cursors.blockHash, from.hash)))
  return rowCount === 1
}

/** Keeps the hashes of new blocks, and forgets those below the newest final one. */
export const rememberBlocks = async (
  tx: Tx,
  input: { readonly follower: Follower; readonly blocks: readonly BlockPoint[]; readonly finalNumber: bigint },
) => {
  const remembered = input.blocks.filter((block) => block.number >= input.finalNumber)
  if (remembered.length > 0) {
    await tx
      .insert(seenBlocks)
      .values(remembered.map(({ number, hash }) => ({ ...input.follower, number, hash })))
      .onConflictDoUpdate({
        target: [seenBlocks.network, seenBlocks.purpose, seenBlocks.number],
        set: { hash: sql`excluded.hash` },
      })
  }
  await tx.delete(seenBlocks).where(and(isOf(input.follower), lt(seenBlocks.number, input.finalNumber)))
}

export const forgetBlocksAbove = async (tx: Tx, follower: Follower, number: bigint) => {
  await tx.delete(seenBlocks).where(and(isOf(follower), gt(seenBlocks.number, number)))
}

/**
 * The hash of the block that a follower processed at a height; null if there is none, or if it is older than the newest
 * final one.
 */
export const readSeenHash = async (db: Queryable, follower: Follower, number: bigint): Promise<string | null> => {
  const [row] = await db
    .select({ hash: seenBlocks.hash })
    .from(seenBlocks)
    .where(and(isOf(follower), eq(seenBlocks.number, number)))
  return row?.hash ?? null
}

/** The newest final block as of the follower's last move, which is the oldest block whose hash is kept. */
export const readOldestSeenBlock = (db: Queryable, follower: Follower): Promise<BlockPoint | null> =>
  firstRow(db.select(point).from(seenBlocks).where(isOf(follower)).orderBy(asc(point.number)).limit(1))

export const listSeenBlocks = async (db: Queryable, follower: Follower): Promise<readonly BlockPoint[]> =>
  db.select(point).from(seenBlocks).where(isOf(follower)).orderBy(desc(point.number))

/** A day, and the longest interval of a plot before it. */
const KEPT_HOURS = 25

/** Notes this minute's heads beside the cursors, and forgets old ones. @param heads null where no node answered. */
export const noteHeads = async (
  db: Queryable,
  heads: readonly { readonly network: Network; readonly head: bigint | null }[],
) => {
  const networks = sql.param(heads.map(({ network }) => network))
  const numbers = sql.param(heads.map(({ head }) => head?.toString() ?? null))
  await db.execute(sql`
    insert into public.heads (network, at, head, tracked, indexed)
    select network.name, date_trunc('minute', now()), given.head, track.block_number, index.block_number
    from unnest(${networks}::text[], ${numbers}::bigint[]) given (network, head)
    join public.networks network on network.name = given.network
    left join public.cursors track on track.network = network.name and track.purpose = 'track'
    left join public.cursors index on index.network = network.name and index.purpose = 'index'
    on conflict (network, at) do update set head = excluded.head, tracked = excluded.tracked, indexed = excluded.indexed`)
  await db.execute(sql`delete from public.heads where at < now() - make_interval(hours => ${KEPT_HOURS}::int)`)
}

export type HeadInterval = {
  readonly network: Network
  /** From 0, the oldest; -1 is the one before. */
  readonly index: number
  /** The newest block; null if no node answered. */
  readonly head: number | null
  /** By how many blocks each follower was behind it, at the most; null if that is not known. */
  readonly trackedBehind: number | null
  readonly indexedBehind: number | null
}

/** The heads in each of the intervals up to now, and in one before; those without a row are left out. */
export const readHeads = (
  db: Queryable,
  { intervals, seconds }: { readonly intervals: number; readonly seconds: number },
): Promise<readonly HeadInterval[]> =>
  readRows<HeadInterval>(db)`
    select network, ${intervals}::int - 1 - floor(extract(epoch from now() - at) / ${seconds}::int)::int as index,
      max(head)::float8 as head, max(greatest(head - tracked, 0))::float8 as "trackedBehind",
      max(greatest(head - indexed, 0))::float8 as "indexedBehind"
    from public.heads
    where at > now() - make_interval(secs => (${intervals}::int + 1) * ${seconds}::int) and at <= now()
    group by 1, 2 order by 1, 2`
