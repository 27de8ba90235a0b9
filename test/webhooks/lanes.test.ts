// Of each lane of an endpoint only the first delivery that waits has a time, or each one if it has no order, whatever
// happened before; and what is leased is what is due by a plain reading of all rows. Random walks over all that inserts
// and ends deliveries, in a real database.

import { expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { openDb, type Tx } from '../../db/client.ts'
import { numberEvents } from '../../db/queries/events.ts'
import {
  arrange,
  beginAnew,
  type DeliveryRow,
  endWithoutEvent,
  insertTest,
  leaseDeliveries,
  makeDue,
  markDelivered,
  markFailed,
  replayAfter,
  replayFailed,
  replayOne,
  secondsUntilDue,
  takeUpEvents,
} from '../../db/queries/webhook-deliveries.ts'
import { endPause, lockEndpointById } from '../../db/queries/webhooks.ts'
import { isLong, someOf } from '../support/long.ts'
import { createDatabase } from '../support/postgres.ts'
import { shared } from '../support/shared.ts'

const SEEDS = [1, 2, 3] as const
const STEPS = isLong ? 120 : 60
const AT_ONCE = 4

const open = async () => {
  const database = await createDatabase({ withNetworks: true })
  const sql = postgres(database.url, { max: 1, onnotice: () => {} })
  const db = openDb({ url: database.workerUrl, applicationName: 'test', maxConnections: 2 })
  const close = async () => {
    await db.close({ timeoutSeconds: 5 })
    await sql.end()
    await database.close()
  }
  return { sql, db, close }
}

const { sql, db } = await shared(open())

/** Numbers from 0 to 1, the same for the same seed. */
const randomOf = (seed: number) => () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return seed / 2_147_483_648
}

const newEndpoint = async () => {
  const [projectId, endpointId] = [randomUUID(), randomUUID()]
  await sql`insert into projects (id, name) values (${projectId}, 'Test')`
  await sql`insert into webhook_endpoints (id, project_id, url, event_types, sealed, cursor)
    values (${endpointId}, ${projectId}, 'https://hooks.invalid', '{transaction.updated,user.created}', '', 0)`
  return { projectId, endpointId }
}

/**
 * Where another one than the first that waits in its lane has a time although there is an order, or one has none that
 * should.
 */
const wrongLanes = (endpointId: string) => sql`
  select lane, number from (
    select lane, number, next_at,
      e.delivery_order = 'none' or row_number() over (partition by lane order by number, d.id) = 1 as is_free
    from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
    where endpoint_id = ${endpointId} and d.state = 'waiting'
  ) each where is_free = (next_at is null)`

/**
 * What may be sent: the first one of each lane, or each one if there is no order, if it is due and nobody sends it; in
 * a pause only tests.
 */
const dueByReadingAll = async (endpointId: string): Promise<readonly string[]> => {
  const rows = await sql<{ id: string }[]>`
    select id from (
      select distinct on (case when e.delivery_order = 'wallet' then lane else d.id::text end) d.*, e.paused_until from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
      where endpoint_id = ${endpointId} and d.state = 'waiting'
      order by case when e.delivery_order = 'wallet' then lane else d.id::text end, number, d.id
    ) first
    where (number is null or paused_until is null or paused_until <= now())
      and next_at <= now() and (leased_until is null or leased_until <= now()) order by number is not null, next_at, number, id`
  return rows.map(({ id }) => id)
}

const named = ({ id, endpointId, lane }: DeliveryRow) => ({ id, endpointId, lane })

const ended = { status: 200, failure: null, excerpt: null }
const takenOf = (row: DeliveryRow) => ({ endpointId: row.endpointId, rows: [{ ...named(row), ...ended }] })
const failed = { status: 500, failure: 'status', excerpt: '', endpointPauseSeconds: 0 }
const asked = { status: 503, endpointPauseSeconds: 1_000 }

