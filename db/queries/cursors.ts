import { and, asc, desc, eq, gt, lt, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { cursors, seenBlocks } from '../schema.ts'
import type { CursorPurpose, Network } from '../words.ts'

export type Follower = { readonly network: Network; readonly purpose: CursorPurpose }
export type BlockPoint = { readonly number: bigint; readonly hash: string }
export type Cursor = BlockPoint & {
  /** Wei: of the newest block that was seen, by the tracker of an EVM network. */
  readonly baseFeePerGas: bigint | null
}

const at = (follower: Follower) => and(eq(cursors.network, follower.network), eq(cursors.purpose, follower.purpose))
const seen = (follower: Follower) =>
  and(eq(seenBlocks.network, follower.network), eq(seenBlocks.purpose, follower.purpose))

const point = { number: seenBlocks.number, hash: seenBlocks.hash }

/** The last block that a follower has processed; null before it began. */
export const readCursor = async (db: Queryable, follower: Follower): Promise<Cursor | null> => {
  const [row] = await db.select().from(cursors).where(at(follower))
  if (row === undefined) return null
  return { number: row.blockNumber, hash: row.blockHash, baseFeePerGas: row.baseFeePerGas }
}

/** Stores the base fee of the newest block that the tracker saw. */
export const noteBaseFee = async (
  db: Queryable,
  { network, baseFeePerGas }: { readonly network: Network; readonly baseFeePerGas: bigint | null },
): Promise<void> => {
  await db
    .update(cursors)
    .set({ baseFeePerGas })
    .where(at({ network, purpose: 'track' }))
}

/** Says that a follower works, also where there is no new block. */
export const noteStep = async (db: Queryable, follower: Follower): Promise<void> => {
  await db.update(cursors).set({ steppedAt: sql`now()` }).where(at(follower))
}

/** A follower takes a step every few seconds; each may take as long as a node has for an answer. */
const STALLED_AFTER_SECONDS = 30

/** The networks of which a follower stands still: it began, and has taken no step for half a minute. Also in db/views.sql. */
export const stalledNetworks = async (db: Queryable): Promise<readonly string[]> => {
  const rows = await db
    .selectDistinct({ network: cursors.network })
    .from(cursors)
    .where(sql`${cursors.steppedAt} < now() - make_interval(secs => ${STALLED_AFTER_SECONDS})`)
  return rows.map(({ network }) => network)
}

/** Reads the cursor, and locks it until the database transaction ends. */
export const holdCursor = async (tx: Tx, follower: Follower): Promise<BlockPoint | null> => {
  const [row] = await tx.select().from(cursors).where(at(follower)).for('share')
  return row === undefined ? null : { number: row.blockNumber, hash: row.blockHash }
}

/** Begins at a block, unless the follower has begun. */
export const beginCursor = async (db: Queryable, follower: Follower, point: BlockPoint): Promise<void> => {
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
 * Moves a cursor, and notes if it had stood still before.
 * @returns false if another process has moved it meanwhile: then the transaction must not commit.
 */
export const moveCursor = async (
  tx: Tx,
  input: {
    readonly follower: Follower
    readonly from: BlockPoint
    readonly to: BlockPoint
    readonly stalledAfterSeconds: number
  },
): Promise<boolean> => {
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

/** Keeps the hashes of new blocks, and forgets those that are final. */
export const rememberBlocks = async (
  tx: Tx,
  input: { readonly follower: Follower; readonly blocks: readonly BlockPoint[]; readonly finalNumber: bigint },
): Promise<void> => {
  const kept = input.blocks.filter((block) => block.number >= input.finalNumber)
  if (kept.length > 0) {
    await tx
      .insert(seenBlocks)
      .values(kept.map(({ number, hash }) => ({ ...input.follower, number, hash })))
      .onConflictDoUpdate({
        target: [seenBlocks.network, seenBlocks.purpose, seenBlocks.number],
        set: { hash: sql`excluded.hash` },
      })
  }
  await tx.delete(seenBlocks).where(and(seen(input.follower), lt(seenBlocks.number, input.finalNumber)))
}

export const forgetBlocksAbove = async (tx: Tx, follower: Follower, number: bigint): Promise<void> => {
  await tx.delete(seenBlocks).where(and(seen(follower), gt(seenBlocks.number, number)))
}

/** The hash of the block that a follower processed at a height; null if there is none or its hash was dropped as final. */
export const seenHash = async (db: Queryable, follower: Follower, number: bigint): Promise<string | null> => {
  const [row] = await db
    .select({ hash: seenBlocks.hash })
    .from(seenBlocks)
    .where(and(seen(follower), eq(seenBlocks.number, number)))
  return row?.hash ?? null
}

/** The newest final block as of the follower's last move, which is the oldest block whose hash is kept. */
export const oldestSeen = async (db: Queryable, follower: Follower): Promise<BlockPoint | null> => {
  const [row] = await db.select(point).from(seenBlocks).where(seen(follower)).orderBy(asc(point.number)).limit(1)
  return row ?? null
}

/** Newest first. */
export const listSeenBlocks = async (db: Queryable, follower: Follower): Promise<readonly BlockPoint[]> =>
  db.select(point).from(seenBlocks).where(seen(follower)).orderBy(desc(point.number))
