// The table of counts by itself: what the database counts, whoever changes a transaction, and what adding up leaves.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { type Db, openDb } from '../../db/client.ts'
import { addCounts, compactCounts } from '../../db/queries/counts.ts'
import { createLog } from '../../src/log.ts'
import { compact } from '../../src/metrics/compact.ts'
import { createTally } from '../../src/metrics/tally.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

const PROJECT = '00000000-0000-4000-8000-000000000001'
const KEYRING = '00000000-0000-4000-8000-000000000002'
const WALLET = '00000000-0000-4000-8000-000000000003'

let database: TestDatabase
let owner: Sql
let api: Sql
let worker: Sql
let db: Db
let other: Db

beforeAll(async () => {
  database = await createDatabase()
  owner = postgres(database.url, { max: 2, onnotice: () => {} })
  api = postgres(database.apiUrl, { max: 1 })
  worker = postgres(database.workerUrl, { max: 1 })
  db = openDb({ url: database.workerUrl, maxConnections: 4, applicationName: 'one' })
  other = openDb({ url: database.workerUrl, maxConnections: 4, applicationName: 'other' })
  await owner`insert into projects (id, name) values (${PROJECT}, 'P')`
  await owner`insert into keyrings (id, project_id, owner_id, kind, sealed) values (${KEYRING}, ${PROJECT}, 'o', 'seed', '')`
  await owner`insert into wallets (id, project_id, network, owner_id, name, address, control_mode, type, keyring_id, public_key)
    values (${WALLET}, ${PROJECT}, 'Base', 'o', 'W', '0xA', 'user', 'eoa', ${KEYRING}, '')`
  await owner`insert into signers (network, address) values ('Base', '0xA')`
})

beforeEach(async () => {
  await owner`truncate counts`
})

afterAll(async () => {
  await Promise.all([owner.end(), api.end(), worker.end()])
  await Promise.all([db.close({ timeoutSeconds: 2 }), other.close({ timeoutSeconds: 2 })])
  await database.close()
})

/** By name and whatever label there is beside the network. */
const totals = async (sql: Sql = owner): Promise<Record<string, number>> => {
  const rows = await sql<{ what: string; amount: number }[]>`
    select concat_ws(' ', name, labels->>'network', labels->>'kind', labels->>'code', labels->>'step') as what,
      sum(amount) as amount
    from counts group by what order by what`
  return Object.fromEntries(rows.map(({ what, amount }) => [what, amount]))
}

let nonce = 0

const insert = async (sql: Sql, row: Record<string, unknown> = {}): Promise<string> => {
  const id = crypto.randomUUID()
  nonce += 1
  await sql`insert into transactions ${sql({
    ...{ id, project_id: PROJECT, wallet_id: WALLET, network: 'Base', signer_address: '0xA', kind: 'send', nonce },
    ...{ value: '0', input: '0x', gas_limit: '21000', worst_cost: '0', rungs: 3 },
    ...row,
  })}`
  return id
}

const change = (sql: Sql, id: string, row: Record<string, unknown>) =>
  sql`update transactions set ${sql(row)} where id = ${id}`

