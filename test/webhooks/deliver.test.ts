// Deliveries by a real worker to receivers on loopback, which the operator has listed.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { addJob } from '../../db/jobs.ts'
import { secondsUntilDue } from '../../db/queries/webhook-deliveries.ts'
import { endpointsWithNews, endpointsWithWork } from '../../db/queries/webhooks.ts'
import type { WebhookOrder } from '../../db/words.ts'
import { changeEndpoint, removeEndpoint, rotateSecret } from '../../src/events/webhooks/change.ts'
import { createEndpoint } from '../../src/events/webhooks/create.ts'
import {
  type Leased,
  numberNews,
  recordAndLease,
  recordOutcomes,
  sendLeased,
} from '../../src/events/webhooks/deliver.ts'
import { createDeliverers } from '../../src/events/webhooks/deliverers.ts'
import { listDeliveries, replay, sendTest } from '../../src/events/webhooks/deliveries.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerCtx, type WorkerHere } from '../support/worker-here.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const LISTED = { OUTGOING_ALLOWED_HOSTS: '127.0.0.0/8' }

let service: Service
let worker: WorkerHere | null = null
/** Of a worker without a queue. */
let workerCtx: WorkerCtx
let sql: Sql
const receivers: Receiver[] = []

beforeAll(async () => {
  service = await startService({ variables: LISTED })
  sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
  const variables = { ...service.variables, IDENTITY_KEY: '', DATABASE_URL: service.database.workerUrl }
  workerCtx = await createWorkerCtx({ config: readConfig(variables), process: 'test' })
})
afterEach(async () => {
  await worker?.stop()
  worker = null
  await sql`delete from webhook_endpoints`
  for (const receiver of receivers.splice(0)) await receiver.close()
})
afterAll(async () => {
  await sql.end()
  await workerCtx.close({ timeoutSeconds: 2 })
  await service.close()
})

const startWorker = async () => {
  worker = await startWorkerHere(service)
}

/** A receiver with its endpoint. */
const endpoint = async (
  of: { readonly eventTypes?: readonly string[]; readonly email?: string; readonly order?: WebhookOrder } = {},
) => {
  const receiver = await startReceiver()
  receivers.push(receiver)
  const { eventTypes = [], email = null, order = 'wallet' } = of
  const { projectId } = service.project
  const actor = 'operator'
  const made = await createEndpoint(service.ctx, { projectId, actor, url: receiver.url, eventTypes, email, order })
  receiver.trust(made.secret)
  return { ...made, receiver, named: { projectId, actor, id: made.id } }
}

/** Adds events together: of events that come while eight requests are under way, no deliveries are made yet. */
const happen = async (
  ...events: readonly { readonly type?: string; readonly wallet?: string; readonly n: number }[]
) => {
  const rows = events.map(({ type = 'transaction.updated', wallet = null, n }) => {
    const data = wallet === null ? { n } : { network: 'Ethereum', wallet_address: wallet, n }
    return { project_id: service.project.projectId, type, data: sql.json(data) }
  })
  await sql`insert into events ${sql(rows)}`
}

const numbers = (receiver: Receiver) => receiver.received.map(({ payload }) => payload.data.n)

/** Waits until a row is as it should be. */
const eventually = async <Row>(read: () => Promise<Row>, is: (row: Row) => boolean): Promise<Row> => {
  for (;;) {
    const row = await read()
    if (is(row)) return row
    await sleep(20)
  }
}
/** Leases what is due, as a deliverer does that has nothing to record. */
const leaseDue = async (
  ctx: WorkerCtx,
  { endpointId, atOnce }: { readonly endpointId: string; readonly atOnce: number },
): Promise<readonly Leased[]> => {
  const all: Leased[] = []
  for (;;) {
    const isMore = await numberNews(ctx, endpointId)
    const looked = await recordAndLease(ctx, { endpointId, outcomes: [], atOnce: atOnce - all.length })
    all.push(...looked.leased)
    if (all.length === atOnce || !(isMore || looked.hasMore)) return all
  }
}
/** Until a worker listens. The API in this process does so only while somebody waits for events there. */
const listens = () =>
  eventually(
    () =>
      sql`select from pg_stat_activity where datname = current_database() and query ilike 'listen strongroom_events%'`,
    (rows) => rows.length > 0,
  )
const deliveriesOf = (id: string) => sql`
  select state, attempts, status, failure, excerpt, lane, next_at - now() as pause
  from webhook_deliveries where endpoint_id = ${id} order by number`
const endpointRow = async (id: string) => (await sql`select * from webhook_endpoints where id = ${id}`)[0]
const settled = (id: string, count: number) =>
  eventually(
    () => deliveriesOf(id),
    (rows) => rows.length === count && rows.every(({ state }) => state === 'delivered'),
  )

