// Deliveries: rows of events for an endpoint. Those of one lane (a wallet) are sent one after the other, in the order of the events.

import { and, desc, eq, inArray, isNull, lt, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { webhookDeliveries, webhookEndpoints } from '../schema.ts'
import type { DeliveryState } from '../words.ts'

export type DeliveryRow = typeof webhookDeliveries.$inferSelect

const EVENTS_AT_ONCE = 500
/** Events beyond these wait in the table of events. */
const WAITING_MAX = 10_000

/** What an event is of: a wallet, by its network and address, or nothing. Events of one lane are sent one after the other. */
const LANE = sql`case when v.data ? 'network' then (v.data->>'network') || ' '
  || coalesce(v.data->>'wallet_address', v.data->>'address', '') else '' end`

/**
 * Makes deliveries of the numbered events since the endpoint's cursor. The endpoint must be locked.
 * @returns whether there may be more.
 */
export const takeUpEvents = async (tx: Tx, endpointId: string): Promise<boolean> => {
  const { rows } = await tx.execute<{ passed: number }>(sql`
    with endpoint as (
      select id, project_id, cursor, event_types from public.webhook_endpoints where id = ${endpointId}
        and (select count(*) from (select from public.webhook_deliveries where endpoint_id = ${endpointId}
          and state = 'waiting' limit ${WAITING_MAX}) waiting) < ${WAITING_MAX}
    ), due as (
      select v.number, v.type, ${LANE} as lane from public.events v join endpoint on endpoint.project_id = v.project_id
      where v.number > endpoint.cursor order by v.number limit ${EVENTS_AT_ONCE}
    ), made as (
      insert into public.webhook_deliveries (project_id, endpoint_id, number, lane)
      select endpoint.project_id, endpoint.id, due.number, due.lane from due cross join endpoint
      where cardinality(endpoint.event_types) = 0 or due.type = any(endpoint.event_types)
      on conflict do nothing
    )
    update public.webhook_endpoints e set cursor = last.number
    from (select max(number) as number, count(*)::int as passed from due) last
    where e.id = ${endpointId} and last.number is not null
    returning last.passed`)
  return rows[0]?.passed === EVENTS_AT_ONCE
}

/** How many of an endpoint's deliveries workers are sending. */
const leased = (endpointId: string) => sql`
  select count(*) from public.webhook_deliveries
  where endpoint_id = ${endpointId} and state = 'waiting' and leased_until > now()`

/**
 * Takes the first delivery of each lane that is due, tests and then the earliest events first, and none of a lane that somebody is
 * sending. The endpoint must be locked. @param input.atOnce how many may be sent at the same time, by all workers. @param input.limit how many to take at most.
 */
export const leaseDeliveries = async (
  tx: Tx,
  input: {
    readonly endpointId: string
    readonly atOnce: number
    readonly limit: number
    readonly leaseSeconds: number
  },
): Promise<readonly DeliveryRow[]> => {
  const { endpointId, atOnce, limit, leaseSeconds } = input
  const { rows } = await tx.execute<{ id: string }>(sql`
    with heads as (
      select distinct on (lane) id, number, next_at, leased_until from public.webhook_deliveries
      where endpoint_id = ${endpointId} and state = 'waiting' order by lane, number, id
    ), chosen as (
      select id from heads where next_at <= now() and (leased_until is null or leased_until <= now())
      order by number nulls first limit greatest(0, least(${limit}::bigint, ${atOnce} - (${leased(endpointId)})))
    )
    update public.webhook_deliveries d
    set leased_until = now() + make_interval(secs => ${leaseSeconds}), first_tried_at = coalesce(first_tried_at, now())
    from chosen where d.id = chosen.id returning d.id`)
  if (rows.length === 0) return []
  const ids = sql.param(rows.map(({ id }) => id))
  return tx.select().from(webhookDeliveries).where(sql`${webhookDeliveries.id} = any(${ids}::uuid[])`)
}

/** @returns null if it is no longer kept. */
export const findDelivery = async (tx: Tx, id: string): Promise<DeliveryRow | null> => {
  const [row] = await tx.select().from(webhookDeliveries).where(eq(webhookDeliveries.id, id))
  return row ?? null
}

/**
 * Seconds until more of an endpoint is due than now; null if that does not happen. What is due now and was not taken is of a disabled
 * endpoint, or waits for one of the requests that may be sent at the same time: a reminder could not take it either.
 */
export const secondsUntilDue = async (db: Queryable, endpointId: string): Promise<number | null> => {
  const { rows } = await db.execute<{ seconds: number | null }>(sql`
    select extract(epoch from min(due_at) - now())::float as seconds
    from (
      select distinct on (lane) greatest(next_at, leased_until) as due_at from public.webhook_deliveries
      where endpoint_id = ${endpointId} and state = 'waiting' order by lane, number, id
    ) heads
    where due_at > now()`)
  return rows[0]?.seconds ?? null
}

/** What a receiver answered, if it did. */
type Answer = Pick<DeliveryRow, 'status' | 'failure' | 'excerpt'>

const SUCCESS_NOTED_EVERY = sql`interval '10 seconds'`

/** Records that it was taken. Nobody else may have recorded an outcome meanwhile. */
export const markDelivered = async (tx: Tx, row: Pick<DeliveryRow, 'id' | 'endpointId'> & Answer): Promise<void> => {
  const { id, endpointId, ...answer } = row
  await tx
    .update(webhookDeliveries)
    .set({ ...answer, state: 'delivered', attempts: sql`attempts + 1`, leasedUntil: null, endedAt: sql`now()` })
    .where(and(eq(webhookDeliveries.id, id), eq(webhookDeliveries.state, 'waiting')))
  await tx
    .update(webhookEndpoints)
    .set({ failures: 0, lastSuccessAt: sql`now()` })
    .where(
      and(
        eq(webhookEndpoints.id, endpointId),
        sql`(failures > 0 or last_success_at is null or last_success_at < now() - ${SUCCESS_NOTED_EVERY})`,
      ),
    )
}

/** After an outage everything that waits is due at once. */
export const makeDue = async (tx: Tx, endpointId: string): Promise<void> => {
  await tx
    .update(webhookDeliveries)
    .set({ nextAt: sql`now()` })
    .where(and(eq(webhookDeliveries.endpointId, endpointId), eq(webhookDeliveries.state, 'waiting')))
}

/** Records a failure. @param row.pauseSeconds null: it is not tried again. @returns whether it was waiting. */
export const markFailed = async (
  tx: Tx,
  row: Pick<DeliveryRow, 'id' | 'endpointId'> & Answer & { readonly pauseSeconds: number | null },
): Promise<void> => {
  const { id, endpointId, pauseSeconds, ...answer } = row
  const next =
    pauseSeconds === null
      ? ({ state: 'failed', endedAt: sql`now()` } as const)
      : { nextAt: sql`now() + make_interval(secs => ${pauseSeconds})` }
  await tx
    .update(webhookDeliveries)
    .set({ ...answer, ...next, attempts: sql`attempts + 1`, leasedUntil: null })
    .where(and(eq(webhookDeliveries.id, id), eq(webhookDeliveries.state, 'waiting')))
  await tx
    .update(webhookEndpoints)
    .set({ failures: sql`failures + 1`, lastFailureAt: sql`now()`, lastFailure: answer.failure })
    .where(eq(webhookEndpoints.id, endpointId))
}

/** Ends deliveries whose events are kept no longer. The receiver has not failed by that. */
export const endWithoutEvent = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  await tx
    .update(webhookDeliveries)
    .set({ state: 'failed', endedAt: sql`now()`, leasedUntil: null })
    .where(inArray(webhookDeliveries.id, [...ids]))
}