const walk = async (seed: number): Promise<void> => {
  const { projectId, endpointId } = await newEndpoint()
  const random = randomOf(seed)
  const below = (count: number) => Math.floor(random() * count)
  let leased: DeliveryRow[] = []
  const takeOne = (): DeliveryRow | undefined => leased.splice(below(leased.length), 1)[0]
  const locked = <Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> =>
    db.transaction(async (tx) => {
      await lockEndpointById(tx, endpointId)
      return work(tx)
    })
  const ofOne = async (work: (tx: Tx, row: DeliveryRow) => Promise<unknown>): Promise<void> => {
    const row = takeOne()
    if (row !== undefined) await locked((tx) => work(tx, row))
  }
  const isStillLeased = async ({ id }: DeliveryRow): Promise<boolean> => {
    const [row] =
      await sql`select state = 'waiting' and leased_until > now() as is from webhook_deliveries where id = ${id}`
    return row?.is === true
  }

  const happen = async (): Promise<void> => {
    const rows = Array.from({ length: 1 + below(6) }, () => {
      const wallet = below(4)
      return wallet === 0
        ? { project_id: projectId, type: random() < 0.5 ? 'user.created' : 'project.changed', data: {} }
        : {
            project_id: projectId,
            type: 'transaction.updated',
            data: { network: 'Ethereum', wallet_address: String(wallet) },
          }
    })
    await sql`insert into events ${sql(rows)}`
    await numberEvents(db, { projectId, atMost: 1_000 })
    await locked((tx) => takeUpEvents(tx, { endpointId, waitingMax: 10_000 }))
  }
  const leaseSome = async (limit: number): Promise<readonly DeliveryRow[]> => {
    const input = { endpointId, atOnce: AT_ONCE, limit, leaseSeconds: 1_000 }
    const rows = await locked((tx) => leaseDeliveries(tx, input))
    for (const { delivery, event } of rows) expect(event?.number ?? null).toBe(delivery.number)
    return rows.map(({ delivery }) => delivery)
  }
  const lease = async (): Promise<void> => {
    const due = await dueByReadingAll(endpointId)
    const underWay = await sql`
      select from webhook_deliveries where endpoint_id = ${endpointId} and state = 'waiting' and leased_until > now()`
    const limit = 1 + below(AT_ONCE)
    const rows = await leaseSome(limit)
    const most = Math.max(0, Math.min(limit, AT_ONCE - underWay.count))
    expect(rows.map(({ id }) => id).toSorted()).toEqual(due.slice(0, most).toSorted())
    leased.push(...rows)
  }
  // Only the API may change it.
  const changeOrder = async (): Promise<void> => {
    await sql`update webhook_endpoints set delivery_order = ${random() < 0.5 ? 'wallet' : 'none'} where id = ${endpointId}`
    await locked((tx) => arrange(tx, endpointId))
  }
  const replayAny = async (): Promise<void> => {
    const rows = await sql<
      { id: string }[]
    >`select id from webhook_deliveries where endpoint_id = ${endpointId} order by number, id`
    const id = rows[below(rows.length)]?.id
    if (id !== undefined) expect(await locked((tx) => replayOne(tx, { endpointId, id }))).toBe(true)
  }
  const steps: readonly (readonly [share: number, () => Promise<unknown>])[] = [
    [6, happen],
    [8, lease],
    [8, () => ofOne((tx, row) => markDelivered(tx, takenOf(row)))],
    [3, () => ofOne((tx, row) => markFailed(tx, { ...named(row), ...failed, pauseSeconds: below(2) * 1_000 }))],
    [2, () => ofOne((tx, row) => markFailed(tx, { ...named(row), ...failed, pauseSeconds: null }))],
    [1, () => ofOne((tx, row) => markFailed(tx, { ...named(row), ...failed, ...asked, pauseSeconds: 1_000 }))],
    [2, () => locked((tx) => endPause(tx, endpointId))],
    [1, changeOrder],
    [1, () => ofOne((tx, row) => endWithoutEvent(tx, [row]))],
    [2, () => locked((tx) => makeDue(tx, endpointId))],
    [1, () => locked((tx) => beginAnew(tx, endpointId))],
    [2, replayAny],
    [1, () => locked((tx) => replayFailed(tx, endpointId))],
    [1, () => locked((tx) => replayAfter(tx, { endpointId, after: BigInt(below(20)), limit: 1 + below(10) }))],
    [1, () => locked((tx) => insertTest(tx, { id: randomUUID(), projectId, endpointId }))],
    // Its worker has died.
    [
      1,
      () =>
        sql`update webhook_deliveries set leased_until = now() where endpoint_id = ${endpointId} and leased_until is not null`,
    ],
  ]
  const all = steps.flatMap(([share, step]) => Array.from({ length: share }, () => step))
  for (let index = 0; index < STEPS; index += 1) {
    await all[below(all.length)]?.()
    expect([...(await wrongLanes(endpointId))]).toEqual([])
    const still = await Promise.all(leased.map(isStillLeased))
    leased = leased.filter((_, place) => still[place])
  }

  // All that waits can be sent, and nothing is left behind.
  await locked((tx) => endPause(tx, endpointId))
  await sql`update webhook_deliveries set leased_until = null where endpoint_id = ${endpointId}`
  for (;;) {
    const rows = await leaseSome(AT_ONCE)
    if (rows.length === 0) break
    for (const row of rows) await locked((tx) => markDelivered(tx, takenOf(row)))
  }
  const waiting = await sql`select from webhook_deliveries where endpoint_id = ${endpointId} and state = 'waiting'`
  expect([waiting.count, await secondsUntilDue(db, endpointId)]).toEqual([0, null])
}

for (const seed of someOf(SEEDS, 3))
  test(`of each lane only the first delivery that waits has a time, in a random walk (seed ${seed})`, () => walk(seed))
