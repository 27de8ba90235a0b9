// The tracker and the reconciler run step by step in this process, so that one acts between two steps of the other.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Hex, keccak256 } from 'viem'
import { lockTransactions } from '../../db/queries/transactions.ts'
import { chained } from '../../src/chains/blocks.ts'
import type { Chain } from '../../src/chains/chain.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { broadcastTransaction } from '../../src/signing/transactions/broadcast.ts'
import { trackStep } from '../../src/signing/transactions/track.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { longTest } from '../support/long.ts'
import { BLOCKS_TO_FINAL, type Stepped, startStepped } from './stepped.ts'

let node: TestChain
let world: Stepped
/** Gives the tracker one block at a time, where it would take all that there are. */
let oneByOne: Chain

beforeAll(async () => {
  node = await startChain('Ethereum')
  world = await startStepped({ node, rpcUrls: node.rpcUrl })
  const { chain } = world
  oneByOne = { ...chain, blocksFrom: ({ number }) => chain.blocksFrom({ number, limit: 1 }) }
})

afterAll(() => world.close())

const step = () => trackStep(world.ctx, oneByOne)
const catchUp = () => world.catchUp(oneByOne)

const isToBeSent = async (id: string) =>
  (await world.sql`select from graphile_worker._private_jobs where key = ${`broadcast:${id}`}`).length === 1

test("a tracker's first step misses nothing of what is final by then", async () => {
  const id = await world.send()
  await world.broadcast(id)
  await node.mine(BLOCKS_TO_FINAL + 6)
  await step()
  await world.catchUp()
  expect(await world.rowOf(id)).toMatchObject({ status: 'success' })
})

describe('a transaction that the reconciler finds in a block that the tracker has not processed', () => {
  test('is a success only once the tracker has processed that block', async () => {
    await catchUp()
    await node.mine(2)
    const id = await world.send()
    await world.broadcast(id)
    await world.reconcile()
    expect(await world.rowOf(id)).toMatchObject({ status: 'pending', block: expect.any(String) })
    await step()
    await step()
    expect((await world.rowOf(id)).status).toBe('pending')
    await catchUp()
    expect((await world.rowOf(id)).status).toBe('success')
  })

  longTest('is pending and sent again if that block is removed before the tracker reaches it', async () => {
    await catchUp()
    const id = await world.send()
    await world.broadcast(id)
    await world.reconcile()
    const lost = await world.rowOf(id)
    expect(lost.block).toBeString()
    await node.reorg({ depth: 1 })
    await world.clearJobs()
    await catchUp()
    expect(await world.rowOf(id)).toMatchObject({ status: 'pending', block: null })
    expect(await isToBeSent(id)).toBe(true)
    await world.broadcast(id)
    await catchUp()
    const found = await world.rowOf(id)
    expect(found).toMatchObject({ status: 'success', number: lost.number + 1 })
  })
})

describe('a transaction recorded in a block that does not contain it', () => {
  test('is detected by the reconciler, and sent again', async () => {
    await catchUp()
    const id = await world.send()
    const nowhere = keccak256(id as Hex)
    const { number } = await node.publicClient.getBlock()
    await world.sql`
      update transactions set status = 'pending', mined_block_number = ${String(number)}, mined_block_hash = ${nowhere}
      where id = ${id}`
    await world.clearJobs()
    await catchUp()
    expect(await world.rowOf(id)).toMatchObject({ status: 'pending', block: nowhere })
    await world.reconcile()
    expect(await world.rowOf(id)).toMatchObject({ status: 'pending', block: null })
    await world.reconcile()
    expect(await isToBeSent(id)).toBe(true)
    await world.broadcast(id)
    await catchUp()
    expect((await world.rowOf(id)).status).toBe('success')
  })
})

test('the chosen attempt is sent again if its job was lost, even if a lower attempt is in the pool', async () => {
  await catchUp()
  await node.setAutomine(false)
  const id = await world.send()
  await broadcastTransaction(world.ctx, id)
  await world.clearJobs()
  await world.reconcile()
  expect(await isToBeSent(id)).toBe(false)
  await world.sql`update transactions set chosen = rungs, given_up = 'expired' where id = ${id}`
  await world.reconcile()
  expect(await isToBeSent(id)).toBe(true)
  await broadcastTransaction(world.ctx, id)
  await world.clearJobs()
  await world.reconcile()
  expect(await isToBeSent(id)).toBe(false)
  await node.mine()
  await node.setAutomine(true)
})