/** A test's lane is its own, so that nothing holds it up. */
export const insertTest = async (tx: Tx, row: Pick<DeliveryRow, 'id' | 'projectId' | 'endpointId'>): Promise<void> => {
  await tx.insert(webhookDeliveries).values({ ...row, lane: `test ${row.id}`, number: null })
}

/** How many tests of an endpoint wait. */
export const countWaitingTests = async (tx: Tx, endpointId: string): Promise<number> => {
  const { endpointId: endpoint, state, number } = webhookDeliveries
  return tx.$count(webhookDeliveries, and(eq(endpoint, endpointId), eq(state, 'waiting'), isNull(number)))
}

const AGAIN = {
  state: 'waiting',
  attempts: 0,
  createdAt: sql`now()`,
  nextAt: sql`now()`,
  firstTriedAt: null,
  endedAt: null,
} as const

/** Sends one delivery once more. @returns false if the endpoint has none with this id. */
export const replayOne = async (
  tx: Tx,
  { endpointId, id }: { readonly endpointId: string; readonly id: string },
): Promise<boolean> => {
  const is = and(eq(webhookDeliveries.endpointId, endpointId), eq(webhookDeliveries.id, id))
  return ((await tx.update(webhookDeliveries).set(AGAIN).where(is)).rowCount ?? 0) > 0
}

