// The tracker and the reconciler run step by step in this process, so that one acts between two steps of the other.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { type Hex, keccak256 } from 'viem'
import { chained } from '../../src/chains/blocks.ts'
import type { Chain } from '../../src/chains/chain.ts'
import { readConfig } from '../../src/config.ts'
import { createWorkerCtx, type WorkerCtx } from '../../src/context.ts'
import { broadcastTransaction } from '../../src/transactions/broadcast.ts'
import { reconcileTransactions } from '../../src/transactions/reconcile.ts'
import { trackStep } from '../../src/transactions/track.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const MAX_STEPS = 100

let node: TestChain
let service: Service
let sql: Sql
let ctx: WorkerCtx
let chain: Chain

beforeAll(async () => {
  node = await startChain(network)
  service = await startService({ rpcUrls: { [network]: node.rpcUrl } })
  const variables = { ...service.variables, DATABASE_URL: service.database.workerUrl, ROOT_KEY: '' }
  ctx = await createWorkerCtx({ config: readConfig(variables), process: 'test-worker' })
  chain = ctx.chains.withNode(network)
  sql = postgres(service.database.url, { max: 1 })
})

afterAll(async () => {
  await sql.end()
  await ctx.db.close({ timeoutSeconds: 2 })
  await service.close()
  await node.stop()
})

/** Processes one block, where the tracker processes all that there are. */
const step = () => trackStep(ctx, { ...chain, blocksFrom: ({ number }) => chain.blocksFrom({ number, limit: 1 }) })

const catchUp = async () => {
  for (let steps = 0; steps < MAX_STEPS; steps += 1) if ((await step()) === 'caught_up') return
  throw new Error('the tracker did not catch up')
}

/** Makes transactions look as if nothing had been observed for long, so that the reconciler asks the node. */
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
  const [row] = await sql<{ status: string; block: string | null; number: string | null }[]>`
    select status, mined_block_hash as block, mined_block_number as number from transactions where id = ${id}`
  return { status: row?.status, block: row?.block, number: Number(row?.number) }
}

const clearJobs = () => sql`delete from graphile_worker._private_jobs`
const isToBeSent = async (id: string) =>
  (await sql`select from graphile_worker._private_jobs where key = ${`broadcast:${id}`}`).length === 1

describe('a transaction that the reconciler finds in a block that the tracker has not processed', () => {
  test('is a success only once the tracker has processed that block', async () => {
    await catchUp()
    await node.mine(2)
    const id = await send()
    await broadcast(id)
    await reconcile()
    expect(await rowOf(id)).toMatchObject({ status: 'pending', block: expect.any(String) })
    await step()
    await step()
    expect((await rowOf(id)).status).toBe('pending')
    await catchUp()
    expect((await rowOf(id)).status).toBe('success')
  })

  test('is pending and sent again if that block is removed before the tracker reaches it', async () => {
    await catchUp()
    const id = await send()
    await broadcast(id)
    await reconcile()
    const lost = await rowOf(id)
    expect(lost.block).toBeString()
    await node.reorg({ depth: 1 })
    await clearJobs()
    await catchUp()
    expect(await rowOf(id)).toMatchObject({ status: 'pending', block: null })
    expect(await isToBeSent(id)).toBe(true)
    await broadcast(id)
    await catchUp()
    const found = await rowOf(id)
    expect(found).toMatchObject({ status: 'success', number: lost.number + 1 })
  })
})

describe('a transaction recorded in a block that does not contain it', () => {
  test('is detected by the reconciler, and sent again', async () => {
    await catchUp()
    const id = await send()
    const nowhere = keccak256(id as Hex)
    const { number } = await node.publicClient.getBlock()
    await sql`
      update transactions set status = 'pending', mined_block_number = ${String(number)}, mined_block_hash = ${nowhere}
      where id = ${id}`
    await clearJobs()
    await catchUp()
    expect(await rowOf(id)).toMatchObject({ status: 'pending', block: nowhere })
    await reconcile()
    expect(await rowOf(id)).toMatchObject({ status: 'pending', block: null })
    await reconcile()
    expect(await isToBeSent(id)).toBe(true)
    await broadcast(id)
    await catchUp()
    expect((await rowOf(id)).status).toBe('success')
  })
})

