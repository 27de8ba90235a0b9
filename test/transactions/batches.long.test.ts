// Many transactions at once: requests of the tracker and the reconciler to a node are limited in size and number.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { startRound } from '../../src/blocks/follow.ts'
import { RPC_BATCH_LIMIT } from '../../src/chains/node/rpc.ts'
import { broadcastTransaction } from '../../src/signing/transactions/broadcast.ts'
import { reconcileTransactions } from '../../src/signing/transactions/reconcile.ts'
import { trackStep } from '../../src/signing/transactions/track.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Gate, startGate } from '../support/gate.ts'
import { ageTransactions } from '../support/rows.ts'
import { type Stepped, startStepped } from './stepped.ts'

const network = 'Ethereum'
/** More than one batch of receipts. */
const MANY = RPC_BATCH_LIMIT + 50

let chain: TestChain
let gate: Gate
let world: Stepped
let signer: string

beforeAll(async () => {
  chain = await startChain('Ethereum')
  gate = startGate(chain.rpcUrl)
  world = await startStepped({ node: chain, rpcUrls: gate.url })
})

afterAll(async () => {
  await world.close()
  await gate.stop()
})

const send = async (): Promise<string> => {
  const body = {
    network,
    signer_wallet_address: signer,
    unsigned_transaction: { to: fundedAccount(5).address, value: '1', gasLimit: '21000' },
    developer_secret: 'testnet-secret',
  }
  const answer = await world.service.post('/transactions/sign-and-send', body)
  return answer.json.transaction_id
}

/** Sends this many transactions of one signer, and waits until all are in the node's pool. */
const sendMany = async (count: number): Promise<readonly string[]> => {
  const ids = await Promise.all(Array.from({ length: count }, send))
  await Promise.all(ids.map((id) => broadcastTransaction(world.ctx, id)))
  await world.clearJobs()
  return ids
}

const statuses = async (ids: readonly string[]) =>
  (await world.sql`select distinct status from transactions where id = any(${ids})`).map(({ status }) => status)

beforeEach(async () => {
  gate.heal()
  await chain.setAutomine(true)
  await world.catchUp()
  await chain.setAutomine(false)
  signer = await world.newSigner()
})

test('all transactions of a block are settled in its step, with one receipt request each, in bounded batches', async () => {
  const ids = await sendMany(MANY)
  expect(await statuses(ids)).toEqual(['pending'])
  await chain.mine()
  gate.takeRequests()
  expect(await trackStep(world.ctx, world.chain)).toBe('advanced')
  expect(await statuses(ids)).toEqual(['success'])
  const requests = gate.takeRequests()
  expect(requests.flat().filter((method) => method === 'eth_getTransactionReceipt')).toHaveLength(MANY)
  expect(requests.flat()).not.toContain('eth_getTransactionByHash')
  expect(Math.max(...requests.map(({ length }) => length))).toBeLessThanOrEqual(RPC_BATCH_LIMIT)
  expect(requests.length).toBeLessThan(10)
})

test('a receipt that the node does not have yet is requested again, and does not delay others', async () => {
  const ids = await sendMany(3)
  await chain.mine()
  const [late] = await world.sql<
    { hash: string }[]
  >`select shown_hash as hash from transactions where id = ${ids[1] ?? ''}`
  const isLate = ([hash]: readonly unknown[]) => hash === late?.hash
  gate.spoil({ fault: 'answers null', method: 'eth_getTransactionReceipt', where: isLate })
  await world.catchUp()
  expect(await statuses([ids[0] ?? '', ids[2] ?? ''])).toEqual(['success'])
  expect(await statuses([ids[1] ?? ''])).toEqual(['pending'])
  gate.heal()
  await world.catchUp()
  expect(await statuses(ids)).toEqual(['success'])
})

test('waiting transactions are checked in a few bounded batches, and those that are not in the pool are sent again', async () => {
  const ids = await sendMany(MANY)
  const forgotten = ids[RPC_BATCH_LIMIT] ?? ''
  const [row] = await world.sql<{ hash: string }[]>`select shown_hash as hash from transactions where id = ${forgotten}`
  const isForgotten = ([hash]: readonly unknown[]) => hash === row?.hash
  gate.spoil({ fault: 'answers null', method: 'eth_getTransactionByHash', where: isForgotten })
  const quiet = () => ageTransactions(world.sql, '1 hour')
  const toBeSent = async () =>
    (await world.sql<{ key: string }[]>`select key from graphile_worker._private_jobs`).map(({ key }) => key)
  await quiet()
  gate.takeRequests()
  await reconcileTransactions(world.ctx, startRound(world.chain))
  const requests = gate.takeRequests()
  expect(await toBeSent()).toEqual([`broadcast:${forgotten}`])
  expect(Math.max(...requests.map(({ length }) => length))).toBeLessThanOrEqual(RPC_BATCH_LIMIT)
  // Receipts and look-ups in two batches each; the other requests are about the one transaction.
  expect(requests.length).toBeLessThan(10)
  const unasked = await world.sql`
    select from transactions where status = 'pending' and updated_at < now() - interval '1 minute'`
  expect(unasked).toHaveLength(0)

  // If a batch cannot be read, each is requested by itself.
  gate.heal()
  await world.clearJobs()
  gate.spoil({ fault: 'answers in another form', method: 'eth_getTransactionReceipt', times: 1 })
  await quiet()
  await reconcileTransactions(world.ctx, startRound(world.chain))
  expect(await toBeSent()).toEqual([])
  await chain.mine()
  await world.catchUp()
  expect(await statuses(ids)).toEqual(['success'])
})
