// Observations that are late or incomplete: an answer from before a reorganisation, a node that knows nothing, a head above
// blocks that the node does not have. None of them may decide what only the tracker can know.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { toHex } from 'viem'
import type { Chain } from '../../src/chains/chain.ts'
import { readConfig } from '../../src/config.ts'
import { createWorkerCtx, type WorkerCtx } from '../../src/context.ts'
import { broadcastTransaction } from '../../src/transactions/broadcast.ts'
import { reconcileTransactions } from '../../src/transactions/reconcile.ts'
import { trackStep } from '../../src/transactions/track.ts'
import { startFakeNode } from '../chains/evm/fake-node.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const MAX_STEPS = 200
/** For anvil a block is final when two epochs of 32 blocks are above it. */
const BLOCKS_TO_FINAL = 64

let node: TestChain
let between: ReturnType<typeof startFakeNode>
let service: Service
let sql: Sql
let ctx: WorkerCtx
let chain: Chain

beforeAll(async () => {
  node = await startChain(network)
  between = startFakeNode({ behind: node.rpcUrl })
  service = await startService({ rpcUrls: { [network]: between.rpcUrl } })
  const variables = { ...service.variables, DATABASE_URL: service.database.workerUrl, ROOT_KEY: '' }
  ctx = await createWorkerCtx({ config: readConfig(variables), process: 'test-worker' })
  chain = ctx.chains.withNode(network)
  sql = postgres(service.database.url, { max: 2 })
})

afterAll(async () => {
  await sql.end()
  await ctx.db.close({ timeoutSeconds: 2 })
  await service.close()
  await between.stop()
  await node.stop()
})

beforeEach(() => between.behave(() => undefined))

const step = () => trackStep(ctx, chain)

const catchUp = async () => {
  for (let steps = 0; steps < MAX_STEPS; steps += 1) if ((await step()) === 'caught_up') return
  throw new Error('the tracker did not catch up')
}

/** Makes transactions look unchecked for long, so that the reconciler asks the node. */
const reconcile = async () => {
  await sql`update transactions set updated_at = now() - interval '1 hour' where not final`
  await reconcileTransactions(ctx, chain)
}

const send = async (): Promise<string> => {
  const { address } = await service.newWallet({ network })
  await node.fund(address)
  const answer = await service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: address,
    unsigned_transaction: { to: fundedAccount(5).address, value: '1' },
    developer_secret: 'testnet-secret',
  })
  return answer.json.transaction_id
}

/** Sends a transaction to the node and waits until it is mined. */
const broadcast = async (id: string) => {
  await broadcastTransaction(ctx, id)
  await node.poolMined()
}

const rowOf = async (id: string) => {
  const [row] = await sql<{ status: string; block: string | null; final: boolean; code: string | null }[]>`
    select status, mined_block_hash as block, final, error_code as code from transactions where id = ${id}`
  return row
}

/** The node has the chain's blocks, but no transactions. */
const knowNothing = () =>
  between.behave(({ method }) =>
    method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash' ? { result: null } : undefined,
  )

test('an answer from before a reorganisation puts no transaction into a block that the tracker has left', async () => {
  await catchUp()
  const id = await send()
  await broadcast(id)
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const { transaction_hash: hash } = (await service.get('/transactions/status-by-id', { id })).json
  const receipt = await node.rpc('eth_getTransactionReceipt', [hash])
  expect(receipt).toMatchObject({ transactionHash: hash })
  between.behave(async ({ method }) => {
    if (method !== 'eth_getTransactionReceipt') return undefined
    asked.resolve()
    await answered.promise
    return { result: receipt }
  })
  const looking = reconcile()
  await asked.promise
  await node.reorg({ depth: 1 })
  between.behave(() => undefined)
  await catchUp()
  answered.resolve()
  await looking
  expect(await rowOf(id)).toMatchObject({ status: 'pending', block: null })
})