test('the chosen attempt is sent again if its job was lost, even if a lower attempt is in the pool', async () => {
  await catchUp()
  await node.setAutomine(false)
  const id = await send()
  await broadcastTransaction(ctx, id)
  await clearJobs()
  await reconcile()
  expect(await isToBeSent(id)).toBe(false)
  await sql`update transactions set chosen = rungs, given_up = 'expired' where id = ${id}`
  await reconcile()
  expect(await isToBeSent(id)).toBe(true)
  await broadcastTransaction(ctx, id)
  await clearJobs()
  await reconcile()
  expect(await isToBeSent(id)).toBe(false)
  await node.mine()
  await node.setAutomine(true)
})

describe('a reorganisation', () => {
  test('takes back reported results at any depth, and keeps those of blocks below it', async () => {
    await catchUp()
    const [below, above, top] = [await send(), await send(), await send()]
    for (const id of [below, above, top]) await broadcast(id)
    await catchUp()
    for (const id of [below, above, top]) expect((await rowOf(id)).status).toBe('success')
    const kept = await rowOf(below)
    await clearJobs()
    await node.reorg({ depth: 2 })
    await catchUp()
    expect(await rowOf(below)).toEqual(kept)
    for (const id of [above, top]) {
      expect(await rowOf(id)).toMatchObject({ status: 'pending', block: null })
      expect(await isToBeSent(id)).toBe(true)
    }
    for (const id of [above, top]) await broadcast(id)
    await catchUp()
    for (const id of [below, above, top]) expect((await rowOf(id)).status).toBe('success')
  })

  test('that removes blocks without replacing them is noticed too', async () => {
    await catchUp()
    const back = await node.snapshot()
    const id = await send()
    await broadcast(id)
    await catchUp()
    expect((await rowOf(id)).status).toBe('success')
    await back()
    await node.mine(3)
    await catchUp()
    expect(await rowOf(id)).toMatchObject({ status: 'pending', block: null })
  })
})

describe('a tracker that is far behind', () => {
  test('reads many blocks in one request, and finds what was mined in any of them', async () => {
    await catchUp()
    const ids: string[] = []
    for (let each = 0; each < 3; each += 1) {
      ids.push(await send())
      await broadcast(ids.at(-1) ?? '')
      await node.mine(30)
    }
    const mined = await Promise.all(ids.map(rowOf))
    expect(mined.map(({ block }) => block)).toEqual([null, null, null])
    let reads = 0
    const counted: Chain = {
      ...chain,
      blocksFrom: (from) => {
        reads += 1
        return chain.blocksFrom(from)
      },
    }
    for (let steps = 0; steps < MAX_STEPS && (await trackStep(ctx, counted)) !== 'caught_up'; steps += 1);
    expect(reads).toBeLessThan(8)
    const found = await Promise.all(ids.map(rowOf))
    for (const { number, block } of found) expect((await chain.block(BigInt(number)))?.hash).toBe(block as Hex)
    expect(new Set(found.map(({ number }) => number)).size).toBe(3)
  })

  test('takes no block whose parent is another than the one before', async () => {
    const head = (await chain.head()).latest.number
    const [first, second, third] = await chain.blocksFrom({ number: head - 2n, limit: 10 })
    expect([first?.number, second?.number, third?.number]).toEqual([head - 2n, head - 1n, head])
    expect(chained([first ?? null, third ?? null, second ?? null])).toEqual(first === undefined ? [] : [first])
    expect(chained([null, second ?? null])).toEqual([])
  })
})
