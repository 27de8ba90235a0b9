// The database gives jobs to a worker, and the connection is lost before the worker hears of them; or all are lost
// while the worker starts. Real processes.

import { expect, test } from 'bun:test'
import postgres from 'postgres'
import { addJob } from '../../db/jobs.ts'
import { startChain } from '../support/chains.ts'
import { longTest } from '../support/long.ts'
import { createMortal } from '../support/mortal.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { until } from '../support/until.ts'

const TAKEN_AGAIN_MS = 20_000
const POINT = { wire: 'db', kind: 'with _private_jobs for update', nth: 1, moment: 'after' } as const

const chain = await shared(startChain('Ethereum'))
const node = { variable: 'ETHEREUM_RPC_URL', rpcUrl: chain.rpcUrl }
const service = await shared(startService({ rpcUrls: { Ethereum: chain.rpcUrl } }))
const { sql } = service.database
const worker = await shared(
  createMortal({
    ...{ program: 'src/main/worker', databaseUrl: service.database.workerUrl, node, until: /"msg":"working"/ },
    variables: { ...service.variables, LOG_LEVEL: 'info', IDENTITY_KEY: '', VAULT_SOCKET: '' },
  }),
)
await worker.start()

const jobs = async () => {
  const rows = await sql<{ isTaken: boolean }[]>`
    select locked_by is not null as "isTaken" from graphile_worker._private_jobs job
    join graphile_worker._private_tasks task on task.id = job.task_id where task.identifier = 'clean_logins'`
  return rows.map(({ isTaken }) => isTaken)
}

const untilDone = () => until(jobs, ({ length }) => length === 0, TAKEN_AGAIN_MS)

test('jobs of which a worker has not heard are done in seconds', async () => {
  const lost = Promise.withResolvers<void>()
  /** Cuts the connection alone, again if no job was taken on it. */
  const cut = async () => {
    if ((await jobs())[0]) lost.resolve()
    else worker.killAt(POINT, cut)
  }
  worker.killAt(POINT, cut)
  await addJob(service.ctx.db, 'clean_logins', {})
  await lost.promise
  await untilDone()
  expect(await jobs()).toEqual([])
  expect(worker.isAlive()).toBe(true)
})

longTest(
  'a queue that loses its connections before it has begun is replaced by another one, although a job of it hangs',
  async () => {
    await worker.kill()
    // Its first beat waits for the lock, so the queue takes jobs and has not begun for its process.
    await sql`create function hold_beat() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(1); return new; end $$`
    await sql`create trigger hold_beat before insert on workers for each row execute function hold_beat()`
    const holder = postgres(service.database.url, { max: 1, onnotice: () => {} })
    await holder`select pg_advisory_lock(1)`
    try {
      worker.killAt({ wire: 'db', kind: 'delete email_codes', nth: 1, moment: 'before' }, async () => {
        worker.killAt({ wire: 'db', kind: 'delete _private_jobs', nth: 1, moment: 'before' }, async () => {
          // Not those of other tests, which have databases of their own on this server.
          await sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name like 'strongroom-jobs-%'`
        })
        await addJob(service.ctx.db, 'drop_idempotency_keys', {})
        // The statement is never answered.
        await new Promise(() => {})
      })
      await addJob(service.ctx.db, 'clean_logins', {})
      void worker.start()
      await until(() => worker.output().includes('Failed to complete jobs'))
    } finally {
      await holder.end()
      await sql`drop trigger hold_beat on workers`
      await sql`drop function hold_beat`
    }
    await untilDone()
    expect(await jobs()).toEqual([])
    expect(worker.isAlive()).toBe(true)
  },
)