describe('an event', () => {
  test('is sent once, signed, with its type and time, and is then delivered', async () => {
    const { id, receiver } = await endpoint()
    await startWorker()
    await happen({ n: 1 })
    const [first] = await receiver.until(1)
    expect(first?.payload).toMatchObject({ type: 'transaction.updated', data: { n: 1 } })
    expect(Date.parse(first?.payload.created_at)).toBeGreaterThan(Date.now() - 600_000)
    const [event] = await sql`select number from events order by id desc limit 1`
    const { id: number, created_at } = first?.payload ?? {}
    const webhookId = `${service.project.projectId}-${number}-${Date.parse(created_at)}`
    expect([first?.id, number]).toEqual([webhookId, event?.number])
    await settled(id, 1)
    expect([receiver.received.length, receiver.refused]).toEqual([1, []])
  })

  longTest('is sent at the notification, not when the reconciler finds it', async () => {
    const { receiver } = await endpoint()
    // The reconciler reads this table before it looks for webhooks.
    await sql.begin(async (holding) => {
      await holding`lock table backfills in access exclusive mode`
      await startWorker()
      await listens()
      // Whoever begins to listen looks again for a second, and would find it without a notification.
      await sleep(1_500)
      await happen({ n: 1 })
      await Promise.race([receiver.until(1), sleep(20_000, undefined, { ref: false })])
      expect(numbers(receiver)).toEqual([1])
    })
  })

  test('goes only to endpoints of its project that want its type', async () => {
    const all = await endpoint()
    const some = await endpoint({ eventTypes: ['wallet.created'] })
    await startWorker()
    await happen({ n: 1 }, { n: 2, type: 'wallet.created' }, { n: 3 })
    await all.receiver.until(3)
    await settled(some.id, 1)
    expect(numbers(some.receiver)).toEqual([2])
    const other = randomUUID()
    await sql`insert into projects (id, name) values (${other}, 'Other')`
    await sql`insert into events (project_id, type, data) values (${other}, 'wallet.created', '{}')`
    await happen({ n: 4, type: 'wallet.created' })
    await settled(some.id, 2)
    expect(numbers(some.receiver)).toEqual([2, 4])
  })

  test('from before the endpoint is not sent', async () => {
    await happen({ n: 1 })
    const { receiver } = await endpoint()
    await startWorker()
    await happen({ n: 2 })
    await receiver.until(1)
    expect(numbers(receiver)).toEqual([2])
  })
})

test('an event that has the number of one from before a restore has another webhook-id', async () => {
  const { id } = await endpoint()
  const next = async () => {
    await happen({ n: 1 })
    const [leased] = await leaseDue(workerCtx, { endpointId: id, atOnce: 1 })
    return leased
  }
  const lost = await next()
  const number = String(lost?.delivery.number)
  await sql`delete from webhook_deliveries where endpoint_id = ${id}`
  await sql`delete from events where project_id = ${service.project.projectId} and number = ${number}`
  await sql`update event_counters set last_number = ${number}::bigint - 1 where project_id = ${service.project.projectId}`
  await sql`update webhook_endpoints set cursor = ${number}::bigint - 1 where id = ${id}`
  const later = await next()
  expect(String(later?.delivery.number)).toBe(number)
  expect(later?.message.id).not.toBe(String(lost?.message.id))
})

describe('the order', () => {
  longTest('of one wallet is kept while its first event fails, and other wallets are not held up', async () => {
    const [held, free] = [randomUUID(), randomUUID()]
    const { id, receiver } = await endpoint()
    receiver.answer(({ payload }, response) => response.writeHead(payload.data.n === 1 ? 500 : 204).end('busy'))
    await startWorker()
    await happen(
      { n: 1, wallet: held },
      { n: 2, wallet: held },
      { n: 3, wallet: free },
      { n: 4 },
      { n: 5, wallet: free },
    )
    await eventually(
      () => deliveriesOf(id),
      (rows) => rows.filter(({ state }) => state === 'delivered').length === 3,
    )
    expect(numbers(receiver).toSorted()).toEqual([1, 3, 4, 5])
    const [first, second] = await deliveriesOf(id)
    expect(first).toMatchObject({ state: 'waiting', attempts: 1, status: 500, failure: 'status', excerpt: 'busy' })
    expect(second).toMatchObject({ state: 'waiting', attempts: 0 })

    receiver.answer((_, response) => response.writeHead(204).end())
    await sql`update webhook_deliveries set next_at = now() where next_at is not null`
    await happen({ n: 6, wallet: held })
    await settled(id, 6)
    expect(numbers(receiver).slice(4)).toEqual([1, 2, 6])
    const ids = receiver.received.filter(({ payload }) => payload.data.n === 1).map((each) => each.id)
    expect([ids.length, new Set(ids).size]).toEqual([2, 1])
  })
})

