// Deliveries: rows of events for an endpoint. Those of one lane (a wallet) are sent one after the other, in the order
// of the events. In each lane only the first one that waits has a time (`next_at`), so that what is due is found
// without a look at the rest, however many wait. An endpoint without an order has a time for each one that waits.
// Whatever inserts or ends deliveries, or changes the order, keeps it so, with the endpoint locked.
//
// Where statements travel in one message, each is sent when it is executed, at once: Drizzle sends one that is only
// awaited a moment later, behind other ones.

import { and, desc, eq, inArray, isNotNull, isNull, lt, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { firstRow, readValue } from '../rows.ts'
import { events, webhookDeliveries, webhookEndpoints } from '../schema.ts'
import type { DeliveryState } from '../words.ts'
import type { EventRow } from './events.ts'

export type DeliveryRow = typeof webhookDeliveries.$inferSelect

const isWaiting = (endpointId: string) =>
  and(eq(webhookDeliveries.endpointId, endpointId), eq(webhookDeliveries.state, 'waiting'))

const EVENTS_AT_ONCE = 500

/** The event's wallet, by its network and address, if it has one. Events of one lane are sent one after the other. */
const LANE = sql`case when v.data ? 'network' then (v.data->>'network') || ' '
  || coalesce(v.data->>'wallet_address', v.data->>'address', '') else '' end`

/** The endpoint must be locked. @returns `isFull`: so many wait that none was made. `hasMore`: there may be more. */
export const takeUpEvents = async (
  tx: Tx,
  { endpointId, waitingMax }: { readonly endpointId: string; readonly waitingMax: number },
): Promise<{ readonly hasMore: boolean; readonly isFull: boolean }> => {
  const taking = tx.execute<{ passed: number; is_full: boolean }>(sql`
    with waiting as (
      select count(*) >= ${waitingMax}::bigint as is_full from (
        select from public.webhook_deliveries where endpoint_id = ${endpointId} and state = 'waiting' limit ${waitingMax}) w
    ), endpoint as (
      select id, project_id, cursor, event_types, delivery_order from public.webhook_endpoints, waiting where id = ${endpointId} and not is_full
    ), due as (
      select v.number, v.type, ${LANE} as lane from public.events v join endpoint e on e.project_id = v.project_id
      where v.number > e.cursor order by v.number limit ${EVENTS_AT_ONCE}
    ), made as (
      insert into public.webhook_deliveries (project_id, endpoint_id, number, lane, next_at)
      select e.project_id, e.id, due.number, due.lane,
        case when e.delivery_order = 'none' or due.number = min(due.number) over (partition by due.lane) and not exists (
          select from public.webhook_deliveries d where d.endpoint_id = e.id and d.lane = due.lane and d.state = 'waiting'
        ) then now() end
      from due cross join endpoint e where cardinality(e.event_types) = 0 or due.type = any(e.event_types)
    ), moved as (
      update public.webhook_endpoints set cursor = (select max(number) from due)
      where id = ${endpointId} and exists (select from due)
    )
    select (select count(*)::int from due) as passed, is_full from waiting`)
  const { rows } = await taking.execute()
  const { passed, is_full: isFull } = rows[0] ?? { passed: 0, is_full: false }
  return { hasMore: passed === EVENTS_AT_ONCE, isFull }
}

/** Gives the first one that waits in each of some lanes a time, after the ones before it have ended. */
const beginNext = async (tx: Tx, input: { readonly endpointId: string; readonly lanes: readonly string[] }) => {
  const beginning = tx.execute(sql`
    update public.webhook_deliveries d set next_at = now()
    from unnest(${sql.param(input.lanes)}::text[]) ended(lane) cross join lateral (
      select id from public.webhook_deliveries
      where endpoint_id = ${input.endpointId} and lane = ended.lane and state = 'waiting' order by number, id limit 1
    ) first
    where d.id = first.id and d.next_at is null`)
  await beginning.execute()
}

/** Gives only the first delivery of each lane a time again. Without an order each delivery gets one. */
export const arrange = async (tx: Tx, endpointId: string) => {
  await tx.execute(sql`
    with ordered as (
      select id, next_at, row_number() over (partition by lane order by number, id) = 1
        or (select delivery_order from public.webhook_endpoints where id = ${endpointId}) = 'none' as is_free
      from public.webhook_deliveries where endpoint_id = ${endpointId} and state = 'waiting'
    )
    update public.webhook_deliveries d set next_at = case when is_free then now() end
    from ordered where d.id = ordered.id and is_free = (ordered.next_at is null)`)
}

const isPaused = (endpointId: string) => sql`
  (select coalesce(paused_until > now(), false) from public.webhook_endpoints where id = ${endpointId})`

const leased = (endpointId: string) => sql`
  select count(*) from public.webhook_deliveries
  where endpoint_id = ${endpointId} and state = 'waiting' and leased_until is not null and leased_until > now()`

/** A delivery with its event; null for a test, and if the event is kept no longer. */
export type LeasedRow = { readonly delivery: DeliveryRow; readonly event: EventRow | null }

/**
 * Takes deliveries that are due and that no worker is sending: tests first, and then those that are due longest. The
 * endpoint must be locked. Its two statements travel in one message, also with statements that the caller sends
 * together with them.
 * @param input.atOnce how many may be sent at the same time, by all workers. @param input.limit how many to take at
 * most.
 */
export const leaseDeliveries = async (
  tx: Tx,
  input: {
    readonly endpointId: string
    readonly atOnce: number
    readonly limit: number
    readonly leaseSeconds: number
  },
): Promise<readonly LeasedRow[]> => {
  const { endpointId, atOnce, limit, leaseSeconds } = input
  // The time of the transaction: what it leases has this one, and nothing else has.
  const until = sql`now() + make_interval(secs => ${leaseSeconds})`
  const leasing = tx
    .execute(sql`
    with due as not materialized (
      select id, number, next_at from public.webhook_deliveries
      where endpoint_id = ${endpointId} and state = 'waiting' and next_at <= now() and (leased_until is null or leased_until <= now())
        and (number is null or not ${isPaused(endpointId)})
    ), first as (
      (select * from due where number is null)
      union all (select * from due where number is not null order by next_at, number limit ${limit}::bigint)
    ), chosen as (
      select id from first order by number is not null, next_at, number, id
      limit greatest(0, least(${limit}::bigint, ${atOnce} - (${leased(endpointId)})))
    )
    update public.webhook_deliveries d
    set leased_until = ${until}, first_tried_at = coalesce(first_tried_at, now())
    from chosen where d.id = chosen.id`)
    .execute()
  const { leasedUntil, projectId, number } = webhookDeliveries
  const reading = tx
    .select({ delivery: webhookDeliveries, event: events })
    .from(webhookDeliveries)
    .leftJoin(events, and(eq(events.projectId, projectId), eq(events.number, number)))
    .where(and(isWaiting(endpointId), sql`${leasedUntil} = ${until}`))
    .execute()
  const [, rows] = await Promise.all([leasing, reading])
  return rows.map(({ delivery, event }) => ({
    delivery,
    event: event === null || event.number === null ? null : { ...event, number: event.number },
  }))
}

export const findDelivery = (tx: Tx, id: string): Promise<DeliveryRow | null> =>
  firstRow(tx.select().from(webhookDeliveries).where(eq(webhookDeliveries.id, id)))

/**
 * Seconds until more of an endpoint is due than now; null if that does not happen. What is due now and was not taken is
 * of a disabled endpoint, or waits for one of the requests that may be sent at the same time: a reminder could not take
 * it either.
 */
export const secondsUntilDue = (db: Queryable, endpointId: string): Promise<number | null> =>
  readValue<number>(db)`
    with pause as (
      select paused_until as until from public.webhook_endpoints where id = ${endpointId} and paused_until > now()
    )
    select extract(epoch from least((
      select greatest(next_at, (select until from pause)) from public.webhook_deliveries
      where endpoint_id = ${endpointId} and state = 'waiting'
        and next_at > case when exists (select from pause) then '-infinity' else now() end
      order by next_at limit 1
    ), (
      select min(leased_until) from public.webhook_deliveries
      where endpoint_id = ${endpointId} and state = 'waiting' and leased_until is not null and leased_until > now()
    )) - now())::float as seconds`

/** What a receiver answered, if it did. */
type Answer = Pick<DeliveryRow, 'status' | 'failure' | 'excerpt'>
type Of = Pick<DeliveryRow, 'id' | 'endpointId' | 'lane'>

const SUCCESS_NOTED_EVERY = sql`interval '10 seconds'`

/** The endpoint must be locked. The statements travel in one message, also with later ones of the caller. */
export const markDelivered = async (
  tx: Tx,
  { endpointId, rows }: { readonly endpointId: string; readonly rows: readonly (Of & Answer)[] },
) => {
  if (rows.length === 0) return
  await Promise.all([
    ...rows.map(({ id, status, failure, excerpt }) =>
      tx
        .update(webhookDeliveries)
        .set({
          status,
          failure,
          excerpt,
          state: 'delivered',
          attempts: sql`attempts + 1`,
          leasedUntil: null,
          endedAt: sql`now()`,
        })
        .where(and(eq(webhookDeliveries.id, id), eq(webhookDeliveries.state, 'waiting')))
        .execute(),
    ),
    beginNext(tx, { endpointId, lanes: rows.map(({ lane }) => lane) }),
    tx
      .update(webhookEndpoints)
      .set({ failures: 0, lastSuccessAt: sql`now()` })
      .where(
        and(
          eq(webhookEndpoints.id, endpointId),
          sql`(failures > 0 or last_success_at is null or last_success_at < now() - ${SUCCESS_NOTED_EVERY})`,
        ),
      )
      .execute(),
  ])
}

/** After an outage the first one of each lane is due at once. */
export const makeDue = async (tx: Tx, endpointId: string) => {
  await tx
    .update(webhookDeliveries)
    .set({ nextAt: sql`now()` })
    .where(and(isWaiting(endpointId), isNotNull(webhookDeliveries.nextAt)))
}

/** What waits begins anew: as if it had not been tried. */
export const beginAnew = async (tx: Tx, endpointId: string) => {
  await makeDue(tx, endpointId)
  await tx.update(webhookDeliveries).set({ firstTriedAt: null, attempts: 0 }).where(isWaiting(endpointId))
}

/**
 * Records a failure. @param row.pauseSeconds null: it is not tried again.
 * @param row.endpointPauseSeconds how long the endpoint gets nothing at all; 0: its receiver did not ask for that.
 */
export const markFailed = async (
  tx: Tx,
  row: Of & Answer & { readonly pauseSeconds: number | null; readonly endpointPauseSeconds: number },
) => {
  const { id, endpointId, lane, status, failure, excerpt, pauseSeconds, endpointPauseSeconds } = row
  const next =
    pauseSeconds === null
      ? ({ state: 'failed', endedAt: sql`now()` } as const)
      : // Without a time it stays so: an earlier one was replayed meanwhile.
        { nextAt: sql`case when next_at is not null then now() + make_interval(secs => ${pauseSeconds}) end` }
  await tx
    .update(webhookDeliveries)
    .set({ status, failure, excerpt, ...next, attempts: sql`attempts + 1`, leasedUntil: null })
    .where(and(eq(webhookDeliveries.id, id), eq(webhookDeliveries.state, 'waiting')))
  if (pauseSeconds === null) await beginNext(tx, { endpointId, lanes: [lane] })
  await tx
    .update(webhookEndpoints)
    .set({
      failures: sql`failures + 1`,
      lastFailureAt: sql`now()`,
      lastFailure: failure,
      ...(endpointPauseSeconds > 0 && {
        pausedUntil: sql`greatest(paused_until, now() + make_interval(secs => ${endpointPauseSeconds}))`,
      }),
    })
    .where(eq(webhookEndpoints.id, endpointId))
}

/** Ends deliveries of an endpoint whose events are kept no longer. The receiver has not failed by that. */
export const endWithoutEvent = async (tx: Tx, rows: readonly Of[]) => {
  const [first] = rows
  if (first === undefined) return
  const ids = rows.map(({ id }) => id)
  await tx
    .update(webhookDeliveries)
    .set({ state: 'failed', endedAt: sql`now()`, leasedUntil: null })
    .where(inArray(webhookDeliveries.id, ids))
  await beginNext(tx, { endpointId: first.endpointId, lanes: rows.map(({ lane }) => lane) })
}

/** A test's lane is its own, so that nothing holds it up. */
export const insertTest = async (tx: Tx, row: Pick<DeliveryRow, 'id' | 'projectId' | 'endpointId'>) => {
  await tx.insert(webhookDeliveries).values({ ...row, lane: `test ${row.id}`, number: null })
}

export const countWaitingTests = async (tx: Tx, endpointId: string) =>
  tx.$count(webhookDeliveries, and(isWaiting(endpointId), isNull(webhookDeliveries.number)))

const AGAIN = {
  state: 'waiting',
  attempts: 0,
  createdAt: sql`now()`,
  nextAt: null,
  firstTriedAt: null,
  endedAt: null,
} as const

const replay = async (tx: Tx, endpointId: string, where: SQL) => {
  const isOfEndpoint = eq(webhookDeliveries.endpointId, endpointId)
  const { rowCount } = await tx.update(webhookDeliveries).set(AGAIN).where(and(isOfEndpoint, where))
  await arrange(tx, endpointId)
  return rowCount ?? 0
}

/** Sends one delivery once more. The endpoint must be locked. @returns false if it has none with this id. */
export const replayOne = async (tx: Tx, { endpointId, id }: { readonly endpointId: string; readonly id: string }) =>
  (await replay(tx, endpointId, eq(webhookDeliveries.id, id))) > 0

/** Sends those again that were not taken within three days. The endpoint must be locked. @returns how many. */
export const replayFailed = (tx: Tx, endpointId: string) =>
  replay(tx, endpointId, eq(webhookDeliveries.state, 'failed'))

/** Sends all events after one, even those never sent to this endpoint, which must be locked. @returns how many. */
export const replayAfter = async (
  tx: Tx,
  { endpointId, after, limit }: { readonly endpointId: string; readonly after: bigint; readonly limit: number },
) => {
  const { rowCount } = await tx.execute(sql`
    insert into public.webhook_deliveries (project_id, endpoint_id, number, lane, next_at)
    select e.project_id, e.id, v.number, ${LANE}, null
    from public.webhook_endpoints e join public.events v on v.project_id = e.project_id
    where e.id = ${endpointId} and v.number > ${after} and v.number <= e.cursor
      and (cardinality(e.event_types) = 0 or v.type = any(e.event_types))
    order by v.number limit ${limit}
    on conflict (endpoint_id, number) do update
    set state = 'waiting', attempts = 0, created_at = now(), next_at = null, first_tried_at = null, ended_at = null`)
  await arrange(tx, endpointId)
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

export const dropOldDeliveries = async (db: Queryable) => {
  const old = lt(webhookDeliveries.endedAt, sql`now() - make_interval(days => ${KEPT_DAYS})`)
  return (await db.delete(webhookDeliveries).where(and(old, sql`state <> 'waiting'`))).rowCount ?? 0
}
