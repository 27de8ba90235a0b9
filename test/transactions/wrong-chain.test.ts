// A node of another chain at a network's URL, from the start or later: it is noticed within seconds. Then nothing is
// signed for that network, and nothing is sent there. Its blocks and transactions are ignored from the first one on.

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import type { Hex } from 'viem'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Gate, startGate } from '../support/gate.ts'
import { longTest } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const RECIPIENT = fundedAccount(5).address
const COLLECTION = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const WRONG = {
  status: 503,
  json: { error: 'The Ethereum node answers for chain id 80002, and must for 11155111.', code: 'wrong_chain' },
}

let right: TestChain
let wrong: TestChain
/** A proxy in front of the wrong chain only, which records its requests. */
let wrongGate: Gate
let gate: Gate
let away: Gate
let service: Service
let sql: Sql
let wallet: Hex
let contractWallet: Hex
let workers: WorkerHere[] = []

beforeAll(async () => {
  ;[right, wrong] = await Promise.all([startChain(network), startChain('Polygon')])
  wrongGate = startGate(wrong.rpcUrl)
  gate = startGate(wrongGate.url)
  away = startGate(wrong.rpcUrl)
  away.setAway(true)
  service = await startService({ rpcUrls: { [network]: gate.url, Base: away.url } })
  sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
  wallet = (await service.newWallet({ network })).address
  const contract = { ...by, name: 'A contract wallet', control_mode: 'developer', type: 'contract' }
  contractWallet = (await service.post('/wallets', contract)).json.address
  // The wallet could pay there too.
  await Promise.all([right.fund(wallet), wrong.fund(wallet)])
})

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()))
  workers = []
})

afterAll(async () => {
  await sql.end()
  await service.close()
  for (const each of [gate, wrongGate, away]) await each.stop()
  await Promise.all([right.stop(), wrong.stop()])
})

const startWorker = async () => {
  // Its log would be full of errors, rightly.
  workers.push(await startWorkerHere(service, { LOG_LEVEL: 'silent' }))
}

const by = { network, developer_secret: 'testnet-secret' }
const sending = (path: string, rest: Record<string, string> = {}) =>
  service.post(path, {
    ...by,
    signer_wallet_address: wallet,
    unsigned_transaction: { to: RECIPIENT, value: '1', ...rest },
  })

const COMPLETE = { gasLimit: '21000', maxFeePerGas: '9000000000', maxPriorityFeePerGas: '1000000000', nonce: '7' }
const signComplete = () => sending('/transactions/sign', COMPLETE)
const signAndSend = () => sending('/transactions/sign-and-send')

const preview = () =>
  service.post('/transactions/preview', { network, from: wallet, unsigned_transaction: { to: RECIPIENT, value: '1' } })
const statusByHash = () =>
  service.get('/transactions/status-by-hash', { network, transaction_hash: `0x${'12'.repeat(32)}` })

const CALLS: Record<string, () => Promise<Answer>> = {
  'sign, with every field given': signComplete,
  sign: () => sending('/transactions/sign'),
  'sign-and-send': signAndSend,
  'sign-and-send, with every field given': () => sending('/transactions/sign-and-send', { ...COMPLETE, nonce: '0' }),
  'sign-message for a contract wallet': () =>
    service.post('/transactions/sign-message', { ...by, signer_wallet_address: contractWallet, message: 'hello' }),
  preview,
  mint: () =>
    service.post('/nfts/mint', {
      ...by,
      from: wallet,
      contract_address: COLLECTION,
      recipient: RECIPIENT,
      uri: 'ipfs://door',
    }),
  transfer: () =>
    service.post('/nfts/transfer', {
      ...by,
      from: wallet,
      contract_address: COLLECTION,
      recipient: RECIPIENT,
      token_id: '1',
    }),
  collections: () =>
    service.post('/nfts/collections', {
      ...by,
      from: wallet,
      name: 'Doors',
      symbol: 'DOOR',
      image_url: 'https://example.com/d.png',
    }),
  'status-by-hash': statusByHash,
}

