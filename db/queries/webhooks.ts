// Endpoints of webhooks: where a project's events go.

import { and, asc, count, desc, eq, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { deleteRows, insertRow, updateRows } from '../deciding-rows.ts'
import { eqIfGiven, firstRow, readRows, readValue } from '../rows.ts'
import { projects, webhookEndpoints } from '../schema.ts'
import { arrange, beginAnew, makeDue } from './webhook-deliveries.ts'

export type EndpointRow = typeof webhookEndpoints.$inferSelect

export type EndpointFacts = Pick<EndpointRow, 'id' | 'projectId' | 'url' | 'eventTypes' | 'contactEmail'>

type Named = { readonly projectId: string; readonly id: string }

const named = ({ projectId, id }: Named) => and(eq(webhookEndpoints.projectId, projectId), eq(webhookEndpoints.id, id))

/** Inserts an endpoint that gets the events from now on. */
export const insertEndpoint = async (tx: Tx, row: EndpointFacts & Pick<EndpointRow, 'sealed' | 'order' | 'cursor'>) => {
  await insertRow(tx, webhookEndpoints, { ...row, eventTypes: [...row.eventTypes] })
}

/** Locks the project, so that two requests do not both add its last endpoint. @returns how many it has. */
export const lockEndpointCount = async (tx: Tx, projectId: string) => {
  await tx.select({ id: projects.id }).from(projects).where(eq(projects.id, projectId)).for('no key update')
  const [row] = await tx.select({ n: count() }).from(webhookEndpoints).where(eq(webhookEndpoints.projectId, projectId))
  return row?.n ?? 0
}

export const lockEndpoint = (tx: Tx, input: Named): Promise<EndpointRow | null> =>
  firstRow(tx.select().from(webhookEndpoints).where(named(input)).for('update'))

export const lockEndpointById = (tx: Tx, id: string): Promise<EndpointRow | null> =>
  firstRow(tx.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id)).for('update'))

/** Numbers events of an enabled endpoint's project under the counter's lock. @returns `atMost`: there may be more. */
export const numberEventsFor = async (
  db: Queryable,
  { endpointId, atMost }: { readonly endpointId: string; readonly atMost: number },
) =>
  (await readValue<number>(db)`
    select public.strongroom_event_numbers(project_id, ${atMost}::int) as given
    from public.webhook_endpoints where id = ${endpointId} and state = 'enabled'`) ?? 0

export const findEndpoint = (db: Queryable, id: string): Promise<EndpointRow | null> =>
  firstRow(db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id)))

/** How many wait for an endpoint, and since when the oldest of them does. A pause that is over is none. */
export type EndpointView = EndpointRow & { readonly waiting: number; readonly lateSince: Date | null }

const VIEW_LIMIT = 500
/** More than these are not counted. About as many rows are made at most (`takeUpEvents`). */
const COUNTED_MAX = 10_000

/** @param input.countedMax how many waiting deliveries of one endpoint are counted at most. */
const withWaiting = async (
  db: Queryable,
  { rows, countedMax }: { readonly rows: readonly EndpointRow[]; readonly countedMax: number },
): Promise<readonly EndpointView[]> => {
  if (rows.length === 0) return []
  const ids = sql.param(rows.map(({ id }) => id))
  const found = await db.execute<{ id: string; waiting: number; since: string | null }>(sql`
    select e.id, counted.waiting, oldest.created_at as since
    from unnest(${ids}::uuid[]) e(id)
    cross join lateral (
      select count(*)::int as waiting from (
        select from public.webhook_deliveries where endpoint_id = e.id and state = 'waiting' limit ${countedMax}
      ) each
    ) counted
    left join lateral (
      select created_at from public.webhook_deliveries where endpoint_id = e.id and state = 'waiting'
      order by created_at, number limit 1
    ) oldest on true`)
  const waitingOf = new Map(found.rows.map((row) => [row.id, row]))
  return rows.map((row) => {
    const { waiting = 0, since = null } = waitingOf.get(row.id) ?? {}
    const pausedUntil = row.pausedUntil !== null && row.pausedUntil > new Date() ? row.pausedUntil : null
    return { ...row, pausedUntil, waiting, lateSince: since === null ? null : new Date(since) }
  })
}

