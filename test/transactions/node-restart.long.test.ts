// A real node is restarted while transactions wait in its pool. It comes back with its blocks and an empty pool.

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import type { Hex } from 'viem'
import { addJob } from '../../db/jobs.ts'
import { saveState } from '../../devnet/anvil-state.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { type Gate, startGate } from '../support/gate.ts'
import { ageTransactions } from '../support/rows.ts'
import { type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const FLAGS = ['--no-mining']

let folder: string
let chain: TestChain
let gate: Gate
let service: Service
let sql: Sql
let workers: ReturnType<Service['startWorker']>[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-restart-'))
  chain = await startChain(network, { flags: FLAGS })
  gate = startGate(chain.rpcUrl)
  service = await startService({ rpcUrls: { [network]: gate.url } })
  sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
})

afterEach(async () => {
  for (const worker of workers) worker.kill('SIGTERM')
  await Promise.all(workers.map((worker) => worker.exited))
  workers = []
})

afterAll(async () => {
  await sql.end()
  await service.close()
  await gate.stop()
  await chain.stop()
  await rm(folder, { recursive: true, force: true })
})

/** @returns a function that restores this state in a new process at another port, and points the gate there. */
const saveNode = async (name: string) => {
  const statePath = join(folder, name)
  await saveState(chain.rpcUrl, statePath)
  return async (whileAway: () => Promise<void> = async () => {}) => {
    await chain.stop()
    await whileAway()
    chain = await startChain(network, { flags: FLAGS, statePath })
    gate.lead(chain.rpcUrl)
  }
}

type Sent = { readonly id: string; readonly wallet: Hex; readonly recipient: Hex }

const newWallet = async (): Promise<Hex> => (await service.newWallet({ network })).address

const post = (wallet: Hex, to: Hex) =>
  service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: wallet,
    unsigned_transaction: { to, value: '1' },
    developer_secret: 'testnet-secret',
  })

const send = async (wallet: Hex): Promise<Sent> => {
  const recipient = await newWallet()
  const answer = await post(wallet, recipient)
  expect(answer.json).toMatchObject({ status: 'submitted' })
  return { id: answer.json.transaction_id, wallet, recipient }
}

const until = async <Value>(look: () => Promise<Value>, isRight: (value: Value) => boolean): Promise<Value> => {
  const deadline = Date.now() + 20_000
  for (;;) {
    const value = await look()
    if (isRight(value) || Date.now() > deadline) return value
    await Bun.sleep(20)
  }
}

const statusesOf = (sent: readonly Sent[]) =>
  Promise.all(
    sent.map(async ({ id }) => (await service.get('/transactions/status-by-id', { id })).json.status as string),
  )

const pooled = async () => Number(((await chain.rpc('txpool_status')) as { pending: string }).pending)

/** Makes waiting transactions look as if they had not been checked for long, so that the reconciler checks them. */
const reconcile = async () => {
  await ageTransactions(sql)
  await sql`update graphile_worker._private_jobs set run_at = now() where run_at > now() and key like 'broadcast:%'`
  await addJob(service.ctx.db, 'reconcile', { again: false })
}

/** Mines blocks, and checks that each transaction has had exactly one effect. */
const expectMinedOnce = async (sent: readonly Sent[]) => {
  await chain.rpc('evm_setIntervalMining', [1])
  const settled = await Promise.all(sent.map(({ id }) => service.settled(id)))
  expect(settled.map(({ json }) => json.status)).toEqual(sent.map(() => 'success'))
  for (const { recipient } of sent) expect(await chain.publicClient.getBalance({ address: recipient })).toBe(1n)
  for (const wallet of new Set(sent.map((each) => each.wallet))) {
    const own = sent.filter((each) => each.wallet === wallet).length
    expect(await chain.publicClient.getTransactionCount({ address: wallet })).toBe(own)
  }
  await chain.rpc('evm_setIntervalMining', [0])
}

test('after a node restarts without its pending transactions, they are sent again and each is mined once', async () => {
  const wallets = await Promise.all([newWallet(), newWallet()])
  for (const wallet of wallets) await chain.fund(wallet)
  const worker = service.startWorker({ LOG_LEVEL: 'silent' })
  workers.push(worker)
  const mined = [await send(wallets[0])]
  await until(pooled, (count) => count === 1)
  await chain.mine()
  await until(
    () => statusesOf(mined),
    ([status]) => status === 'success',
  )
  const waiting: Sent[] = []
  for (const wallet of [...wallets, ...wallets]) waiting.push(await send(wallet))
  expect(await until(pooled, (count) => count === waiting.length)).toBe(waiting.length)
  await until(
    () => statusesOf(waiting),
    (all) => all.every((status) => status === 'pending'),
  )
  const restart = await saveNode('with all blocks')
  await restart(async () => {
    const refused = await post(wallets[0], wallets[1])
    expect(refused).toMatchObject({ status: 503, json: { code: 'node_unavailable' } })
  })
  expect(await pooled()).toBe(0)
  expect(await statusesOf([...mined, ...waiting])).toEqual(['success', ...waiting.map(() => 'pending')])
  // The node knows one nonce; transactions recorded here hold the next ones.
  const after = await send(wallets[0])
  await reconcile()
  expect(await until(pooled, (count) => count === waiting.length + 1)).toBe(waiting.length + 1)
  await expectMinedOnce([...mined, ...waiting, after])
  expect(worker.exitCode).toBeNull()
})

test('after a node restarts without its newest blocks, transactions in them are pending again and are mined once', async () => {
  const wallet = await newWallet()
  await chain.fund(wallet)
  await chain.mine(2)
  const worker = service.startWorker({ LOG_LEVEL: 'silent' })
  workers.push(worker)
  const before = await send(wallet)
  await until(pooled, (count) => count === 1)
  await chain.mine()
  await until(
    () => statusesOf([before]),
    ([status]) => status === 'success',
  )
  const restart = await saveNode('without the newest')
  const lost = await send(wallet)
  await until(pooled, (count) => count === 1)
  await chain.mine()
  await until(
    () => statusesOf([lost]),
    ([status]) => status === 'success',
  )
  await restart()
  // A chain with another history of the same length can be distinguished from one that is only behind.
  await chain.mine(3)
  const statuses = await until(
    () => statusesOf([before, lost]),
    ([, status]) => status === 'pending',
  )
  expect(statuses).toEqual(['success', 'pending'])
  await reconcile()
  expect(await until(pooled, (count) => count === 1)).toBe(1)
  await expectMinedOnce([before, lost])
})
