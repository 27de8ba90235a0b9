// A worker in a test's own process does what a worker's process does when it loses its connections to the database.

import { expect, test } from 'bun:test'
import { addJob } from '../../db/jobs.ts'
import { startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { until } from '../support/until.ts'
import { startWorkerHere } from '../support/worker-here.ts'

const service = await shared(startService())
const { sql } = service.database
const worker = await startWorkerHere(service)
afterTests(worker.stop)

const waiting = async (): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from graphile_worker._private_jobs job
    join graphile_worker._private_tasks task on task.id = job.task_id where task.identifier = 'clean_logins'`
  return row?.count ?? 0
}

test('it takes jobs again after its connections were lost', async () => {
  const lost = await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'strongroom-jobs-%'`
  expect(lost.length).toBeGreaterThan(0)
  await addJob(service.ctx.db, 'clean_logins', {})
  await until(waiting, (count) => count === 0, 20_000)
  expect(await waiting()).toBe(0)
})