const recorded = async () =>
  (
    await sql`
    select (select count(*) from transactions) as transactions, (select count(*) from ladders) as ladders,
      (select count(*) from audit) as audit, (select count(*) from collections) as collections,
      (select count(*) from graphile_worker._private_jobs) as jobs`
  )[0]

const networks = async () => (await service.get('/readyz')).json.networks

const until = async <Value>(look: () => Promise<Value>, isRight: (value: Value) => boolean): Promise<Value> => {
  const deadline = Date.now() + 20_000
  for (;;) {
    const value = await look()
    if (isRight(value) || Date.now() > deadline) return value
    await Bun.sleep(20)
  }
}

const statusOf = async (id: string) => (await service.get('/transactions/status-by-id', { id })).json
const minedCount = () => right.publicClient.getTransactionCount({ address: wallet })

const expectRefused = async () => {
  const before = await recorded()
  for (const [name, call] of Object.entries(CALLS)) {
    const { status, json } = await call()
    expect({ name, status, json }).toEqual({ name, ...WRONG })
  }
  expect(await recorded()).toEqual(before)
  expect(await networks()).toMatchObject({ [network]: 'wrong_chain' })
}

test('while an unknown node does not answer, transactions that need no node are signed, until it proves to be of another chain', async () => {
  const base = await service.newWallet({ network: 'Base' })
  const body = { ...by, network: 'Base', signer_wallet_address: base.address }
  const complete = { ...body, unsigned_transaction: { to: RECIPIENT, value: '1', ...COMPLETE } }
  expect((await service.post('/transactions/sign', complete)).status).toBe(200)
  const before = await recorded()
  const filledIn = await service.post('/transactions/sign', { ...body, unsigned_transaction: { to: RECIPIENT } })
  expect(filledIn).toMatchObject({ status: 503, json: { code: 'node_unavailable' } })
  away.setAway(false)
  expect(await networks()).toMatchObject({ Base: 'wrong_chain' })
  expect(await service.post('/transactions/sign', complete)).toMatchObject({
    status: 503,
    json: { code: 'wrong_chain' },
  })
  expect(await recorded()).toEqual(before)
  expect(await networks()).toEqual({ [network]: 'wrong_chain', Base: 'wrong_chain' })
})

test('with a node of another chain from the start, nothing is signed or previewed, and /readyz reports it', async () => {
  await expectRefused()
})

test('with the right node the process works without a restart', async () => {
  gate.lead(right.rpcUrl)
  expect((await signComplete()).status).toBe(200)
  expect((await signAndSend()).json).toMatchObject({ status: 'submitted' })
  expect(await networks()).toMatchObject({ [network]: 'ready' })
})

test('a node that switches to another chain is noticed within seconds; no status comes from it meanwhile', async () => {
  gate.lead(wrongGate.url)
  expect(await statusByHash()).toMatchObject(WRONG)
  gate.lead(right.rpcUrl)
  expect((await preview()).status).toBe(200)
  gate.lead(wrongGate.url)
  expect(await until(preview, ({ status }) => status !== 200)).toMatchObject(WRONG)
  await expectRefused()
})

const rows = () => sql`select id, status, mined_block_hash, shown_hash from transactions order by id`
const cursors = () => sql`select network, purpose, block_number, block_hash from cursors order by purpose`

/** Waits until all transactions are a success. @returns them. */
const untilSucceeded = async () => [...(await until(rows, (all) => all.every(({ status }) => status === 'success')))]

/** Waits until both followers are at the newest block of the right chain. @returns where they are. */
const untilFollowed = async () => {
  const newest = await right.publicClient.getBlock()
  // The status by hash also shows mined transactions before the followers reach them.
  const at = [...(await until(cursors, (all) => all.every(({ block_hash }) => block_hash === newest.hash)))]
  expect(at.map(({ block_hash }) => block_hash)).toEqual([newest.hash, newest.hash])
  return at
}