describe('what is due next', () => {
  const taken = { failure: null, status: 204, excerpt: null }
  const refused = { failure: 'status', status: 500, excerpt: null } as const
  const numbersOf = (leased: readonly Leased[]) => leased.map(({ message }) => JSON.parse(message.body).data.n)

  test('is leased in the transaction that records what was taken before it', async () => {
    const { id } = await endpoint()
    const [busy, failing] = [randomUUID(), randomUUID()]
    await happen({ n: 1, wallet: busy }, { n: 2, wallet: busy }, { n: 3, wallet: busy }, { n: 4, wallet: failing })
    await happen({ n: 5, wallet: failing })
    const first = await leaseDue(workerCtx, { endpointId: id, atOnce: 8 })
    expect(numbersOf(first).toSorted()).toEqual([1, 4])
    const [one, four] = first.toSorted((a, b) => Number(a.delivery.number) - Number(b.delivery.number))
    if (one === undefined || four === undefined) throw new Error('nothing is due')
    const step = async (outcomes: Parameters<typeof recordAndLease>[1]['outcomes']) =>
      (await recordAndLease(workerCtx, { endpointId: id, outcomes, atOnce: 8 })).leased
    const [two] = await step([{ ...one, answer: taken }])
    expect(two?.message.body).toContain('"n":2')
    if (two === undefined) throw new Error('nothing is due')
    // One of them was refused: its wallet waits, and the other one goes on.
    expect(
      numbersOf(
        await step([
          { ...two, answer: taken },
          { ...four, answer: refused },
        ]),
      ),
    ).toEqual([3])
    expect((await deliveriesOf(id)).map(({ state, attempts }) => [state, attempts])).toEqual([
      ['delivered', 1],
      ['delivered', 1],
      ['waiting', 0],
      ['waiting', 1],
      ['waiting', 0],
    ])
    expect(await endpointRow(id)).toMatchObject({ failures: 1 })
  })

  test('is recorded, and nothing more leased, for a webhook that was disabled or forged meanwhile', async () => {
    for (const change of [{ state: 'disabled', disabled_at: new Date() }, { url: 'http://127.0.0.1/thief' }]) {
      const { id } = await endpoint()
      const wallet = randomUUID()
      await happen({ n: 1, wallet }, { n: 2, wallet })
      const leased = await leaseDue(workerCtx, { endpointId: id, atOnce: 8 })
      await sql`update webhook_endpoints set ${sql(change)} where id = ${id}`
      const outcomes = leased.map((each) => ({ ...each, answer: taken }))
      expect((await recordAndLease(workerCtx, { endpointId: id, outcomes, atOnce: 8 })).leased).toEqual([])
      expect((await deliveriesOf(id)).map(({ state }) => state)).toEqual(['delivered', 'waiting'])
    }
  })

  test('is found although it happened while as many requests as may be were under way', async () => {
    const { id, receiver } = await endpoint()
    const open: ServerResponse[] = []
    receiver.answer((_, response) => void open.push(response))
    // Without a worker nobody but this rings.
    const deliverers = createDeliverers(workerCtx)
    await happen(...Array.from({ length: 8 }, (_, n) => ({ n, wallet: randomUUID() })))
    deliverers.wake(id)
    await receiver.until(8)
    await happen({ n: 8, wallet: randomUUID() })
    deliverers.wake(id)
    receiver.answer((_, response) => response.writeHead(204).end())
    for (const response of open) response.writeHead(204).end()
    await settled(id, 9)
    await deliverers.stop()
    expect(numbers(receiver).at(-1)).toBe(8)
  })
})

