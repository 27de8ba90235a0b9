import { and, asc, eq, gte, inArray, isNull, lte, or, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { firstRow, readValue } from '../rows.ts'
import { backfills, cursors, seenBlocks } from '../schema.ts'
import type { BackfillHindrance, Network } from '../words.ts'
import type { BlockPoint } from './cursors.ts'

export type BackfillRow = typeof backfills.$inferSelect
export type BackfillPlace = { readonly network: Network; readonly address: string }

const at = ({ network, address }: BackfillPlace) => and(eq(backfills.network, network), eq(backfills.address, address))

/** Does nothing if the address has a backfill already. */
export const insertBackfill = async (db: Queryable, input: BackfillPlace & { readonly keyMadeAt: Date | null }) => {
  await db.insert(backfills).values(input).onConflictDoNothing()
}

export const readBackfill = (db: Queryable, place: BackfillPlace): Promise<BackfillRow | null> =>
  firstRow(db.select().from(backfills).where(at(place)))

/** Backfills that are not done and whose next try is due, oldest first. */
export const openBackfills = (
  db: Queryable,
  input: { readonly networks: readonly Network[]; readonly limit: number },
): Promise<readonly BackfillPlace[]> =>
  db
    .select({ network: backfills.network, address: backfills.address })
    .from(backfills)
    .where(
      and(
        inArray(backfills.network, [...input.networks]),
        isNull(backfills.doneAt),
        or(isNull(backfills.nextTryAt), lte(backfills.nextTryAt, sql`now()`)),
      ),
    )
    .orderBy(asc(backfills.requestedAt))
    .limit(input.limit)

/** null before the indexer began. */
export const holdIndexer = (tx: Tx, network: Network): Promise<BlockPoint | null> =>
  firstRow(
    tx
      .select({ number: cursors.blockNumber, hash: cursors.blockHash })
      .from(cursors)
      .where(and(eq(cursors.network, network), eq(cursors.purpose, 'index')))
      .for('update'),
  )

/** The indexer's cursor must be locked: a running step then sees the backfill by `hasBackfillBegunSince`. */
export const beginBackfill = async (tx: Tx, place: BackfillPlace, fromBlock: bigint) => {
  await tx
    .update(backfills)
    .set({ begunAt: sql`clock_timestamp()`, fromBlock, reachedBlock: fromBlock + 1n })
    .where(and(at(place), isNull(backfills.begunAt)))
}

export const databaseTime = async (db: Queryable) => {
  const time = await readValue<string>(db)`select clock_timestamp()::text`
  if (time === null) throw new Error('The database returned no time.')
  return time
}

export const hasBackfillBegunSince = async (tx: Tx, input: { readonly network: Network; readonly time: string }) =>
  (await firstRow(
    tx
      .select({ address: backfills.address })
      .from(backfills)
      .where(and(eq(backfills.network, input.network), gte(backfills.begunAt, sql`${input.time}::timestamptz`)))
      .limit(1),
  )) !== null

const UNHINDERED = { hindrance: null, hindranceReason: null, hinderedAt: null, tries: 0, nextTryAt: null }

/** Records why a backfill waits, and when it is tried again. `hindered_at` stays until it goes on. */
export const pauseBackfill = async (
  db: Queryable,
  input: {
    readonly place: BackfillPlace
    readonly hindrance: BackfillHindrance
    readonly reason: string
    readonly tries: number
    readonly afterSeconds: number
  },
) => {
  const { place, hindrance, reason, tries, afterSeconds } = input
  await db
    .update(backfills)
    .set({
      hindrance,
      hindranceReason: reason,
      tries,
      hinderedAt: sql`coalesce(${backfills.hinderedAt}, now())`,
      nextTryAt: sql`now() + make_interval(secs => ${afterSeconds})`,
    })
    .where(and(at(place), isNull(backfills.doneAt)))
}

/** @returns false if another process has moved it meanwhile: then the caller's transaction must not commit. */
export const moveBackfill = async (
  tx: Tx,
  input: {
    readonly place: BackfillPlace
    readonly from: bigint
    readonly to: bigint
    readonly coinsTo?: bigint
    readonly tracedTo?: bigint
    readonly done: boolean
  },
) => {
  const { place, from, to, coinsTo, tracedTo, done } = input
  const { rowCount } = await tx
    .update(backfills)
    .set({
      ...UNHINDERED,
      reachedBlock: to,
      ...(coinsTo === undefined ? {} : { coinsReachedBlock: coinsTo }),
      ...(tracedTo === undefined ? {} : { tracedReachedBlock: tracedTo }),
      ...(done ? { doneAt: sql`now()` } : {}),
    })
    .where(and(at(place), eq(backfills.reachedBlock, from)))
  return rowCount === 1
}

/** The blocks in a range that the indexer saw and that are not final. */
export const seenByIndexer = (
  tx: Tx,
  input: { readonly network: Network; readonly fromBlock: bigint; readonly toBlock: bigint },
): Promise<readonly BlockPoint[]> =>
  tx
    .select({ number: seenBlocks.number, hash: seenBlocks.hash })
    .from(seenBlocks)
    .where(
      and(
        eq(seenBlocks.network, input.network),
        eq(seenBlocks.purpose, 'index'),
        gte(seenBlocks.number, input.fromBlock),
        lte(seenBlocks.number, input.toBlock),
      ),
    )
