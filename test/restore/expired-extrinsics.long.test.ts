// An extrinsic that expires gives its nonce back, and another one uses it. After a restore both are known again: what
// was paid is not paid twice, and what had expired has expired.

import { expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { decodeAddress } from '@polkadot/util-crypto'
import { runCli } from '../support/cli.ts'
import { createDatabaseOn, onServer } from '../support/postgres.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startSubstrateChain } from '../support/substrate.ts'
import { startCopiedPostgres } from './copied-postgres.ts'
import { startJournaled } from './journaled.ts'

const network = 'Polkadot'
const SECRET = 'testnet-secret'
const UNIT = 10n ** 10n
/** The number of blocks that an extrinsic waits. */
const ERA_BLOCKS = 16

const [server, chain] = await Promise.all([startCopiedPostgres(), startSubstrateChain(network)])
afterTests(() => server.stop())
afterTests(() => chain.stop())
const world = await shared(
  startJournaled({ rpcUrls: { [network]: chain.wsUrl }, database: await createDatabaseOn(server.url) }),
)

type Payment = { readonly from: string; readonly to: string; readonly key: string; readonly id: string }

const send = async (from: string, unsigned_transaction: object, key: string): Promise<string> => {
  const body = { network, signer_wallet_address: from, developer_secret: SECRET, unsigned_transaction }
  const { status, json } = await world.api.post('/transactions/sign-and-send', body, { 'idempotency-key': key })
  expect([status, json.error]).toEqual([200, undefined])
  return json.transaction_id
}

const pay = async ({ from, to, key }: Omit<Payment, 'id'>): Promise<Payment> => ({
  ...{ from, to, key, id: await send(from, { to, value: String(UNIT) }, key) },
})

const newPayment = async (from: string) => {
  const { address: to } = await world.api.newWallet({ network })
  return await pay({ from, to, key: randomUUID() })
}

const fundedWallet = async (): Promise<string> => {
  const { address } = await world.api.newWallet({ network })
  await chain.fund(address, 1_000n * UNIT)
  return address
}

const outcomeOf = async ({ id }: Pick<Payment, 'id'>) => {
  const { json } = await world.api.settled(id, 20_000)
  return json.status === 'failed' ? json.code : json.status
}

/** How many times it has arrived. */
const arrivals = async ({ to }: Pick<Payment, 'to'>): Promise<bigint> => {
  const { json } = await world.api.get('/tokens/balances', { network, wallet_address: to })
  return BigInt(json[0].raw_balance) / UNIT
}

/** An account without coins is removed: its nonces start again when it has some. */
const payFromRemoved = async (from: string): Promise<readonly Payment[]> => {
  const before = await newPayment(from)
  // Until then its coins are reserved, and the account does not have enough for the other transfer.
  expect(await outcomeOf(before)).toBe('success')
  const { address } = await world.api.newWallet({ network })
  // balances.transfer_all(to, keep_alive: false)
  const all = `0x0a0400${Buffer.from(decodeAddress(address)).toString('hex')}00`
  expect(await outcomeOf({ id: await send(from, { input: all }, randomUUID()) })).toBe('success')
  await chain.fund(from, 1_000n * UNIT)
  await chain.newBlock(ERA_BLOCKS + 2)
  while ((await arrivals({ to: from })) === 0n) await Bun.sleep(50)
  return [before, await newPayment(from)]
}

/** Payments that no node takes, until no block may take them. */
const expire = async (...wallets: readonly string[]): Promise<readonly Payment[]> => {
  const payments = await Promise.all(wallets.map(newPayment))
  await chain.newBlock(ERA_BLOCKS + 2)
  for (const payment of payments) expect(await outcomeOf(payment)).toBe('expired')
  return payments
}

/** How many of these have one nonce. */
const together = async (payments: readonly Payment[]): Promise<readonly number[]> => {
  const ids = payments.map(({ id }) => id)
  const rows = await onServer(
    server.url,
    (sql) => sql`select count(*)::int as many from transactions where id = any(${ids}) group by signer_address, nonce`,
  )
  return rows.map(({ many }) => many).sort()
}

test('an extrinsic that expired before a restore is expired after it, and the later one with its nonce is not sent twice', async () => {
  const [early, late] = [await fundedWallet(), await fundedWallet()]
  await chain.setMode('manual')
  const takeAll = await chain.answerWith('author_submitExtrinsic', { error: { code: -32000, message: 'busy' } })
  const before = await newPayment(early)
  await server.takeBackup()
  let worker = world.api.startWorker({ LOG_LEVEL: 'silent' })
  const first = await expire(late)
  expect(await outcomeOf(before)).toBe('expired')
  const expired = [before, ...first, ...(await expire(early, late))]
  await takeAll()
  await chain.setMode('instant')
  const paid = [await newPayment(late), ...(await payFromRemoved(await fundedWallet()))]
  for (const payment of paid) expect(await outcomeOf(payment)).toBe('success')
  worker.kill('SIGTERM')
  await worker.exited
  // Nobody has sent it.
  paid.push(await newPayment(early))
  expect(await together([...expired, ...paid])).toEqual([2, 3, 3])

  await server.goBack()
  await world.restartVaults()
  const { output, errors } = await runCli(['restore', '--json'], world.api.variables)
  expect(errors).toBe('')
  expect(JSON.parse(output)).toMatchObject({ transactions: 8, skipped: [] })
  worker = world.api.startWorker({ LOG_LEVEL: 'silent' })
  for (const payment of [...expired, ...paid]) expect((await pay(payment)).id).toBe(payment.id)
  for (const payment of paid) expect(await outcomeOf(payment)).toBe('success')
  for (const payment of expired) expect(await outcomeOf(payment)).toBe('expired')
  for (const payment of expired) expect(await arrivals(payment)).toBe(0n)
  for (const payment of paid) expect(await arrivals(payment)).toBe(1n)
}, 180_000)