test('a worker sends it nothing and records nothing from it; with the right node everything is mined once', async () => {
  gate.lead(right.rpcUrl)
  const first = (await signAndSend()).json.transaction_id
  gate.lead(wrongGate.url)
  gate.takeRequests()
  await startWorker()
  const lastError = async () =>
    (await sql`select max(last_error) as error from tests.attempts where transaction_id = ${first}`)[0]?.error
  expect(await until(lastError, (error) => error !== null)).toBe(`unknown: ${WRONG.json.error}`)
  expect(await statusOf(first)).toMatchObject({ status: 'submitted', transaction_hash: null })
  expect([...(await sql`select from cursors`)]).toEqual([])
  expect(wrongGate.count('eth_sendRawTransaction')).toBe(0)
  gate.lead(right.rpcUrl)
  expect((await service.settled(first)).json).toMatchObject({ status: 'success' })
  const succeeded = await untilSucceeded()
  await untilFollowed()
  expect(await minedCount()).toBe(succeeded.length)
  expect(wrongGate.count('eth_sendRawTransaction')).toBe(0)
})

longTest('a worker whose node is suddenly of another, longer chain rewinds to none of its blocks', async () => {
  gate.lead(right.rpcUrl)
  await startWorker()
  const before = await untilSucceeded()
  const at = await untilFollowed()
  await wrong.mine(50)
  gate.lead(wrongGate.url)
  const asked = wrongGate.count('eth_chainId')
  await until(
    async () => wrongGate.count('eth_chainId'),
    (count) => count >= asked + 6,
  )
  expect([...(await cursors())]).toEqual(at)
  expect(await untilSucceeded()).toEqual(before)
  gate.lead(right.rpcUrl)
  expect((await service.settled((await signAndSend()).json.transaction_id)).json).toMatchObject({ status: 'success' })
  expect(await minedCount()).toBe(before.length + 1)
  expect(wrongGate.count('eth_sendRawTransaction')).toBe(0)
})

longTest(
  'of two nodes that answer in turn, one of another chain, only the right one gets transactions and ends them',
  async () => {
    // As many as there: fees are as low then, and a transaction need not climb because it was priced there.
    await right.mine(50)
    const before = await minedCount()
    gate.lead(right.rpcUrl, wrongGate.url)
    await startWorker()
    const answers: Answer[] = []
    for (let each = 0; each < 12; each += 1) answers.push(await signAndSend())
    const accepted = answers.filter(({ status }) => status === 200)
    for (const refused of answers.filter(({ status }) => status !== 200)) expect(refused).toMatchObject(WRONG)
    expect(accepted.length).toBeGreaterThan(0)
    const asked = wrongGate.count('eth_chainId')
    await until(
      async () => wrongGate.count('eth_chainId'),
      (count) => count >= asked + 6,
    )
    gate.lead(right.rpcUrl)
    // It has waited longer each time.
    await sql`update graphile_worker._private_jobs set run_at = now() where run_at > now()`
    const settled = await Promise.all(accepted.map(({ json }) => service.settled(json.transaction_id)))
    expect(settled.map(({ json }) => json.status)).toEqual(accepted.map(() => 'success'))
    expect(await minedCount()).toBe(before + accepted.length)
    expect(await wrong.publicClient.getTransactionCount({ address: wallet })).toBe(0)
  },
)

longTest('readiness reports a node that does not answer before the request to it ends', async () => {
  gate.spoil({ fault: 'hangs', method: 'eth_chainId' })
  const begun = performance.now()
  expect(await networks()).toMatchObject({ [network]: 'unreachable' })
  // The request itself has a limit of 15 s.
  expect(performance.now() - begun).toBeLessThan(10_000)
})
