import { expect, test } from 'bun:test'
import type { JobHelpers } from 'graphile-worker'
import { createTasks } from '../../jobs/tasks/index.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { startChain } from '../support/chains.ts'
import { startGate } from '../support/gate.ts'
import { isLong } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'

const network = 'Ethereum'

const chain = await shared(startChain(network))
const gate = startGate(chain.rpcUrl)
afterTests(() => gate.stop())
const service = await shared(startService({ rpcUrls: { [network]: gate.url } }))
const variables = { ...service.variables, DATABASE_URL: service.database.workerUrl, VAULT_SOCKET: '' }
const ctx = await createWorkerCtx({ config: readConfig(variables), process: 'test-worker' })
afterTests(() => ctx.close({ timeoutSeconds: 2 }))
const { sql } = service.database

const send = async (): Promise<string> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  const answer = await service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: address,
    unsigned_transaction: { to: address, value: '1' },
    developer_secret: 'testnet-secret',
  })
  return answer.json.transaction_id
}

test('is repeated while a node is away, at growing intervals up to a limit', async () => {
  const task = createTasks(ctx).broadcast_transaction
  const transactionId = await send()
  gate.setAway(true)
  let payload: unknown = { transactionId, network }
  const delays: number[] = []
  for (let tries = 0; tries < (isLong ? 20 : 8); tries += 1) {
    await task(payload, {} as JobHelpers)
    const [job] = await sql<{ payload: unknown; delay: number }[]>`
      select payload, round(extract(epoch from run_at - now()))::int as delay
      from graphile_worker._private_jobs where key = ${`broadcast:${transactionId}`}`
    payload = job?.payload
    delays.push(job?.delay ?? -1)
  }
  expect(delays.slice(0, 6)).toEqual([1, 2, 4, 8, 16, 30])
  expect(delays.slice(6)).toEqual(delays.slice(6).map(() => 30))
  gate.setAway(false)
  await task(payload, {} as JobHelpers)
  const status = await service.get('/transactions/status-by-id', { id: transactionId })
  expect(status.json.status).toBe('pending')
  // As a version with a higher limit would have written it.
  await task({ transactionId: await send(), network, tries: 1_000 }, {} as JobHelpers)
})

test('a worker that stops keeps the job of what the node did not take', async () => {
  const transactionId = await send()
  gate.setAway(true)
  await sql`delete from graphile_worker._private_jobs where key = ${`broadcast:${transactionId}`}`
  const helpers = { abortSignal: AbortSignal.abort() } as JobHelpers
  await createTasks(ctx).broadcast_transaction({ transactionId, network }, helpers)
  gate.setAway(false)
  const kept = await sql`select from graphile_worker._private_jobs where key = ${`broadcast:${transactionId}`}`
  expect(kept).toHaveLength(1)
})

test('fails for a malformed payload, which is an internal error, and the queue shows it', async () => {
  const task = createTasks(ctx).broadcast_transaction
  for (const payload of [
    {},
    null,
    [],
    { transactionId: 5, network },
    { transactionId: 'x' },
    { transactionId: 'x', network, tries: -1 },
  ]) {
    expect(task(payload, {} as JobHelpers)).rejects.toThrow('malformed')
  }
})
