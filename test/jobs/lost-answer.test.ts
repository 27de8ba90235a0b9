// The database gives jobs to a worker, and the connection is lost before the worker hears of them. Real processes.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { addJob } from '../../db/jobs.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { createMortal, type Mortal } from '../support/mortal.ts'
import { type Service, startService } from '../support/service.ts'

const TAKEN_AGAIN_MS = 20_000
const POINT = { wire: 'db', kind: 'with _private_jobs for update', nth: 1, moment: 'after' } as const

let chain: TestChain
let service: Service
let sql: Sql
let worker: Mortal

beforeAll(async () => {
  chain = await startChain('Ethereum')
  const node = { variable: 'ETHEREUM_RPC_URL', rpcUrl: chain.rpcUrl }
  service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl } })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  worker = await createMortal({
    ...{ program: 'jobs/worker', databaseUrl: service.database.workerUrl, node, until: /"msg":"working"/ },
    variables: { ...service.variables, LOG_LEVEL: 'info', IDENTITY_KEY: '', VAULT_SOCKET: '' },
  })
  await worker.start()
})

afterAll(async () => {
  await worker.stop()
  await sql.end()
  await service.close()
  await chain.stop()
})

const jobs = async () => {
  const rows = await sql<{ isTaken: boolean }[]>`
    select locked_by is not null as "isTaken" from graphile_worker._private_jobs job
    join graphile_worker._private_tasks task on task.id = job.task_id where task.identifier = 'clean_logins'`
  return rows.map(({ isTaken }) => isTaken)
}

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
  for (const deadline = Date.now() + TAKEN_AGAIN_MS; (await jobs()).length > 0 && Date.now() < deadline; )
    await Bun.sleep(50)
  expect(await jobs()).toEqual([])
  expect(worker.isAlive()).toBe(true)
})