test('simultaneous observations of one transaction are recorded one after the other', async () => {
  const id = await world.send()
  const attempts = await world.sql<
    { hash: string }[]
  >`select hash from tests.attempts where transaction_id = ${id} order by kind desc, rung`
  const accepted = { kind: 'accepted', hash: attempts[0]?.hash ?? '' } as const
  await Promise.all([
    world.ctx.recordObservation({ transactionId: id, observation: accepted }),
    world.ctx.recordObservation({ transactionId: id, observation: { kind: 'underpriced' } }),
    world.ctx.recordObservation({ transactionId: id, observation: { kind: 'underpriced' } }),
  ])
  const [row] = await world.sql`select status, chosen from transactions where id = ${id}`
  expect({ ...row }).toEqual({ status: 'pending', chosen: 2 })
})

describe('a payment on a chain that stands still', () => {
  /** Makes all that was noted this much older. */
  const pass = async (seconds: number): Promise<void> => {
    await world.sql`
      update transactions set clock_started_at = clock_started_at - make_interval(secs => ${seconds}),
        chosen_at = chosen_at - make_interval(secs => ${seconds})
      where not final`
    await world.sql`
      update cursors set updated_at = updated_at - make_interval(secs => ${seconds}),
        resumed_at = resumed_at - make_interval(secs => ${seconds})`
  }

  /** A block without the payment. */
  const mineEmpty = async (): Promise<void> => {
    await node.rpc('anvil_dropAllTransactions')
    await node.mine()
  }

  const fateOf = async (id: string) =>
    (await world.sql`select chosen, given_up as "givenUp" from transactions where id = ${id}`)[0]

  const AS_SENT = { chosen: 0, givenUp: null }
  const HOUR_SECONDS = 3_600

  /** In the pool, with a clock that runs. */
  const waiting = async (signer?: string): Promise<string> => {
    const id = await world.send(signer)
    await broadcastTransaction(world.ctx, id)
    await step()
    return id
  }

  beforeAll(async () => {
    await catchUp()
    await node.setAutomine(false)
  })

  afterAll(() => node.setAutomine(true))

  test('keeps its fee and is not given up, whichever worker looks; it succeeds when the chain goes on', async () => {
    const id = await waiting()
    const variables = { ...world.service.variables, DATABASE_URL: world.service.database.workerUrl, VAULT_SOCKET: '' }
    const restarted = await createWorkerCtx({ config: readConfig(variables), process: 'test-worker-restarted' })
    for (let hours = 0; hours < 2; hours += 1) {
      await pass(HOUR_SECONDS)
      for (const ctx of [world.ctx, restarted, world.ctx]) expect(await trackStep(ctx, oneByOne)).toBe('caught_up')
      expect(await fateOf(id)).toEqual(AS_SENT)
    }
    await restarted.close({ timeoutSeconds: 2 })
    // The first block leaves it out, and the hours before it do not count.
    await mineEmpty()
    await catchUp()
    await step()
    expect(await fateOf(id)).toEqual(AS_SENT)
    await broadcastTransaction(world.ctx, id)
    await node.mine()
    await catchUp()
    expect(await world.rowOf(id)).toMatchObject({ status: 'success' })
  })

  longTest('and goes on with another branch does not count that time either', async () => {
    const signer = await world.newSigner()
    // A reorganisation takes the signer's coins back if it reaches below them.
    await node.mine(2)
    await catchUp()
    const id = await waiting(signer)
    await pass(HOUR_SECONDS)
    await node.rpc('anvil_dropAllTransactions')
    await node.reorg({ depth: 1 })
    await mineEmpty()
    await catchUp()
    await step()
    expect(await fateOf(id)).toEqual(AS_SENT)
    await broadcastTransaction(world.ctx, id)
    await node.mine()
    await catchUp()
    expect(await world.rowOf(id)).toMatchObject({ status: 'success' })
  })

  test('offers more and is given up in time in which blocks came and left it out', async () => {
    const id = await waiting()
    await pass(5)
    await step()
    expect(await fateOf(id)).toEqual(AS_SENT)
    await mineEmpty()
    await catchUp()
    expect(await fateOf(id)).toEqual({ chosen: 1, givenUp: null })
    for (let each = 0; each < 4; each += 1) {
      await pass(5)
      await mineEmpty()
      await catchUp()
    }
    expect(await fateOf(id)).toMatchObject({ givenUp: 'expired' })
  })
})