/** Sends those again that were not taken within three days. @returns how many. */
export const replayFailed = async (tx: Tx, endpointId: string): Promise<number> => {
  const is = and(eq(webhookDeliveries.endpointId, endpointId), eq(webhookDeliveries.state, 'failed'))
  return (await tx.update(webhookDeliveries).set(AGAIN).where(is)).rowCount ?? 0
}

/** Sends events again that come after one, also those that were never sent to this endpoint. @returns how many. */
export const replayAfter = async (
  tx: Tx,
  { endpointId, after, limit }: { readonly endpointId: string; readonly after: bigint; readonly limit: number },
): Promise<number> => {
  const { rowCount } = await tx.execute(sql`
    insert into public.webhook_deliveries (project_id, endpoint_id, number, lane)
    select e.project_id, e.id, v.number, ${LANE}
    from public.webhook_endpoints e join public.events v on v.project_id = e.project_id
    where e.id = ${endpointId} and v.number > ${after} and v.number <= e.cursor
      and (cardinality(e.event_types) = 0 or v.type = any(e.event_types))
    order by v.number limit ${limit}
    on conflict (endpoint_id, number) do update
    set state = 'waiting', attempts = 0, created_at = now(), next_at = now(), first_tried_at = null, ended_at = null`)
  return rowCount ?? 0
}

/** Written as in the indexes' conditions. */
const IN_STATE: Readonly<Record<DeliveryState, SQL>> = {
  waiting: sql`${webhookDeliveries.state} = 'waiting'`,
  delivered: sql`${webhookDeliveries.state} = 'delivered'`,
  failed: sql`${webhookDeliveries.state} = 'failed'`,
}

/** Newest first. */
export const listDeliveries = (
  db: Queryable,
  input: {
    readonly endpointId: string
    readonly state: DeliveryState | null
    readonly limit: number
    readonly offset: number
  },
): Promise<readonly DeliveryRow[]> =>
  db
    .select()
    .from(webhookDeliveries)
    .where(
      and(eq(webhookDeliveries.endpointId, input.endpointId), input.state === null ? undefined : IN_STATE[input.state]),
    )
    .orderBy(desc(webhookDeliveries.createdAt), desc(webhookDeliveries.id))
    .limit(input.limit)
    .offset(input.offset)

/** How long ended deliveries are kept, for questions about them. */
const KEPT_DAYS = 7

/** @returns the number of deleted rows. */
export const dropOldDeliveries = async (db: Queryable): Promise<number> => {
  const old = lt(webhookDeliveries.endedAt, sql`now() - make_interval(days => ${KEPT_DAYS})`)
  return (await db.delete(webhookDeliveries).where(and(old, sql`state <> 'waiting'`))).rowCount ?? 0
}