describe('without an order', () => {
  test('eight events of one wallet are under way at once, and one that fails holds up no other', async () => {
    const { id, receiver } = await endpoint({ order: 'none' })
    const open: ServerResponse[] = []
    receiver.answer((_, response) => void open.push(response))
    await startWorker()
    const wallet = randomUUID()
    await happen(...Array.from({ length: 12 }, (_, n) => ({ n, wallet })))
    await receiver.until(8)
    expect(await deliveriesOf(id)).toMatchObject(Array.from({ length: 12 }, () => ({ state: 'waiting', attempts: 0 })))
    expect(numbers(receiver).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    receiver.answer((_, response) => response.writeHead(204).end())
    for (const [index, response] of open.splice(0).entries()) response.writeHead(index === 0 ? 500 : 204).end()
    await eventually(
      () => deliveriesOf(id),
      (rows) => rows.filter(({ state }) => state === 'delivered').length === 11,
    )
    const [failed] = (await deliveriesOf(id)).filter(({ state }) => state === 'waiting')
    expect(failed).toMatchObject({ attempts: 1, status: 500 })
    expect(receiver.received).toHaveLength(12)
  })

  const due = async (endpointId: string) =>
    (await leaseDue(workerCtx, { endpointId, atOnce: 8 })).map(({ message }) => JSON.parse(message.body).data.n)

  longTest('and then with one, or the other way, what waits follows the new one', async () => {
    const wallet = randomUUID()
    const events = [1, 2, 3].map((n) => ({ n, wallet }))
    const ordered = await endpoint()
    const unordered = await endpoint({ order: 'none' })
    await happen(...events)
    // What is under way at the change is not sent twice.
    expect(await due(ordered.id)).toEqual([1])
    await changeEndpoint(service.ctx, { ...ordered.named, order: 'none' })
    expect((await due(ordered.id)).toSorted()).toEqual([2, 3])

    expect(await leaseDue(workerCtx, { endpointId: unordered.id, atOnce: 1 })).toHaveLength(1)
    await changeEndpoint(service.ctx, { ...unordered.named, order: 'wallet' })
    expect(await due(unordered.id)).toEqual([])
    await sql`update webhook_deliveries set leased_until = null where endpoint_id = ${unordered.id}`
    expect(await due(unordered.id)).toEqual([1])
  })

  longTest('a replay sends all at once, and with one again in order', async () => {
    const wallet = randomUUID()
    const { id, named } = await endpoint({ order: 'none' })
    const [{ last } = { last: 0 }] = await sql`select coalesce(max(number), 0)::int as last from events`
    await happen(...[1, 2, 3].map((n) => ({ n, wallet })))
    const again = () => replay(service.ctx, { ...named, replayed: { what: 'after', number: BigInt(last) } })
    const deliver = async () => {
      const leased = await leaseDue(workerCtx, { endpointId: id, atOnce: 8 })
      const answer = { failure: null, status: 204, excerpt: null }
      await recordOutcomes(
        workerCtx,
        leased.map((each) => ({ ...each, answer })),
      )
      return leased.length
    }
    expect(await deliver()).toBe(3)
    expect(await again()).toBe(3)
    expect(await deliver()).toBe(3)
    await changeEndpoint(service.ctx, { ...named, order: 'wallet' })
    expect(await again()).toBe(3)
    for (const count of [1, 1, 1, 0]) expect(await deliver()).toBe(count)
  })
})

describe('a receiver that is down', () => {
  longTest('gets at most eight requests at once, then one, and costs another endpoint nothing', async () => {
    const [down, up] = [await endpoint(), await endpoint()]
    const open: ServerResponse[] = []
    down.receiver.answer((_, response) => void open.push(response))
    await startWorker()
    await happen(...Array.from({ length: 20 }, (_, n) => ({ n, wallet: randomUUID() })))
    await settled(up.id, 20)
    await down.receiver.until(8)
    // All of the other's events are delivered while these hang.
    expect([up.receiver.received.length, down.receiver.received.length, open.length]).toEqual([20, 8, 8])
    await down.receiver.close()
    await eventually(
      () => endpointRow(down.id),
      (row) => row?.failures >= 20,
    )
    expect(await endpointRow(down.id)).toMatchObject({ state: 'enabled', last_failure: 'connection_failed' })

    // From now on one at a time. With another URL what waits is due at once.
    const hanging = await startReceiver((_, response) => void open.push(response))
    receivers.push(hanging)
    hanging.trust(down.secret)
    const later = async () => {
      const [row] = await sql`
        select count(*)::int as later from webhook_deliveries
        where endpoint_id = ${down.id} and state = 'waiting' and next_at > now()`
      return row?.later
    }
    await sql`update webhook_deliveries set next_at = now() + interval '1 hour' where endpoint_id = ${down.id} and next_at is not null`
    await changeEndpoint(service.ctx, { ...down.named, url: hanging.url })
    expect(await later()).toBe(0)
    await hanging.until(1)
    await happen({ n: 99, wallet: randomUUID() })
    await settled(up.id, 21)
    const [{ leased } = { leased: 0 }] = await sql`
      select count(*)::int as leased from webhook_deliveries where endpoint_id = ${down.id} and leased_until > now()`
    expect([hanging.received.length, leased]).toEqual([1, 1])

    // The first success makes all that waits due at once.
    hanging.answer((_, response) => response.writeHead(200).end())
    open.at(-1)?.writeHead(200).end()
    await settled(down.id, 21)
    expect(await endpointRow(down.id)).toMatchObject({ failures: 0 })
  })

  longTest('keeps no place that others need, and has its turn with those that are down too', async () => {
    const [down, alsoDown, up] = [await endpoint(), await endpoint(), await endpoint()]
    for (const { receiver } of [down, alsoDown]) receiver.answer(() => {})
    const deliverers = createDeliverers(workerCtx, { quick: 1, slow: 1 })
    await happen({ n: 1 })
    for (const { id } of [down, alsoDown, up]) deliverers.wake(id)
    await up.receiver.until(1)
    expect([down.receiver.received.length, alsoDown.receiver.received.length]).toEqual([1, 1])
    // Neither of them has ended.
    for (const { id } of [down, alsoDown]) expect(await deliveriesOf(id)).toMatchObject([{ attempts: 0 }])
    for (const { receiver } of [down, alsoDown]) await receiver.close()
    await deliverers.stop()
    for (const { id } of [down, alsoDown]) expect(await deliveriesOf(id)).toMatchObject([{ attempts: 1 }])
  })

  longTest('with 500 for hours is tried again after pauses that grow, and then gets the event once', async () => {
    const { id, receiver } = await endpoint()
    receiver.answer((_, response) => response.writeHead(500).end())
    await startWorker()
    await happen({ n: 1 })
    const pauses: number[] = []
    for (let attempts = 1; attempts <= 10; attempts += 1) {
      const [row] = await eventually(
        () => sql`select attempts, extract(epoch from next_at - now())::float as pause
          from webhook_deliveries where endpoint_id = ${id}`,
        ([each]) => each?.attempts === attempts,
      )
      pauses.push(row?.pause)
      await sql`update webhook_deliveries set next_at = now() where next_at is not null`
      await addJob(service.ctx.db, 'deliver_webhooks', { endpointId: id })
    }
    const usual = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800]
    // A tenth up or down, and what passed since.
    for (const [index, pause] of pauses.entries()) {
      expect(pause).toBeLessThanOrEqual((usual[index] ?? 0) * 1.1)
      if (index > 1) expect(pause).toBeGreaterThan((usual[index] ?? 0) * 0.5)
    }
    const refused = receiver.received.length
    receiver.answer((_, response) => response.writeHead(204).end())
    await sql`update webhook_deliveries set next_at = now() where next_at is not null`
    await addJob(service.ctx.db, 'deliver_webhooks', { endpointId: id })
    await settled(id, 1)
    expect([receiver.received.length - refused, new Set(receiver.received.map((each) => each.id)).size]).toEqual([1, 1])
  })

  test('is disabled after three days without a success, with a mail; enabled again it gets what it missed', async () => {
    const { id, receiver, named } = await endpoint({ email: 'ops@example.com' })
    receiver.answer((_, response) => response.writeHead(500).end())
    await startWorker()
    await happen({ n: 1 })
    await eventually(
      () => deliveriesOf(id),
      ([row]) => row?.attempts === 1,
    )
    expect((await endpointRow(id))?.state).toBe('enabled')
    await sql`
      update webhook_deliveries set next_at = now(), first_tried_at = now() - interval '72 hours'
      where endpoint_id = ${id} and next_at is not null`
    await happen({ n: 2 })
    await eventually(
      () => endpointRow(id),
      (row) => row?.state === 'disabled',
    )
    const row = await endpointRow(id)
    expect(row?.disabled_why).toMatch(/^It took nothing since .*Z: it answered with status 500\.$/)
    const [mail] = await sql`select recipient, subject from mails order by created_at desc limit 1`
    expect(mail).toEqual({ recipient: 'ops@example.com', subject: 'A webhook was disabled' })
    const [audit] = await sql`select actor, action, subject from audit order by id desc limit 1`
    expect(audit).toEqual({ actor: 'system', action: 'webhook_given_up', subject: id })

    const count = receiver.received.length
    await happen({ n: 3 })
    receiver.answer((_, response) => response.writeHead(204).end())
    await changeEndpoint(service.ctx, { ...named, enabled: true })
    await settled(id, 3)
    expect(numbers(receiver).slice(count)).toEqual([1, 2, 3])
  })

  test('and is enabled again while a request to it is under way, has three days again', async () => {
    const { id, named } = await endpoint()
    await happen({ n: 1 })
    await leaseDue(workerCtx, { endpointId: id, atOnce: 1 })
    await sql`
      update webhook_deliveries set leased_until = null, first_tried_at = now() - interval '72 hours' where endpoint_id = ${id}`
    const [leased] = await leaseDue(workerCtx, { endpointId: id, atOnce: 1 })
    if (leased === undefined) throw new Error('nothing is due')
    for (const enabled of [false, true]) await changeEndpoint(service.ctx, { ...named, enabled })
    await recordOutcomes(workerCtx, [{ ...leased, answer: { failure: 'timed_out', status: null, excerpt: null } }])
    expect((await endpointRow(id))?.state).toBe('enabled')
    expect(await deliveriesOf(id)).toMatchObject([{ state: 'waiting', attempts: 1, failure: 'timed_out' }])
  })

  longTest('for one event only, loses that event after three days, and gets it again by a replay', async () => {
    const { id, receiver, named } = await endpoint()
    const wallet = randomUUID()
    receiver.answer(({ payload }, response) => response.writeHead(payload.data.n === 1 ? 500 : 204).end())
    await startWorker()
    await happen({ n: 1, wallet }, { n: 2 })
    await eventually(
      () => deliveriesOf(id),
      ([first, second]) => first?.attempts === 1 && second?.state === 'delivered',
    )
    await sql`
      update webhook_deliveries set next_at = now(), first_tried_at = now() - interval '72 hours'
      where endpoint_id = ${id} and state = 'waiting' and next_at is not null`
    await happen({ n: 3, wallet })
    await eventually(
      () => deliveriesOf(id),
      ([first, , third]) => first?.state === 'failed' && third?.state === 'delivered',
    )
    expect((await endpointRow(id))?.state).toBe('enabled')
    receiver.answer((_, response) => response.writeHead(204).end())
    expect(await replay(service.ctx, { ...named, replayed: { what: 'failed' } })).toBe(1)
    await settled(id, 3)
    expect(numbers(receiver).at(-1)).toBe(1)
  })
})

