// Another server takes the place of the one that the vault has used. If it lacks the last record, the vault notices
// that. If it lacks only what the API wrote last, the service writes that anew by itself, and nothing is paid twice.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { listFreezes } from '../../db/queries/freezes.ts'
import { type PostgresServer, startPostgres } from '../../devnet/postgres.ts'
import { startRestoring } from '../../src/operators/restore/after-failover.ts'
import { readConfig } from '../../src/platform/config.ts'
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
let copy: PostgresServer | null = null
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
  await copy?.stop()
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

const SECRET = 'testnet-secret'

const signMessage = async (address: string): Promise<string> => {
  const message = { network, signer_wallet_address: address, message: 'It is here.', developer_secret: SECRET }
  const { status, json } = await api.post('/transactions/sign-message', message)
  return status === 200 ? 'done' : json.code
}

/** Makes wallets until each vault has made one. @returns those of each vault. */
const walletsOfEach = async () => {
  const all: { readonly id: string; readonly address: string }[] = []
  for (;;) {
    all.push(await api.newWallet({ network }))
    const texts = await Promise.all(world.journals.map((path) => readFile(path, 'utf8')))
    const [first = [], second = []] = texts.map((text) => all.filter(({ id }) => text.includes(`"id":"${id}"`)))
    if (first.length > 0 && second.length > 0) return { all, first, second }
  }
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
        developer_secret: SECRET,
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
  for (; again.status !== 200; again = await pay()) await Bun.sleep(50)
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
  // Nothing is missing now: no vault waits for an API. What a request signed that failed at the failover is judged
  // again after a restart, as long as it is recent.
  const restarted = async () => {
    await server.restart()
    await until(isSettled)
    return !(await isAnyBehind())
  }
  await until(restarted, (isWell) => isWell, 150_000)
  const [one, two] = await onServer(server.url, (sql) => sql<{ server: string }[]>`select server from vault_journals`)
  expect(one).toEqual(two)
}, 240_000)

test('what is missing is judged before anything is written: while a vault is away, nothing is', async () => {
  const { all, first, second } = await walletsOfEach()
  const ids = all.map(({ id }) => id)
  await until(isSettled)
  await world.stopVault(1)
  await onServer(server.url, (sql) => sql`delete from wallets where id in ${sql(ids)}`)
  await server.restart()
  // Others look, too. What this one says it has judged.
  const judged = Promise.withResolvers<readonly string[]>()
  const error = (facts: object | string) => judged.resolve((facts as { missing: readonly string[] }).missing)
  const stop = startRestoring({ ...api.ctx, config: readConfig(api.variables), log: { ...api.ctx.log, error } })
  try {
    expect((await judged.promise).toSorted()).toEqual(second.map(({ id }) => id).toSorted())
  } finally {
    await stop()
  }
  const present = await onServer(server.url, (sql) => sql`select id from wallets where id in ${sql(ids)}`)
  expect([...present]).toEqual([])
  expect(first.length).toBeGreaterThan(0)
  await world.restartVaults()
  for (const { address } of all) await until(async () => (await signMessage(address)) === 'done')
}, 120_000)

test('a transaction that cannot be recorded stops no other one, and freezes its wallet', async () => {
  const [stuck, other] = [await api.newWallet({ network }), await api.newWallet({ network })]
  const pay = async ({ address }: typeof stuck): Promise<string> => {
    await chain.fund(address)
    const unsigned_transaction = { to: randomAddress(), value: '1' }
    const body = { network, signer_wallet_address: address, unsigned_transaction, developer_secret: SECRET }
    return (await api.post('/transactions/sign-and-send', body)).json.transaction_id
  }
  const [lost, lostToo] = [await pay(stuck), await pay(other)]
  await until(isSettled)
  // PostgreSQL refuses the row of one of them.
  const refuse = (change: string) => onServer(server.url, (sql) => sql.unsafe(`alter table transactions ${change}`))
  await onServer(server.url, async (sql) => {
    await sql`delete from ladders where transaction_id in ${sql([lost, lostToo])}`
    await sql`delete from transactions where id in ${sql([lost, lostToo])}`
  })
  await refuse(`add constraint refused check (id <> '${lost}') not valid`)
  await server.restart()
  await until(async () => (await signMessage(other.address)) === 'done')
  const recorded = await onServer(
    server.url,
    (sql) => sql`select id from transactions where id in ${sql([lost, lostToo])}`,
  )
  expect([...recorded]).toEqual([{ id: lostToo }])
  expect(await signMessage(stuck.address)).toBe('frozen')
  const freezes = await listFreezes(api.ctx.db)
  expect(freezes.filter(({ walletId }) => walletId === stuck.id)).toEqual([
    expect.objectContaining({ reason: expect.stringContaining(lost) }),
  ])
  // When what stood in its way is gone.
  await refuse('drop constraint refused')
  const { output } = await runCli(['restore', '--json'], api.variables)
  expect(JSON.parse(output)).toMatchObject({ transactions: 1, skipped: [] })
  expect((await runCli(['unfreeze', 'wallet', stuck.id, '--reason', 'restored'], api.variables)).exitCode).toBe(0)
  expect(await signMessage(stuck.address)).toBe('done')
}, 60_000)

test('after an attempt to restore that failed, the next one comes later', async () => {
  const times: number[] = []
  const unrecorded = () => {
    times.push(performance.now())
    return Promise.reject(new Error('an error of another kind'))
  }
  const stop = startRestoring({
    ...api.ctx,
    config: readConfig(api.variables),
    vault: { ...api.ctx.vault, unrecorded },
  })
  await until(() => times.length === 4)
  await stop()
  const pauses = times.slice(1).map((time, index) => Math.round((time - (times[index] ?? 0)) / 100))
  expect(pauses[1]).toBeGreaterThanOrEqual(20)
  expect(pauses[2]).toBeGreaterThanOrEqual(40)
}, 60_000)

test('a late copy that takes the place of the database at once is noticed before anything is signed', async () => {
  const { address } = await api.newWallet({ network })
  await until(isSettled)
  const dataDirectory = server.at('copy')
  await server.restart((original) => promisify(execFile)('cp', ['-a', original, dataDirectory]))
  copy = await startPostgres({ dataDirectory, durable: true })
  await until(isSettled)
  // What both vaults have recorded since.
  await walletsOfEach()
  expect(await signMessage(address)).toBe('done')
  proxy.turnTo(copy.port)
  proxy.cut()
  const codes: string[] = []
  for (let tries = 0; tries < 8; tries += 1) codes.push(await signMessage(address))
  expect(new Set(codes)).toEqual(new Set(['unavailable']))
  await until(isAnyBehind)
}, 60_000)
