// A project's events: numbering, reading, deleting.

import { eq, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { readValue } from '../rows.ts'
import { eventCounters, type events } from '../schema.ts'

export type EventRow = Pick<typeof events.$inferSelect, 'projectId' | 'type' | 'version' | 'data' | 'createdAt'> & {
  readonly number: bigint
}

/** Events up to `droppedNumber` are deleted. The rows are all of the types up to `readTo`. */
type EventPage = {
  readonly rows: readonly EventRow[]
  readonly readTo: bigint
  readonly lastNumber: bigint
  readonly droppedNumber: bigint
}

type Project = { readonly projectId: string }

/**
 * Gives numbers to committed events, in the order in which they were written. Call it outside of a transaction that
 * goes on: it holds the lock of the project's counter.
 * @returns how many got one; `atMost`: there may be more.
 */
export const numberEvents = async (db: Queryable, { projectId, atMost }: Project & { readonly atMost: number }) =>
  (await readValue<number>(db)`select public.strongroom_event_numbers(${projectId}::uuid, ${atMost}::int) as given`) ??
  0

type Read = {
  readonly last_number: string
  readonly dropped_number: string
  readonly number: string | null
  readonly type: EventRow['type']
  readonly version: number
  readonly data: EventRow['data']
  readonly created_at: string
}

/** The most events that one statement looks at. Those of other types are passed. */
const PASSED_MAX = 10_000

/**
 * Numbered events after a number, in their order. In one statement, so that what is read belongs to the counter's
 * state.
 * @param input.after 0n: from the oldest that is kept. @param input.types null: all.
 */
export const readEvents = async (
  db: Queryable,
  input: Project & {
    readonly after: bigint
    readonly types: readonly string[] | null
    readonly limit: number
  },
): Promise<EventPage> => {
  const { projectId, after, types, limit } = input
  const start = sql`case when ${after}::bigint = 0 then counter.dropped_number else ${after}::bigint end`
  const ofTypes = types === null ? sql`true` : sql`type = any(${`{${types.join()}}`}::text[])`
  const { rows } = await db.execute<Read>(sql`
    select counter.last_number, counter.dropped_number, event.number, event.type, event.version, event.data, event.created_at
    from ${eventCounters} counter left join lateral (
      select number, type, version, data, created_at from public.events
      where project_id = counter.project_id and number > ${start} and number <= ${start} + ${PASSED_MAX}::bigint and ${ofTypes}
      order by number limit ${limit}
    ) event on true
    where counter.project_id = ${projectId}
    order by event.number`)
  const [first] = rows
  if (first === undefined) return { rows: [], readTo: 0n, lastNumber: 0n, droppedNumber: 0n }
  const [lastNumber, droppedNumber] = [BigInt(first.last_number), BigInt(first.dropped_number)]
  const found = rows.flatMap(({ number, type, version, data, created_at }) =>
    number === null
      ? []
      : [{ projectId, number: BigInt(number), type, version, data, createdAt: new Date(created_at) }],
  )
  const passed = (after === 0n ? droppedNumber : after) + BigInt(PASSED_MAX)
  const end = passed < lastNumber ? passed : lastNumber
  const readTo = found.length === limit ? (found.at(-1)?.number ?? end) : end
  return { rows: found, readTo, lastNumber, droppedNumber }
}

/** How far some projects have come. `hasMore`: there are events without a number. */
export const readReached = async (
  db: Queryable,
  projectIds: readonly string[],
): Promise<ReadonlyMap<string, { readonly lastNumber: bigint; readonly hasMore: boolean }>> => {
  const { rows } = await db.execute<{ id: string; last_number: string; has_more: boolean }>(sql`
    select project.id, coalesce(counter.last_number, 0) as last_number,
      exists (select from public.events where project_id = project.id and number is null) as has_more
    from unnest(${sql.param(projectIds)}::uuid[]) project (id) left join ${eventCounters} counter on counter.project_id = project.id`)
  return new Map(rows.map((row) => [row.id, { lastNumber: BigInt(row.last_number), hasMore: row.has_more }]))
}

const DROPPED_AT_ONCE = 10_000

/** Deletes old events of a project, each only with all events before it. @returns whether there are more. */
const dropSome = async (tx: Tx, { projectId, keptDays }: Project & { readonly keptDays: number }) => {
  await tx.execute(sql`select from ${eventCounters} where project_id = ${projectId} for update`)
  const { rowCount } = await tx.execute(sql`
    with old as (
      select number, created_at < now() - make_interval(days => ${keptDays}) as is_over
      from public.events where project_id = ${projectId} and number is not null order by number limit ${DROPPED_AT_ONCE}
    ), edge as (
      select max(number) as number from old
      where number < coalesce((select min(number) from old where not is_over), 9223372036854775807)
    ), counted as (
      update ${eventCounters} set dropped_number = edge.number from edge
      where project_id = ${projectId} and edge.number is not null
    )
    delete from public.events where project_id = ${projectId} and number <= (select number from edge)`)
  return rowCount === DROPPED_AT_ONCE
}

/** All are numbered before they are deleted, so that a reader notices what it has missed. */
export const dropOldEvents = async (db: Db, { keptDays }: { readonly keptDays: number }) => {
  const { rows } = await db.execute<{ id: string }>(sql`select id from public.projects`)
  for (const { id: projectId } of rows) {
    while ((await numberEvents(db, { projectId, atMost: DROPPED_AT_ONCE })) === DROPPED_AT_ONCE);
    while (await db.transaction((tx) => dropSome(tx, { projectId, keptDays })));
  }
}

/** The number of a project's last event; 0 if it has none. */
export const lastNumber = async (db: Queryable, { projectId }: Project) => {
  const [row] = await db.select().from(eventCounters).where(eq(eventCounters.projectId, projectId))
  return row?.lastNumber ?? 0n
}