test('a receiver that answers 410 gets nothing more: its webhook is disabled, with a mail, and loses nothing', async () => {
  const { id, receiver, named } = await endpoint({ email: 'ops@example.com' })
  receiver.answer((_, response) => response.writeHead(410).end('gone'))
  await startWorker()
  await happen({ n: 1 })
  await eventually(
    () => endpointRow(id),
    (row) => row?.state === 'disabled',
  )
  const why = 'Its receiver wants no more events: it answered with status 410.'
  expect(await endpointRow(id)).toMatchObject({ disabled_why: why, failures: 1 })
  const [mail] = await sql`select recipient, subject from mails order by created_at desc limit 1`
  expect(mail).toEqual({ recipient: 'ops@example.com', subject: 'A webhook was disabled' })
  const [audit] = await sql`select actor, action, subject from audit order by id desc limit 1`
  expect(audit).toEqual({ actor: 'system', action: 'webhook_given_up', subject: id })
  expect(await deliveriesOf(id)).toMatchObject([{ state: 'waiting', status: 410 }])

  receiver.answer((_, response) => response.writeHead(204).end())
  await happen({ n: 2 })
  await changeEndpoint(service.ctx, { ...named, enabled: true })
  await settled(id, 2)
  expect(numbers(receiver)).toEqual([1, 1, 2])
})

