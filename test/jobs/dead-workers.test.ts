// What dead workers leave in the queue. The tests write it into the tables, so no process is needed.

import { beforeEach, describe, expect, test } from 'bun:test'
import { openDb } from '../../db/client.ts'
import { addJob } from '../../db/jobs.ts'
import { hasDeadWorkers, recordWorker, unlockJobsOfDeadWorkers } from '../../db/queries/processes.ts'
import { createDatabase } from '../support/postgres.ts'
import { afterTests, shared } from '../support/shared.ts'

const KEY = 'track_blocks:Ethereum'
const MORE_THAN_A_JOBS_TRIES = 30

const database = await shared(createDatabase({ withNetworks: true }))
const { sql } = database
const db = openDb({ url: database.workerUrl, maxConnections: 2, applicationName: 'alive' })
afterTests(() => db.close({ timeoutSeconds: 2 }))

beforeEach(async () => {
  await sql`delete from graphile_worker._private_jobs`
})

const keepFollower = () => addJob(db, 'track_blocks', { network: 'Ethereum' }, { key: KEY, whenKeyed: 'keep' })

/** Takes all jobs for a worker, as the queue does. */
const take = async (pool: string, applicationName = 'gone') => {
  await recordWorker(db, { id: pool, applicationName })
  await sql`
    update graphile_worker._private_jobs set locked_by = ${pool}, locked_at = now(), attempts = attempts + 1
    where is_available and run_at <= now()`
}

const jobs = () => sql<
  { key: string | null; held: string | null; available: boolean; attempts: number; due: boolean }[]
>`
  select key, locked_by as held, is_available as available, attempts, run_at <= now() as due
  from graphile_worker._private_jobs order by id`

test('a job survives any number of deaths of its workers', async () => {
  await keepFollower()
  for (let death = 0; death < MORE_THAN_A_JOBS_TRIES; death += 1) {
    await take(`pool-${death}`)
    expect(await unlockJobsOfDeadWorkers(db)).toBe(1)
  }
  expect([...(await jobs())]).toEqual([{ key: KEY, held: null, available: true, attempts: 0, due: true }])
})

test("a dead worker's job that was replaced meanwhile is deleted, and only the newer one runs", async () => {
  await keepFollower()
  await take('pool-replaced')
  await addJob(db, 'track_blocks', { network: 'Ethereum' }, { key: KEY })
  expect((await jobs()).length).toBe(2)
  await unlockJobsOfDeadWorkers(db)
  expect([...(await jobs())]).toEqual([{ key: KEY, held: null, available: true, attempts: 0, due: true }])
})

test('a living worker keeps its jobs and its registration', async () => {
  await keepFollower()
  await take('pool-alive', 'alive')
  expect(await unlockJobsOfDeadWorkers(db)).toBe(0)
  await keepFollower()
  expect([...(await jobs())]).toEqual([{ key: KEY, held: 'pool-alive', available: false, attempts: 1, due: true }])
  expect((await sql`select id from workers`).map(({ id }) => id)).toEqual(['pool-alive'])
})

describe('a worker that has connections, and is silent', () => {
  const silenceFor = (seconds: number) => sql`
    update workers set seen_at = now() - make_interval(secs => ${seconds}) where id = 'pool-silent'`

  test('keeps its jobs for ten seconds, and loses them after that', async () => {
    await keepFollower()
    await take('pool-silent', 'alive')
    await silenceFor(9)
    expect([await hasDeadWorkers(db), await unlockJobsOfDeadWorkers(db)]).toEqual([false, 0])
    await silenceFor(11)
    expect([await hasDeadWorkers(db), await unlockJobsOfDeadWorkers(db)]).toEqual([true, 1])
    expect([...(await jobs())]).toEqual([{ key: KEY, held: null, available: true, attempts: 0, due: true }])
    expect(await hasDeadWorkers(db)).toBe(false)
  })

  test('learns that others took it for dead, and lives again', async () => {
    await take('pool-silent', 'alive')
    const row = { id: 'pool-silent', applicationName: 'alive' }
    expect(await recordWorker(db, row)).toEqual({ isNew: false })
    await silenceFor(11)
    await unlockJobsOfDeadWorkers(db)
    expect(await recordWorker(db, row)).toEqual({ isNew: true })
    expect(await hasDeadWorkers(db)).toBe(false)
  })
})

test('a follower that failed for long or was given up is due at once when its job is ensured', async () => {
  await keepFollower()
  const failed = { last_error: 'Ethereum is not served by this deployment.', run_at: new Date(Date.now() + 86_400_000) }
  for (const attempts of [12, 25]) {
    await sql`update graphile_worker._private_jobs set ${sql({ ...failed, attempts })}`
    await keepFollower()
    expect([...(await jobs())]).toEqual([{ key: KEY, held: null, available: true, attempts: 0, due: true }])
  }
})
