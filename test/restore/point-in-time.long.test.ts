// PostgreSQL is restored to a point in time, under traffic: what was answered since is brought in by the vault's
// journal. No wallet is lost, nothing is sent twice, and wrong PINs stay counted.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import type { Hex } from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import type { Finding } from '../../src/operators/doctor/finding.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { createDatabaseOn, onServer } from '../support/postgres.ts'
import type { Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startArchivedPostgres } from './archived-postgres.ts'
import { network, PIN, prepareChanges, randomAddress, signMessage } from './changes.ts'
import { type Journaled, startJournaled } from './journaled.ts'

const SECRET = 'testnet-secret'
const SENDERS = 3

let server: Awaited<ReturnType<typeof startArchivedPostgres>>
let chain: TestChain
let world: Journaled
let api: Service

beforeAll(async () => {
  server = await startArchivedPostgres()
  await writeFile(server.at('next-root-key'), randomBytes(32), { mode: 0o600 })
  chain = await startChain(network)
  await deployCanonicalContracts(chain.rpcUrl)
  const rpcUrls = { [network]: chain.rpcUrl, Base: 'http://127.0.0.1:1' }
  const database = await createDatabaseOn(server.url)
  // Two vaults, each with a journal of its own, of which one has a copy, and both with the next root key.
  const next = { ROOT_KEY_NEXT: `file:${server.at('next-root-key')}` }
  const vaults = [{ ...next, VAULT_JOURNAL: `${server.at('journal')},${server.at('its-copy')}` }, next]
  world = await startJournaled({ rpcUrls, database, vaults })
  api = world.api
})

afterAll(async () => {
  await world.close()
  await chain.stop()
  await server.stop()
})

type Payment = { readonly key: string; readonly wallet: Hex; readonly to: Hex; readonly id: string }

const pay = (payment: Omit<Payment, 'id'>) =>
  api.post(
    '/transactions/sign-and-send',
    {
      network,
      signer_wallet_address: payment.wallet,
      unsigned_transaction: { to: payment.to, value: '7' },
      developer_secret: SECRET,
    },
    { 'idempotency-key': payment.key },
  )

const count = (table: 'transactions') =>
  onServer(server.url, async (sql) => (await sql`select count(*)::int as rows from ${sql(table)}`)[0]?.rows as number)

/** Wallets, payments and a wrong PIN now and then, until it is stopped. */
const traffic = (senders: readonly Hex[]) => {
  let isOver = false
  const wallets: { readonly id: string; readonly address: string }[] = []
  const payments: Payment[] = []
  const sending = senders.map(async (wallet) => {
    while (!isOver) {
      const payment = { key: randomUUID(), wallet, to: randomAddress() }
      const { status, json } = await pay(payment)
      expect(status).toBe(200)
      payments.push({ ...payment, id: json.transaction_id })
    }
  })
  const making = async () => {
    while (!isOver) wallets.push(await api.newWallet({ network, pin: PIN }))
  }
  const all = Promise.all([...sending, making()])
  return {
    wallets,
    payments,
    stop: async () => {
      isOver = true
      await all
    },
  }
}