describe('a receiver that asks for a pause', () => {
  /** Sends what is due, and records what is answered. */
  const send = async (endpointId: string) => {
    const leased = await leaseDue(workerCtx, { endpointId, atOnce: 8 })
    const answered = leased.map(async (each) => ({ ...each, answer: await sendLeased(workerCtx, each) }))
    await recordOutcomes(workerCtx, await Promise.all(answered))
    return leased.length
  }
  const pauseOf = async (id: string) => {
    const [row] = await sql<{ seconds: number | null }[]>`
      select extract(epoch from paused_until - now())::float as seconds from webhook_endpoints where id = ${id}`
    return row?.seconds ?? null
  }
  const asking = async (status: number, retryAfter: string) => {
    const made = await endpoint()
    made.receiver.answer((_, response) => response.writeHead(status, { 'Retry-After': retryAfter }).end())
    await happen({ n: 1, wallet: randomUUID() })
    expect(await send(made.id)).toBe(1)
    return made
  }

  const asked = [
    [429, 'in seconds', () => '3600'],
    [503, 'in seconds', () => '3600'],
    [413, 'in seconds', () => '3600'],
    [503, 'as a date', () => new Date(Date.now() + 3_600_000).toUTCString()],
  ] as const

  test.each(someOf<(typeof asked)[number]>(asked, 3))(
    'by %d and Retry-After %s gets nothing until then, of any wallet',
    async (status, _, retryAfter) => {
      const { id } = await asking(status, retryAfter())
      await happen({ n: 2, wallet: randomUUID() })
      expect(await send(id)).toBe(0)
      const seconds = (await pauseOf(id)) ?? 0
      expect(seconds).toBeGreaterThan(3_500)
      expect(seconds).toBeLessThanOrEqual(3_600)
      // Somebody reminds of it then, and not before.
      expect(await secondsUntilDue(workerCtx.db, id)).toBeGreaterThan(3_500)
      for (const find of [
        endpointsWithWork(workerCtx.db, 10),
        endpointsWithNews(workerCtx.db, { failuresMax: 5, limit: 10 }),
      ])
        expect(await find).toEqual([])
      const { projectId } = service.project
      const shown = await listDeliveries(service.ctx, { projectId, endpointId: id, state: null, limit: 10, offset: 0 })
      for (const { nextAt } of shown) expect(Number(nextAt)).toBeGreaterThan(Date.now() + 3_500_000)
      await sql`update webhook_endpoints set paused_until = now() where id = ${id}`
      await sql`update webhook_deliveries set next_at = now() where endpoint_id = ${id}`
      expect(await send(id)).toBe(2)
    },
  )

  test('of a year, gets the next request after eight hours', async () => {
    const { id } = await asking(503, String(365 * 86_400))
    expect(await pauseOf(id)).toBeGreaterThan(28_700)
    expect(await pauseOf(id)).toBeLessThanOrEqual(28_800)
  })

  test.each(someOf(['0', '1', 'Fri, 31 Dec 1999 23:59:59 GMT'], 3))(
    'shorter than our own (%s), gets the delivery again after ours',
    async (retryAfter) => {
      const { id } = await asking(503, retryAfter)
      const [row] = await deliveriesOf(id)
      const seconds =
        await sql`select extract(epoch from next_at - now())::float as s from webhook_deliveries where endpoint_id = ${id}`
      expect([row?.attempts, seconds[0]?.s > 3]).toEqual([1, true])
    },
  )

  test('gets a test all the same, and if it takes that, what waits', async () => {
    const { id, receiver, named } = await asking(503, '3600')
    await happen({ n: 2, wallet: randomUUID() })
    await sendTest(service.ctx, named)
    expect(await send(id)).toBe(1)
    expect(await send(id)).toBe(0)
    receiver.answer((_, response) => response.writeHead(204).end())
    await sendTest(service.ctx, named)
    expect(await send(id)).toBe(1)
    expect(await pauseOf(id)).toBeNull()
    // With the test that it refused.
    expect(await send(id)).toBe(3)
    expect((await deliveriesOf(id)).every(({ state }) => state === 'delivered')).toBe(true)
  })

  test('and is enabled again, or gets another URL, gets what waits at once', async () => {
    const first = await asking(503, '3600')
    for (const enabled of [false, true]) await changeEndpoint(service.ctx, { ...first.named, enabled })
    expect(await send(first.id)).toBe(1)
    const second = await asking(503, '3600')
    await changeEndpoint(service.ctx, { ...second.named, url: `${second.receiver.url}/other` })
    expect(await send(second.id)).toBe(1)
  })

  longTest(
    'or is gone, decides nothing for the URL that its webhook has got meanwhile, or if it was enabled again',
    async () => {
      const answers = [
        { failure: 'status', status: 410, excerpt: null },
        { failure: 'status', status: 503, excerpt: null, retryAfterSeconds: 3_600 },
      ] as const
      for (const answer of answers) {
        for (const changes of [[{ url: 'http://127.0.0.1/other' }], [{ enabled: false }, { enabled: true }]]) {
          const { id, named } = await endpoint()
          await happen({ n: 1 })
          const leased = await leaseDue(workerCtx, { endpointId: id, atOnce: 8 })
          for (const change of changes) await changeEndpoint(service.ctx, { ...named, ...change })
          await recordOutcomes(
            workerCtx,
            leased.map((each) => ({ ...each, answer })),
          )
          expect(await endpointRow(id)).toMatchObject({ state: 'enabled', paused_until: null, failures: 1 })
          await removeEndpoint(service.ctx, named)
        }
      }
    },
  )
})