describe('a transaction is counted', () => {
  test('when it is accepted, by what was asked for', async () => {
    await insert(api)
    await insert(api)
    await insert(api, { kind: 'mint' })
    expect(await totals()).toEqual({
      'transactions_accepted_total Base mint': 1,
      'transactions_accepted_total Base send': 2,
    })
  })

  test('at each step, once, however often the same is written', async () => {
    const id = await insert(api)
    const steps = [
      { broadcast_at: new Date() },
      { chosen: 1 },
      { chosen: 2 },
      { mined_block_hash: '0x1', mined_block_number: 5 },
      { mined_block_hash: null, mined_block_number: null },
      { mined_block_hash: '0x2', mined_block_number: 5 },
      { status: 'success', settled_at: new Date() },
      { final: true },
    ]
    for (const step of steps) {
      await change(worker, id, step)
      await change(worker, id, step)
      await change(worker, id, { updated_at: new Date() })
    }
    expect(await totals()).toEqual({
      'ladder_steps_total Base rung': 2,
      'transactions_accepted_total Base send': 1,
      'transactions_broadcast_total Base': 1,
      'transactions_mined_total Base': 2,
      'transactions_put_back_total Base': 1,
      'transactions_succeeded_total Base': 1,
    })
  })

  test('that goes from one block to another as put back and mined again', async () => {
    const id = await insert(api)
    await change(worker, id, { mined_block_hash: '0x1', broadcast_at: new Date() })
    await change(worker, id, { mined_block_hash: '0x2' })
    expect(await totals()).toMatchObject({
      'transactions_mined_total Base': 2,
      'transactions_put_back_total Base': 1,
    })
  })

  test('as failed only when that is final, by its code', async () => {
    const id = await insert(api)
    const failure = { status: 'failed', error_code: 'execution_reverted', error: 'It reverted.' }
    await change(worker, id, failure)
    await change(worker, id, { status: 'pending', error_code: null, error: null })
    await change(worker, id, { chosen: 3, given_up: 'expired' })
    expect(Object.keys(await totals())).not.toContain('transactions_failed_total Base execution_reverted')
    await change(worker, id, { ...failure, error_code: 'expired', final: true })
    expect(await totals()).toEqual({
      'ladder_steps_total Base cancel': 1,
      'transactions_accepted_total Base send': 1,
      'transactions_failed_total Base expired': 1,
    })
  })

  test('not where what happened is rolled back', async () => {
    const id = await insert(api)
    const before = await totals()
    const undone = owner.begin(async (tx) => {
      const inside = tx as unknown as Sql
      await insert(inside)
      await change(inside, id, { broadcast_at: new Date(), chosen: 1 })
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await totals()).toEqual(before)
  })
})

describe('adding up', () => {
  const ONE = { name: 'job_errors_total', labels: { task: 'one' } } as const
  const rows = async () => (await owner<{ n: number }[]>`select count(*)::int as n from counts`)[0]?.n ?? -1
  const sum = async (sql: Sql = owner) =>
    (await sql<{ n: number }[]>`select coalesce(sum(amount), 0) as n from counts`)[0]?.n

  test('leaves a row a series, and every total as it was', async () => {
    for (let each = 0; each < 10; each += 1) await insert(api, { kind: each % 2 === 0 ? 'send' : 'mint' })
    await addCounts(db, [{ name: 'job_duration_seconds', labels: { task: 'one' }, amount: 0.25 }])
    const before = await totals()
    await compact({ db })
    expect(await rows()).toBe(3)
    expect(await totals()).toEqual(before)
    await compact({ db })
    expect(await totals()).toEqual(before)
  })

  test('takes a bounded number of rows at a time, the oldest first', async () => {
    await owner`insert into counts (name, labels, amount) select 'x', '{}', amount from generate_series(1, 10) amount`
    expect(await compactCounts(db, { limit: 4 })).toBe(4)
    const left = await owner<{ amount: number }[]>`select amount from counts order by id`
    expect(left.map(({ amount }) => amount)).toEqual([5, 6, 7, 8, 9, 10, 1 + 2 + 3 + 4])
  })

  test('by several at once, while others count and read: nothing is counted twice, nothing is lost', async () => {
    const WRITES = 300
    let written = 0
    const reads: { readonly atLeast: number; readonly sum: number; readonly atMost: number }[] = []
    let isOver = false
    const writer = async () => {
      for (let each = 0; each < WRITES; each += 1) {
        await addCounts(
          db,
          [ONE, ONE, ONE].map((count) => ({ ...count, amount: 1 })),
        )
        written += 3
      }
    }
    const compactor = async (on: Db) => {
      while (!isOver) await compactCounts(on, { limit: 50 })
    }
    const reader = async () => {
      while (!isOver) {
        const atLeast = written
        // What is committed and not yet told to its writer may be in it.
        reads.push({ atLeast, sum: (await sum(api)) ?? -1, atMost: written + 6 })
      }
    }
    const others = [compactor(db), compactor(other), compactor(other), reader()]
    await Promise.all([writer(), writer()])
    isOver = true
    await Promise.all(others)
    expect(await sum()).toBe(2 * WRITES * 3)
    expect(reads.length).toBeGreaterThan(5)
    expect(reads.filter((read) => read.sum < read.atLeast || read.sum > read.atMost)).toEqual([])
    await compact({ db })
    expect([await rows(), await sum()]).toEqual([1, 2 * WRITES * 3])
  })

  test('that is broken off leaves everything as it was', async () => {
    await owner`insert into counts (name, labels, amount) select 'x', '{}', 1 from generate_series(1, 10)`
    const held = Promise.withResolvers<void>()
    const locked = Promise.withResolvers<void>()
    const holding = owner.begin(async (tx) => {
      await tx`select from counts for update`
      locked.resolve()
      await held.promise
    })
    await locked.promise
    const compacting = compactCounts(db, { limit: 100 }).then(
      () => 'done',
      () => 'broken off',
    )
    const waiting = () => owner`
      select pid from pg_stat_activity where datname = ${database.name} and wait_event_type = 'Lock' and application_name = 'one'`
    const deadline = Date.now() + 10_000
    while ((await waiting()).length === 0 && Date.now() < deadline) await Bun.sleep(5)
    // Nobody queues up behind it.
    expect(await compactCounts(other, { limit: 100 })).toBe(0)
    for (const { pid } of await waiting()) await owner`select pg_terminate_backend(${pid})`
    held.resolve()
    await holding
    expect(await compacting).toBe('broken off')
    expect([await rows(), await sum()]).toEqual([10, 10])
  })
})

describe('what a process counts by itself', () => {
  const log = createLog({ config: { logLevel: 'silent' }, process: 'test' })

  test('is added at each flush, once', async () => {
    const tally = createTally({ db, log })
    tally.add('job_errors_total', { task: 'one' })
    tally.add('job_errors_total', { task: 'one' })
    for (const seconds of [0.005, 0.0051, 1_000]) tally.observe('job_wait_seconds', { task: 'one' }, seconds)
    await Promise.all([tally.flush(), tally.flush()])
    await tally.flush()
    const found = await owner`select name, labels, amount from counts order by name, labels->>'le' nulls last`
    const wait = { name: 'job_wait_seconds' }
    expect([...found]).toEqual([
      { name: 'job_errors_total', labels: { task: 'one' }, amount: 2 },
      { ...wait, labels: { task: 'one', le: '+Inf' }, amount: 1 },
      { ...wait, labels: { task: 'one', le: '0.005' }, amount: 1 },
      { ...wait, labels: { task: 'one', le: '0.01' }, amount: 1 },
      { ...wait, labels: { task: 'one' }, amount: expect.closeTo(1_000.0101, 6) },
    ])
  })

  test('is kept while the database does not take it', async () => {
    const tally = createTally({ db, log })
    tally.add('job_errors_total', { task: 'one' })
    await owner`revoke insert on counts from strongroom_worker`
    await tally.flush()
    await owner`grant insert on counts to strongroom_worker`
    tally.add('job_errors_total', { task: 'one' })
    await tally.flush()
    expect((await owner`select amount from counts`).map(({ amount }) => amount)).toEqual([2])
  })
})

describe('the roles', () => {
  test('may add counts and change none; only the worker removes them, to add them up', async () => {
    const denied = (query: Promise<unknown>) =>
      expect(query.then(() => 'allowed')).rejects.toMatchObject({ code: '42501' })
    for (const sql of [api, worker]) {
      await denied(sql`update counts set amount = 0`)
      await denied(sql`truncate counts`)
    }
    await denied(api`delete from counts`)
  })

  test('of the API sees numbers of jobs and no job', async () => {
    await api`select public.add_strongroom_job('reconcile', '{"again":false}', null, null, now() - interval '1 minute', 1)`
    await api`select public.add_strongroom_job('reconcile', '{"again":false}', null, null, now() + interval '1 minute', 1)`
    await api`select public.add_strongroom_job('reconcile', '{"again":true}', null, null, now(), 1)`
    await owner`
      update graphile_worker._private_jobs set attempts = max_attempts, last_error = 'It failed.'
      where payload->>'again' = 'true'`
    // Another one of its key took its place while it ran: the queue marks such a job in the same way.
    await api`select public.add_strongroom_job('reconcile', '{"again":false}', 'once', 'replace', now(), 1)`
    await owner`update graphile_worker._private_jobs set attempts = max_attempts, key = null where key = 'once'`
    const [row] =
      await api`select task, ready::int, failed::int, oldest_ready_seconds as age from strongroom_job_numbers()`
    expect(row).toEqual({ task: 'reconcile', ready: 1, failed: 1, age: expect.closeTo(60, -1) })
    await expect(api`select from graphile_worker._private_jobs`.then(() => 'allowed')).rejects.toMatchObject({
      code: '42501',
    })
  })
})