test('after a restore to a point in time no wallet is lost, nothing is sent twice, and no guess is given back', async () => {
  const senders: Hex[] = []
  for (let count = 0; count < SENDERS; count += 1) senders.push((await api.newWallet({ network })).address)
  for (const sender of senders) await chain.fund(sender)
  const guessed = await api.newWallet({ network, pin: PIN })
  const changes = await prepareChanges({ api, chain })
  await server.takeBackup()
  let worker = api.startWorker({ LOG_LEVEL: 'silent' })
  const load = traffic(senders)
  await until(() => load.payments.length >= 20 && load.wallets.length >= 5)
  const time = await server.now()
  const before = { wallets: load.wallets.length, payments: load.payments.length }
  await changes.happen()
  expect((await signMessage(api, guessed.address, '493818')).json.code).toBe('INVALID_SECRET')
  expect((await signMessage(api, guessed.address, '493819')).json.code).toBe('INVALID_SECRET')
  await until(() => load.payments.length >= before.payments + 30 && load.wallets.length >= before.wallets + 8)
  await load.stop()
  worker.kill('SIGTERM')
  await worker.exited
  const all = await count('transactions')

  await server.goBackTo(time)
  const lost = all - (await count('transactions'))
  expect(lost).toBeGreaterThan(20)

  // The vaults that ran all the time notice it, and so do those that are started now.
  const oldWallet = load.wallets[0]?.address ?? ''
  await until(async () => (await signMessage(api, oldWallet, PIN)).json.code === 'unavailable')
  await until(async () => (await api.get('/readyz')).status === 503)
  await world.restartVaults()
  for (const output of world.output()) expect(output).toContain('cli restore')
  const doctor: readonly Finding[] = JSON.parse((await runCli(['doctor', '--json'], api.variables)).output)
  expect(doctor.filter(({ advice }) => advice === 'Run "bun run cli restore".').map(({ check }) => check)).toEqual(
    world.sockets.map((socket) => `vault ${socket}`),
  )
  await until(async () => /cli restore/.test((await signMessage(api, oldWallet, PIN)).json.error ?? ''))
  expect((await pay({ key: randomUUID(), wallet: senders[0] ?? '0x', to: randomAddress() })).status).toBe(503)

  // A vault that is not named would be missed.
  const one = await runCli(['restore'], { ...api.variables, VAULT_SOCKET: world.sockets[0] ?? '' })
  expect([one.exitCode, one.errors]).toEqual([1, expect.stringContaining('name all vaults')])
  const { exitCode, output, errors } = await runCli(['restore', '--json'], api.variables)
  expect(errors).toBe('')
  expect(exitCode).toBe(0)
  const restored = JSON.parse(output)
  expect(restored).toMatchObject({ transactions: lost, skipped: [], projects: [expect.any(String)] })
  expect(restored.wallets).toBeGreaterThanOrEqual(8)
  // Again, it finds nothing.
  const again = JSON.parse((await runCli(['restore', '--json'], api.variables)).output)
  expect(again).toMatchObject({ rows: 0, audit: 0, wallets: 0, transactions: 0, sped_up: 0 })

  // What the chain has, the database has, too.
  const checked = JSON.parse((await runCli(['restore', 'check', '--json'], api.variables)).output)
  expect(checked).toMatchObject({ unknown: [], frozen: [] })

  worker = api.startWorker({ LOG_LEVEL: 'silent' })
  // Each wallet that was handed out is there, and signs.
  for (const { id, address } of load.wallets) {
    const { json } = await api.get('/wallets/get-by-id', { network, id })
    expect(json).toMatchObject({ address })
  }
  for (const { address } of load.wallets.slice(-8)) expect((await signMessage(api, address, PIN)).status).toBe(200)
  // A repeated request is answered as it was, and each payment arrives once.
  for (const payment of load.payments) {
    const { status, json } = await pay(payment)
    expect([status, json.transaction_id]).toEqual([200, payment.id])
  }
  const further = { key: randomUUID(), wallet: senders[0] ?? '0x', to: randomAddress() } as const
  const { json } = await pay(further)
  for (const { id } of [...load.payments, { id: json.transaction_id }]) {
    expect((await api.settled(id)).json).toMatchObject({ status: 'success' })
  }
  for (const { to } of [...load.payments, further])
    expect(await chain.publicClient.getBalance({ address: to })).toBe(7n)
  // The two wrong PINs count: three more lock the owner.
  for (const pin of ['493820', '493821', '493822']) await signMessage(api, guessed.address, pin)
  expect((await signMessage(api, guessed.address, PIN)).json.code).toBe('TOO_MANY_FAILED_ATTEMPTS')
  await changes.check()
  // The audit tells of everything, each row once.
  const verified = await runCli(['audit', 'verify', '--json'], api.variables)
  expect(JSON.parse(verified.output)).toMatchObject({ ok: true })
  worker.kill('SIGTERM')
  await worker.exited
}, 300_000)