longTest('an event that is kept no longer ends its delivery, and holds up no other of its wallet', async () => {
  const { id, receiver } = await endpoint()
  const wallet = randomUUID()
  receiver.answer((_, response) => response.writeHead(500).end())
  await startWorker()
  await happen({ n: 1, wallet })
  await eventually(
    () => deliveriesOf(id),
    ([row]) => row?.attempts === 1,
  )
  await sql`delete from events`
  receiver.answer((_, response) => response.writeHead(204).end())
  await happen({ n: 2, wallet })
  await sql`update webhook_deliveries set next_at = now() where endpoint_id = ${id} and next_at is not null`
  await addJob(service.ctx.db, 'deliver_webhooks', { endpointId: id })
  await eventually(
    () => deliveriesOf(id),
    ([first, second]) => first?.state === 'failed' && second?.state === 'delivered',
  )
  expect(numbers(receiver)).toEqual([1, 2])
})

describe('a worker', () => {
  longTest('that is killed between sending and recording: another one sends the same webhook-id', async () => {
    const { id, receiver } = await endpoint()
    const killed = service.startWorker()
    receiver.answer(() => killed.kill('SIGKILL'))
    await happen({ n: 1 })
    await receiver.until(1)
    await killed.exited
    expect(await deliveriesOf(id)).toMatchObject([{ state: 'waiting', attempts: 0 }])
    receiver.answer((_, response) => response.writeHead(204).end())
    await sql`update webhook_deliveries set leased_until = now()`
    await startWorker()
    await settled(id, 1)
    expect(receiver.received.map((each) => each.id)).toEqual([
      receiver.received[0]?.id ?? '',
      receiver.received[0]?.id ?? '',
    ])
  })

  test('sends nothing where somebody else wrote the endpoint, and reports it', async () => {
    const { id, receiver, named } = await endpoint()
    const thief = await startReceiver()
    receivers.push(thief)
    await sql`update webhook_endpoints set url = ${thief.url} where id = ${id}`
    await startWorker()
    await happen({ n: 1 })
    const other = await endpoint()
    await happen({ n: 2 })
    await other.receiver.until(1)
    await worker?.stop()
    worker = null
    expect([thief.received, thief.refused, receiver.received]).toEqual([[], [], []])
    expect(await deliveriesOf(id)).toHaveLength(0)
    await expect(changeEndpoint(service.ctx, { ...named, email: 'a@example.com' })).rejects.toThrow(
      'changed in the database',
    )
    await removeEndpoint(service.ctx, named)
  })
})