/** @param projectId null: of all projects. Oldest first. */
export const listEndpoints = async (
  db: Queryable,
  { projectId, limit = VIEW_LIMIT }: { readonly projectId: string | null; readonly limit?: number },
): Promise<readonly EndpointView[]> => {
  const rows = await db
    .select()
    .from(webhookEndpoints)
    .where(eqIfGiven(webhookEndpoints.projectId, projectId))
    .orderBy(asc(webhookEndpoints.createdAt), asc(webhookEndpoints.id))
    .limit(limit)
  return withWaiting(db, { rows, countedMax: COUNTED_MAX })
}

/** Written as in the index's condition. */
const TROUBLED = sql`(${webhookEndpoints.state} = 'disabled' or ${webhookEndpoints.failures} > 0)`

/** Endpoints of any project, newest first, below the one with the id `after`. */
export const pageOfEndpoints = async (
  db: Queryable,
  input: {
    readonly projectId: string | null
    /** Only those that are disabled, or whose last request failed. */
    readonly isTroubledOnly: boolean
    readonly after: string | null
    readonly limit: number
    readonly countedMax: number
  },
): Promise<readonly EndpointView[]> => {
  const { projectId, isTroubledOnly, after, limit, countedMax } = input
  const last = sql`(select created_at, id from public.webhook_endpoints where id = ${after}::uuid)`
  const rows = await db
    .select()
    .from(webhookEndpoints)
    .where(
      and(
        eqIfGiven(webhookEndpoints.projectId, projectId),
        isTroubledOnly ? TROUBLED : undefined,
        after === null ? undefined : sql`(${webhookEndpoints.createdAt}, ${webhookEndpoints.id}) < ${last}`,
      ),
    )
    .orderBy(desc(webhookEndpoints.createdAt), desc(webhookEndpoints.id))
    .limit(limit)
  return withWaiting(db, { rows, countedMax })
}

export const viewEndpoint = async (db: Queryable, id: string): Promise<EndpointView | null> => {
  const rows = await db.select().from(webhookEndpoints).where(eq(webhookEndpoints.id, id))
  const [view] = await withWaiting(db, { rows, countedMax: COUNTED_MAX })
  return view ?? null
}

export type WebhookNumbers = {
  readonly disabled: number
  /** How long the oldest delivery to an enabled endpoint waits, and the oldest that was never sent. */
  readonly oldestSeconds: number
  readonly oldestUntriedSeconds: number
}

/** Its receiver has not asked for a pause, or that is over. */
const IS_OPEN = sql`(e.paused_until is null or e.paused_until <= now())`

/** One look into an index for each endpoint. */
export const webhookNumbers = async (db: Queryable): Promise<WebhookNumbers> => {
  const { rows } = await db.execute<WebhookNumbers>(sql`
    select (select count(*)::int from public.webhook_endpoints where state = 'disabled') as disabled,
      coalesce(max(oldest.seconds), 0)::float8 as "oldestSeconds",
      coalesce(max(oldest.seconds) filter (where oldest.first_tried_at is null and ${IS_OPEN}), 0)::float8 as "oldestUntriedSeconds"
    from public.webhook_endpoints e cross join lateral (
      select extract(epoch from now() - created_at) as seconds, first_tried_at from public.webhook_deliveries
      where endpoint_id = e.id and state = 'waiting' order by created_at, number limit 1
    ) oldest
    where e.state = 'enabled'`)
  return rows[0] ?? { disabled: 0, oldestSeconds: 0, oldestUntriedSeconds: 0 }
}

