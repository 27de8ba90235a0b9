import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { indexStep } from '../../src/activity/index-blocks.ts'
import type { WorkerCtx } from '../../src/context.ts'
import { fundedAccount } from '../support/chains.ts'
import { type AwkwardNode, startAwkwardNode } from './awkward-node.ts'
import { type Project, startWorld, type World } from './world.ts'

const alice = fundedAccount(1)

let world: World
let project: Project
let node: AwkwardNode
let worker: WorkerCtx

beforeAll(async () => {
  world = await startWorld()
  project = await world.createProject()
  await world.watch(project, alice.address)
  node = startAwkwardNode(world.chain.rpcUrl)
  worker = world.open({ rpcUrl: node.rpcUrl })
  await world.index(worker)
})

afterAll(async () => {
  await node.stop()
  await world.close()
})

afterEach(() => {
  Object.assign(node.moods, {
    logsWidthMax: Number.POSITIVE_INFINITY,
    blocksBehind: 0,
    announcesWhatItLacks: false,
    away: false,
  })
})

const step = () => indexStep(worker, worker.chains.get('Ethereum'))
const isKept = async (hash: string): Promise<boolean> =>
  (await world.sql`select from movements where transaction_hash = ${hash}`).length === 1

const pay = async (value: bigint): Promise<string> =>
  (await world.chain.send({ to: alice.address, value })).transactionHash

const logRanges = (): readonly number[] =>
  node.asked.splice(0).flatMap(({ method, params: [where] }) => {
    const { fromBlock, toBlock } = (where ?? {}) as { fromBlock?: string; toBlock?: string }
    return method === 'eth_getLogs' && fromBlock !== undefined ? [Number(toBlock) - Number(fromBlock) + 1] : []
  })

describe('a node that limits ranges', () => {
  test('is asked for less, and nothing is skipped', async () => {
    const first = await pay(1n)
    await world.chain.mine(20)
    const middle = await pay(2n)
    await world.chain.mine(20)
    const last = await pay(3n)
    node.moods.logsWidthMax = 3
    await world.index(worker)
    expect(await Promise.all([first, middle, last].map(isKept))).toEqual([true, true, true])
    const [{ count } = { count: '' }] = await world.sql<{ count: string }[]>`select count(*) from movements`
    expect(count).toBe('3')
  })

  test('is asked for more again, once it gives more', async () => {
    await world.chain.mine(400)
    logRanges()
    await world.index(worker)
    const widths = logRanges()
    expect(Math.max(...widths)).toBeGreaterThan(30)
    expect(widths.reduce((sum, width) => sum + width, 0)).toBe(400)
  })
})

describe('nodes that are not of one mind', () => {
  test('one that is behind takes nothing back', async () => {
    await world.chain.mine(3)
    const hash = await pay(4n)
    await world.index(worker)
    node.moods.blocksBehind = 2
    expect(await step()).toBe('caught_up')
    expect(await isKept(hash)).toBe(true)
    // Far behind: below everything that is remembered.
    node.moods.blocksBehind = 100
    expect(await step()).toBe('caught_up')
    expect(await isKept(hash)).toBe(true)
  })

  test('one that lacks an announced block is waited for', async () => {
    await world.index(worker)
    const early = await pay(5n)
    const late = await pay(6n)
    node.moods.blocksBehind = 1
    node.moods.announcesWhatItLacks = true
    await world.index(worker)
    expect(await isKept(late)).toBe(false)
    // It goes on with what there is.
    await world.index(worker)
    expect(await isKept(early)).toBe(true)
    node.moods.blocksBehind = 0
    await world.index(worker)
    expect(await isKept(late)).toBe(true)
  })

  test('one that is behind, on a chain that was left, is seen through', async () => {
    const gone = await pay(7n)
    await world.chain.mine(2)
    await world.index(worker)
    await world.chain.reorg({ depth: 3 })
    node.moods.blocksBehind = 1
    await world.index(worker)
    expect(await isKept(gone)).toBe(false)
  })
})

describe('a node that is away', () => {
  test('fails the step, and the next one goes on', async () => {
    const hash = await pay(8n)
    node.moods.away = true
    await expect(step()).rejects.toMatchObject({ code: 'node_unavailable' })
    node.moods.away = false
    await world.index(worker)
    expect(await isKept(hash)).toBe(true)
  })
})

describe('a reorganisation below all that is remembered', () => {
  test('is survived: reading goes on from just below, not from the first block', async () => {
    const old = await pay(9n)
    await world.chain.mine(2)
    await pay(9n)
    await world.index(worker)
    // As if the blocks had long been final, and the worker away since.
    await world.sql`delete from seen_blocks where purpose = 'index'`
    await world.chain.reorg({ depth: 1 })
    logRanges()
    await world.index(worker)
    const hash = await pay(10n)
    await world.index(worker)
    expect(await Promise.all([old, hash].map(isKept))).toEqual([true, true])
    expect(logRanges().reduce((sum, width) => sum + width, 0)).toBeLessThan(5)
  })
})
