// Two nodes of one network: what cannot be taken back is recorded only if both say so.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import type { Chain } from '../../src/chains/chain.ts'
import { readConfig } from '../../src/config.ts'
import { createWorkerCtx, type WorkerCtx } from '../../src/context.ts'
import { broadcastTransaction } from '../../src/transactions/broadcast.ts'
import { reconcileTransactions } from '../../src/transactions/reconcile.ts'
import { trackStep } from '../../src/transactions/track.ts'
import { type Behaviour, startFakeNode } from '../chains/evm/fake-node.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const MAX_STEPS = 400
/** For anvil a block is final when two epochs of 32 blocks are above it. */
const BLOCKS_TO_FINAL = 64

let node: TestChain
let other: ReturnType<typeof startFakeNode>
let service: Service
let sql: Sql
let ctx: WorkerCtx
let chain: Chain

beforeAll(async () => {
  node = await startChain(network)
  other = startFakeNode({ behind: node.rpcUrl })
  service = await startService({ rpcUrls: { [network]: `${node.rpcUrl} ${other.rpcUrl}` } })
  const variables = { ...service.variables, DATABASE_URL: service.database.workerUrl, ROOT_KEY: '' }
  ctx = await createWorkerCtx({ config: readConfig(variables), process: 'test-worker' })
  chain = ctx.chains.withNode(network)
  sql = postgres(service.database.url, { max: 2 })
})

afterAll(async () => {
  await sql.end()
  await ctx.db.close({ timeoutSeconds: 2 })
  await service.close()
  await other.stop()
  await node.stop()
})

const ANSWERS: Behaviour = () => undefined

beforeEach(async () => {
  other.behave(ANSWERS)
  await chain.lookAtNodes()
})

const catchUp = async () => {
  for (let steps = 0; steps < MAX_STEPS; steps += 1) if ((await trackStep(ctx, chain)) === 'caught_up') return
  throw new Error('the tracker did not catch up')
}

const reconcile = async () => {
  await sql`update transactions set updated_at = now() - interval '1 hour' where not final`
  await reconcileTransactions(ctx, chain)
}

const record = async (): Promise<{ readonly id: string; readonly address: string }> => {
  const { address } = await service.newWallet({ network })
  await node.fund(address)
  const answer = await service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: address,
    unsigned_transaction: { to: fundedAccount(5).address, value: '1' },
    developer_secret: 'testnet-secret',
  })
  return { id: answer.json.transaction_id, address }
}

const rowOf = async (id: string) => {
  const [row] = await sql<{ status: string; final: boolean; code: string | null }[]>`
    select status, final, error_code as code from transactions where id = ${id}`
  return row
}

/** A transaction that succeeded, in a block that is final by now. */
const mined = async (): Promise<string> => {
  await catchUp()
  const { id } = await record()
  await broadcastTransaction(ctx, id)
  await node.poolMined()
  await catchUp()
  expect(await rowOf(id)).toEqual({ status: 'success', final: false, code: null })
  return id
}

const receiptWith = (change: object): Behaviour => {
  return async ({ method, params }) => {
    if (method !== 'eth_getTransactionReceipt') return undefined
    return { result: { ...((await node.rpc(method, params)) as object), ...change } }
  }
}

const DISAGREEMENTS: Record<string, Behaviour> = {
  'does not know it': ({ method }) => (method.startsWith('eth_getTransaction') ? { result: null } : undefined),
  'has it in another block': receiptWith({ blockHash: `0x${'ab'.repeat(32)}` }),
  'says that it failed': receiptWith({ status: '0x0' }),
  'refuses to say': ({ method }) =>
    method === 'eth_getTransactionReceipt' ? { error: { code: -32_603, message: 'Internal error' } } : undefined,
}

test.each(Object.keys(DISAGREEMENTS))('a transaction is not final while the other node %s', async (name) => {
  const id = await mined()
  other.behave(DISAGREEMENTS[name] ?? ANSWERS)
  await node.mine(BLOCKS_TO_FINAL + 6)
  await catchUp()
  expect(await rowOf(id)).toEqual({ status: 'success', final: false, code: null })
  other.behave(ANSWERS)
  await catchUp()
  expect(await rowOf(id)).toEqual({ status: 'success', final: true, code: null })
})

test('a transaction is not final while its block is not final for the other node', async () => {
  const id = await mined()
  const { number } = (await chain.head()).latest
  const old = `0x${number.toString(16)}`
  other.behave(async ({ method, params }) =>
    method === 'eth_getBlockByNumber' && params[0] === 'finalized'
      ? { result: await node.rpc(method, [`0x${(number - 1n).toString(16)}`, false]) }
      : undefined,
  )
  await node.mine(BLOCKS_TO_FINAL + 6)
  await catchUp()
  expect({ old, ...(await rowOf(id)) }).toMatchObject({ final: false })
  other.behave(ANSWERS)
  await catchUp()
  expect(await rowOf(id)).toMatchObject({ status: 'success', final: true })
})

test('a nonce is not reported as taken while the other node does not count it, or has our transaction', async () => {
  await catchUp()
  const { id, address } = await record()
  await node.rpc('anvil_setNonce', [address, '0x1'])
  await node.mine(BLOCKS_TO_FINAL + 6)
  await catchUp()
  other.behave(({ method }) => (method === 'eth_getTransactionCount' ? { result: '0x0' } : undefined))
  await reconcile()
  expect(await rowOf(id)).toMatchObject({ final: false, code: null })
  other.behave(({ method }) => (method === 'eth_getTransactionByHash' ? { result: { hash: '0x1' } } : undefined))
  await reconcile()
  expect(await rowOf(id)).toMatchObject({ final: false, code: null })
  other.behave(ANSWERS)
  await reconcile()
  expect(await rowOf(id)).toMatchObject({ status: 'failed', final: true, code: 'nonce_taken' })
})

test('a node that is away has no opinion: the other one decides', async () => {
  const id = await mined()
  await other.stop()
  await node.mine(BLOCKS_TO_FINAL + 6)
  while ((await chain.lookAtNodes())[1]?.state !== 'failing' || chain.opinions().length === 2) await chain.lookAtNodes()
  await catchUp()
  expect(await rowOf(id)).toMatchObject({ status: 'success', final: true })
})
