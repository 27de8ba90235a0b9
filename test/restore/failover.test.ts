// Another server takes the place of the one that the vault has used. If it lacks the last record, the vault notices that. If it lacks
// only what the API wrote last, the service writes that anew by itself, and nothing is paid twice.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { type PostgresServer, startPostgres } from '../../devnet/postgres.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { createDatabaseOn, onServer } from '../support/postgres.ts'
import type { Service } from '../support/service.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { startArchivedPostgres } from './archived-postgres.ts'
import { randomAddress } from './changes.ts'
import { type Journaled, startJournaled } from './journaled.ts'

const network = 'Ethereum'
/** A port at which nobody listens. */
const NOBODY = 1

let server: Awaited<ReturnType<typeof startArchivedPostgres>>
let copy: PostgresServer
let chain: TestChain
let proxy: TcpProxy
let world: Journaled
let api: Service

beforeAll(async () => {
  server = await startArchivedPostgres()
  chain = await startChain(network)
  const database = await createDatabaseOn(server.url)
  proxy = await startTcpProxy(database.vaultUrl)
  world = await startJournaled({
    rpcUrls: { [network]: chain.rpcUrl },
    database,
    vaults: [{ DATABASE_URL: proxy.url }, { DATABASE_URL: proxy.url }],
  })
  api = world.api
  await world.startApi()
})
afterAll(async () => {
  await world.close()
  await proxy.stop()
  await copy.stop()
  await chain.stop()
  await server.stop()
})

const states = async () => {
  const { output } = await runCli(['journal', 'show', '--json'], api.variables)
  return JSON.parse(output || '[]') as readonly { known: number; records: number; is_behind: boolean }[]
}

const isSettled = async () => {
  const all = await states()
  return all.length === 2 && all.every(({ known, records }) => known === records)
}

const isAnyBehind = async () => (await states()).some(({ is_behind }) => is_behind)

test('a vault whose database is unavailable ends on a signal', async () => {
  await api.newWallet({ network })
  proxy.turnTo(NOBODY)
  proxy.cut()
  expect(await world.stopVaults()).toEqual([0, 0])
  proxy.turnTo(server.port)
  await world.startVaults()
}, 60_000)

/** The transaction in which the API recorded a request. */
const xidOf = (key: string): Promise<string> =>
  onServer(server.url, async (sql) => {
    const [row] = await sql<{ xid: string }[]>`select xmin::text as xid from idempotency_keys where key = ${key}`
    return row?.xid ?? ''
  })

test('a payment of which a failover lost only the rows of the API is made once, and its repetition has its answer', async () => {
  const { address } = await api.newWallet({ network })
  await chain.fund(address)
  await server.takeBackup()
  const [key, to] = [randomUUID(), randomAddress()]
  const pay = () =>
    api.post(
      '/transactions/sign-and-send',
      {
        network,
        signer_wallet_address: address,
        unsigned_transaction: { to, value: '77' },
        developer_secret: 'testnet-secret',
      },
      { 'idempotency-key': key },
    )
  const worker = api.startWorker({ LOG_LEVEL: 'silent' })
  const { transaction_id: id } = (await pay()).json
  expect((await api.settled(id)).json.status).toBe('success')
  worker.kill('SIGTERM')
  await worker.exited
  await until(isSettled)

  await server.goBackBefore(await xidOf(key))
  let again = await pay()
  while (again.status !== 200) again = await pay()
  expect(again.json.transaction_id).toBe(id)
  const next = api.startWorker({ LOG_LEVEL: 'silent' })
  expect((await api.settled(id)).json.status).toBe('success')
  expect(await chain.publicClient.getBalance({ address: to })).toBe(77n)
  next.kill('SIGTERM')
  await next.exited
  expect(await isAnyBehind()).toBe(false)
}, 120_000)

test('rows that only the API wrote, and that are gone when PostgreSQL was started anew, come back', async () => {
  const { id, address } = await api.newWallet({ network })
  await onServer(server.url, (sql) => sql`delete from wallets where id = ${id}`)
  await until(isSettled)
  await server.restart()
  await until(async () => (await api.get('/wallets/get-by-id', { network, id })).status === 200)
  expect((await api.get('/wallets/get-by-id', { network, id })).json).toMatchObject({ address })
  await until(async () => !(await isAnyBehind()))
  // Nothing is missing now: no vault waits for an API.
  await server.restart()
  await until(isSettled)
  const [one, two] = await onServer(server.url, (sql) => sql<{ server: string }[]>`select server from vault_journals`)
  expect(one).toEqual(two)
  expect(await isAnyBehind()).toBe(false)
}, 60_000)

test('a late copy that takes the place of the database at once is noticed', async () => {
  await api.newWallet({ network })
  await until(isSettled)
  const dataDirectory = server.at('copy')
  await server.restart((original) => promisify(execFile)('cp', ['-a', original, dataDirectory]))
  copy = await startPostgres({ dataDirectory, durable: true })
  await until(isSettled)
  await api.newWallet({ network })
  proxy.turnTo(copy.port)
  proxy.cut()
  await until(isAnyBehind)
}, 60_000)