/** Writes what decides where events go, together with the secrets that are sealed for it. */
export const writeEndpoint = async (
  tx: Tx,
  { id, projectId, ...facts }: EndpointFacts & { readonly sealed: Uint8Array },
) => {
  const set = { ...facts, eventTypes: [...facts.eventTypes] }
  await updateRows(tx, webhookEndpoints, { set, where: named({ projectId, id }) })
}

/** What waits is then sent in this order; requests that are under way are not awaited. The endpoint must be locked. */
export const writeOrder = async (tx: Tx, { id, order }: Pick<EndpointRow, 'id' | 'order'>) => {
  await updateRows(tx, webhookEndpoints, { set: { order }, where: eq(webhookEndpoints.id, id) })
  await arrange(tx, id)
}

export const resealEndpoint = async (tx: Tx, { id, sealed }: { readonly id: string; readonly sealed: Uint8Array }) => {
  await updateRows(tx, webhookEndpoints, { set: { sealed }, where: eq(webhookEndpoints.id, id) })
}

export const lockEndpoints = (tx: Tx): Promise<readonly EndpointRow[]> =>
  tx.select().from(webhookEndpoints).orderBy(asc(webhookEndpoints.id)).for('update')

export const markDisabled = async (tx: Tx, { id, why }: { readonly id: string; readonly why: string }) => {
  const set = { state: 'disabled', disabledAt: sql`now()`, disabledWhy: why } as const
  await updateRows(tx, webhookEndpoints, { set, where: eq(webhookEndpoints.id, id) })
}

/** What waits is then due at once, and has three days again. */
export const markEnabled = async (tx: Tx, id: string) => {
  const set = { state: 'enabled', disabledAt: null, disabledWhy: null, failures: 0, pausedUntil: null } as const
  await updateRows(tx, webhookEndpoints, { set, where: eq(webhookEndpoints.id, id) })
  await beginAnew(tx, id)
}

/** What its receiver asked for (`Retry-After`) counts no longer: what waits is due at once. */
export const endPause = async (tx: Tx, id: string) => {
  await updateRows(tx, webhookEndpoints, { set: { pausedUntil: null }, where: eq(webhookEndpoints.id, id) })
  await makeDue(tx, id)
}

export const deleteEndpoint = async (tx: Tx, input: Named) => {
  await deleteRows(tx, webhookEndpoints, { where: named(input) })
}

/** Some enabled endpoints with new events, which have failed less than `failuresMax` times in a row. */
export const endpointsWithNews = async (
  db: Db,
  { failuresMax, limit }: { readonly failuresMax: number; readonly limit: number },
): Promise<readonly string[]> =>
  (
    await readRows<{ id: string }>(db)`
    select e.id from public.webhook_endpoints e
    left join public.event_counters c on c.project_id = e.project_id
    -- Not "exists": that may be planned to read all events without a number, and those of projects without readers are many.
    left join lateral (
      select true as is_new from public.events v where v.project_id = e.project_id and v.number is null limit 1) n on true
    where e.state = 'enabled' and e.failures < ${failuresMax} and ${IS_OPEN} and (c.last_number > e.cursor or n.is_new)
    limit ${limit}`
  ).map(({ id }) => id)

/** Enabled endpoints for which something is due, some of them. */
export const endpointsWithWork = async (db: Db, limit: number): Promise<readonly string[]> =>
  (
    await readRows<{ id: string }>(db)`
    select e.id from public.webhook_endpoints e
    where e.state = 'enabled' and ${IS_OPEN} and (
      exists (select from public.events v where v.project_id = e.project_id and v.number > e.cursor)
      or exists (select from public.events v where v.project_id = e.project_id and v.number is null)
      or exists (
        select from public.webhook_deliveries d where d.endpoint_id = e.id and d.state = 'waiting'
          and d.next_at <= now() and (d.leased_until is null or d.leased_until <= now())))
    limit ${limit}`
  ).map(({ id }) => id)