test('what is due and cannot be sent now is not looked at again and again, but when more is due', async () => {
  const { id, named } = await endpoint()
  await happen({ n: 1, wallet: randomUUID() }, { n: 2, wallet: randomUUID() })
  const leased = await leaseDue(workerCtx, { endpointId: id, atOnce: 2 })
  // One of them is due now, and the other one in an hour.
  await sql`
    update webhook_deliveries set leased_until = null, next_at = now() + case when number = ${String(leased[0]?.delivery.number)}
      then '0' else '1 hour' end::interval where endpoint_id = ${id}`
  await changeEndpoint(service.ctx, { ...named, enabled: false })
  // Without a worker nobody runs the job that reminds.
  const deliverers = createDeliverers(workerCtx)
  deliverers.wake(id)
  const [job] = await eventually(
    () =>
      sql`select run_at > now() + '30 minutes'::interval as later from graphile_worker.jobs where key = ${`webhooks:${id}:later`}`,
    (rows) => rows.length > 0,
  )
  expect(job).toEqual({ later: true })
  await deliverers.stop()
})

test('a secret is rotated with an overlap, in which both sign', async () => {
  const { id, receiver, named } = await endpoint()
  await startWorker()
  const secret = await rotateSecret(service.ctx, { ...named, overlapSeconds: 3_600 })
  await happen({ n: 1 })
  await receiver.until(1)
  receiver.trust(secret)
  await happen({ n: 2 })
  await receiver.until(2)
  const last = await rotateSecret(service.ctx, { ...named, overlapSeconds: 0 })
  receiver.trust(last)
  await happen({ n: 3 })
  await settled(id, 3)
  expect(receiver.received.map(({ signatures }) => signatures)).toEqual([2, 2, 1])
  expect(receiver.refused).toEqual([])
})

longTest('a test message is sent past what waits', async () => {
  const { id, receiver, named } = await endpoint()
  receiver.answer(({ payload }, response) => response.writeHead(payload.type === 'webhook.test' ? 204 : 500).end())
  await startWorker()
  await happen({ n: 1 })
  await receiver.until(1)
  const deliveryId = await sendTest(service.ctx, named)
  const received = await receiver.until(2)
  expect(received[1]).toMatchObject({ id: deliveryId, payload: { type: 'webhook.test', data: { webhook_id: id } } })
})

test('a test message goes before all that waits, also where one request is sent at a time', async () => {
  const { id, named } = await endpoint()
  await sql`update webhook_endpoints set failures = 5 where id = ${id}`
  await happen({ n: 1, wallet: randomUUID() }, { n: 2, wallet: randomUUID() })
  const deliveryId = await sendTest(service.ctx, named)
  const leased = await leaseDue(workerCtx, { endpointId: id, atOnce: 8 })
  expect(leased.map(({ delivery }) => delivery.id)).toEqual([deliveryId])
})

test('an event is found behind any number of others that the endpoint does not want', async () => {
  const { id } = await endpoint({ eventTypes: ['wallet.created'] })
  await sql`
    insert into events (project_id, type, data)
    select ${service.project.projectId}, 'user.created', '{}' from generate_series(1, 1001)`
  await happen({ n: 1, type: 'wallet.created' })
  const leased = await leaseDue(workerCtx, { endpointId: id, atOnce: 8 })
  expect(leased.map(({ message }) => JSON.parse(message.body).data)).toEqual([{ n: 1 }])
})

test('events after one are replayed, also those of types that the endpoint did not want before', async () => {
  const { id, receiver, named } = await endpoint({ eventTypes: ['wallet.created'] })
  await startWorker()
  const [{ last } = { last: 0 }] = await sql`select coalesce(max(number), 0)::int as last from events`
  await happen({ n: 1, type: 'wallet.created' }, { n: 2 }, { n: 3, type: 'wallet.created' })
  await settled(id, 2)
  await changeEndpoint(service.ctx, { ...named, eventTypes: [] })
  expect(await replay(service.ctx, { ...named, replayed: { what: 'after', number: BigInt(last) } })).toBe(3)
  await receiver.until(5)
  expect(numbers(receiver)).toEqual([1, 3, 1, 2, 3])
})