describe('a reorganisation', () => {
  test('takes back reported results at any depth, and keeps those of blocks below it', async () => {
    await catchUp()
    const [below, above, top] = [await world.send(), await world.send(), await world.send()]
    for (const id of [below, above, top]) await world.broadcast(id)
    await catchUp()
    for (const id of [below, above, top]) expect((await world.rowOf(id)).status).toBe('success')
    const kept = await world.rowOf(below)
    await world.clearJobs()
    await node.reorg({ depth: 2 })
    await catchUp()
    expect(await world.rowOf(below)).toEqual(kept)
    for (const id of [above, top]) {
      expect(await world.rowOf(id)).toMatchObject({ status: 'pending', block: null })
      expect(await isToBeSent(id)).toBe(true)
    }
    for (const id of [above, top]) await world.broadcast(id)
    await catchUp()
    for (const id of [below, above, top]) expect((await world.rowOf(id)).status).toBe('success')
  })

  test('that removes blocks without replacing them is noticed too', async () => {
    await catchUp()
    const back = await node.snapshot()
    const id = await world.send()
    await world.broadcast(id)
    await catchUp()
    expect((await world.rowOf(id)).status).toBe('success')
    await back()
    await node.mine(3)
    await catchUp()
    expect(await world.rowOf(id)).toMatchObject({ status: 'pending', block: null })
  })
})

describe('a tracker that is far behind', () => {
  test('reads many blocks in one request, and finds what was mined in any of them', async () => {
    await catchUp()
    const ids: string[] = []
    for (let each = 0; each < 3; each += 1) {
      ids.push(await world.send())
      await world.broadcast(ids.at(-1) ?? '')
      await node.mine(30)
    }
    const mined = await Promise.all(ids.map(world.rowOf))
    expect(mined.map(({ block }) => block)).toEqual([null, null, null])
    let reads = 0
    const counted: Chain = {
      ...world.chain,
      blocksFrom: (from) => {
        reads += 1
        return world.chain.blocksFrom(from)
      },
    }
    await world.catchUp(counted)
    expect(reads).toBeLessThan(8)
    const found = await Promise.all(ids.map(world.rowOf))
    for (const { number, block } of found) expect((await world.chain.block(BigInt(number)))?.hash).toBe(block as Hex)
    expect(new Set(found.map(({ number }) => number)).size).toBe(3)
  })

  longTest('and another worker lock the same transactions in the same order', async () => {
    await catchUp()
    const [first = '', second = ''] = [await world.send(), await world.send()].sort()
    // The one that is locked second is in the lower block.
    await world.broadcast(second)
    await world.broadcast(first)
    const waiting = () =>
      world.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    const tracking = world.ctx.db.transaction(async (tx) => {
      await lockTransactions(tx, [first])
      const step = trackStep(world.ctx, world.chain)
      // It is awaited outside of the transaction: this only prevents an unhandled rejection.
      step.catch(() => {})
      while ((await waiting()).length === 0) await Bun.sleep(5)
      // If the tracker held this one, the two would wait for each other, and PostgreSQL would end one of them.
      await lockTransactions(tx, [second])
      return { step }
    })
    await (await tracking).step
    await catchUp()
    for (const id of [first, second]) expect((await world.rowOf(id)).status).toBe('success')
  })

  test('takes no block whose parent is another than the one before', async () => {
    const head = (await world.chain.head()).latest.number
    const [first, second, third] = await world.chain.blocksFrom({ number: head - 2n, limit: 10 })
    expect([first?.number, second?.number, third?.number]).toEqual([head - 2n, head - 1n, head])
    expect(chained([first ?? null, third ?? null, second ?? null])).toEqual(first === undefined ? [] : [first])
    expect(chained([null, second ?? null])).toEqual([])
  })
})