test('a transaction in a block that the tracker processed before the transaction was recorded is found', async () => {
  await catchUp()
  const id = await send()
  // As if somebody had sent its bytes while they were being recorded.
  await sql`update attempts set hash = reverse(hash) where transaction_id = ${id}`
  await broadcast(id)
  await catchUp()
  expect(await rowOf(id)).toMatchObject({ block: null })
  await sql`update attempts set hash = reverse(hash) where transaction_id = ${id}`
  await reconcile()
  await catchUp()
  expect(await rowOf(id)).toMatchObject({ status: 'success', block: expect.any(String) })
})

test('a node that does not know a mined transaction does not remove it from its block', async () => {
  await catchUp()
  const id = await send()
  await broadcast(id)
  await reconcile()
  const found = await rowOf(id)
  expect(found).toMatchObject({ status: 'pending', block: expect.any(String) })
  knowNothing()
  await reconcile()
  expect(await rowOf(id)).toEqual(found)
  between.behave(() => undefined)
  await catchUp()
  expect(await rowOf(id)).toMatchObject({ status: 'success', block: found?.block })
})

test('nothing becomes final in a block that is no longer on the chain, at any head', async () => {
  await catchUp()
  const id = await send()
  await broadcast(id)
  await catchUp()
  expect(await rowOf(id)).toMatchObject({ status: 'success', final: false })
  await node.reorg({ depth: 1 })
  const number = await node.publicClient.getBlockNumber({ cacheTime: 0 })
  await node.mine(BLOCKS_TO_FINAL + 6)
  // One node behind the URL reports the newest block, another one is far behind.
  const lagging = toHex(number + 1n)
  between.behave(({ method, params }) =>
    method === 'eth_getBlockByNumber' && params[0] === lagging ? { result: null } : undefined,
  )
  await expect(step()).rejects.toMatchObject({ code: 'node_unavailable' })
  expect(await rowOf(id)).toMatchObject({ final: false })
  between.behave(() => undefined)
  await catchUp()
  expect(await rowOf(id)).toMatchObject({ status: 'pending', block: null, final: false })
})

test('a nonce is not reported as taken while the tracker is on a branch that the chain has left', async () => {
  await catchUp()
  const id = await send()
  await node.mine()
  await catchUp()
  // The tracker's block is replaced by one that has the transaction.
  const [attempt] = await sql<
    { raw: string }[]
  >`select raw from attempts where transaction_id = ${id} and rung = 0 and kind = 'rung'`
  await node.rpc('anvil_reorg', [1, [[attempt?.raw, 0]]])
  const { hash } = await node.publicClient.getBlock()
  await node.mine(BLOCKS_TO_FINAL)
  expect((await node.publicClient.getBlock({ blockTag: 'finalized' })).hash).toBe(hash)
  knowNothing()
  await reconcile()
  expect(await rowOf(id)).toMatchObject({ status: 'submitted', code: null })
  between.behave(() => undefined)
  await catchUp()
  expect(await rowOf(id)).toMatchObject({ status: 'success', block: hash })
})

test('a nonce is not reported as taken by a count from blocks that the tracker has not processed', async () => {
  await catchUp()
  const behind = await node.publicClient.getBlockNumber({ cacheTime: 0 })
  const id = await send()
  await broadcast(id)
  await node.mine(BLOCKS_TO_FINAL + 6)
  // One node behind the URL is at the tracker's block, another one has the transaction in a final block.
  const old = toHex(behind)
  between.behave(async ({ method, params }) => {
    if (method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash') return { result: null }
    const isHead = method === 'eth_getBlockByNumber' && !String(params[0]).startsWith('0x')
    return isHead ? { result: await node.rpc(method, [old, params[1]]) } : undefined
  })
  await reconcile()
  expect(await rowOf(id)).toMatchObject({ code: null, final: false })
  between.behave(() => undefined)
  await catchUp()
  expect(await rowOf(id)).toMatchObject({ status: 'success' })
})
