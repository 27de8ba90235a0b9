import { afterEach, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Address } from 'viem'
import { backfillStep } from '../../src/assets/activity/backfill.ts'
import { indexStep } from '../../src/assets/activity/index-blocks.ts'
import type { Chain } from '../../src/chains/chain.ts'
import { fundedAccount } from '../support/chains.ts'
import { longTest } from '../support/long.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startAwkwardNode } from './awkward-node.ts'
import { anyMove, createMoves, people } from './moves.ts'
import { createReckoning, told } from './reckoning.ts'
import { startWorld } from './world.ts'

const SEED = Number(process.env.STRONGROOM_SEED ?? 20_261_104)

const alice = fundedAccount(1)

const world = await shared(startWorld())
const project = await world.createProject()
await world.watch(project, alice.address)
const node = startAwkwardNode(world.chain.rpcUrl)
afterTests(() => node.stop())
const worker = world.open({ rpcUrl: node.rpcUrl })
await world.index(worker)

afterEach(() => node.calm())

const step = () => indexStep(worker, worker.chains.withNode('Ethereum'))
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
  test('is asked for smaller ranges, and nothing is skipped', async () => {
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

  longTest('is asked for larger ranges again when it allows them', async () => {
    await world.chain.mine(400)
    logRanges()
    await world.index(worker)
    const widths = logRanges()
    expect(Math.max(...widths)).toBeGreaterThan(30)
    expect(widths.reduce((sum, width) => sum + width, 0)).toBe(400)
  })
})

describe('nodes behind one URL that disagree', () => {
  test('a node that is behind causes no rewind', async () => {
    // So many that the node can be far behind.
    await world.chain.mine(120)
    const hash = await pay(4n)
    await world.index(worker)
    node.moods.blocksBehind = 2
    expect(await step()).toBe('caught_up')
    expect(await isKept(hash)).toBe(true)
    // Far behind: below all remembered blocks.
    node.moods.blocksBehind = 100
    expect(await step()).toBe('caught_up')
    expect(await isKept(hash)).toBe(true)
  })

  test('the indexer waits for a node that lacks an announced block', async () => {
    await world.index(worker)
    const early = await pay(5n)
    const late = await pay(6n)
    node.moods.blocksBehind = 1
    node.moods.announcesWhatItLacks = true
    await world.index(worker)
    expect(await isKept(late)).toBe(false)
    // It continues with the blocks that are there.
    await world.index(worker)
    expect(await isKept(early)).toBe(true)
    node.moods.blocksBehind = 0
    await world.index(worker)
    expect(await isKept(late)).toBe(true)
  })

  test('the indexer waits for a node that lacks the block to trace, but not for one that cannot trace it', async () => {
    const forwarder = await world.chain.deploy('CoinForwarder')
    await world.index(worker)
    const forward = async (value: bigint) =>
      (await world.chain.write({ contract: forwarder, functionName: 'forward', args: [alice.address], value }))
        .transactionHash
    const traced = await forward(11n)
    Object.assign(node.moods, { blocksBehind: 1, behindFor: 'trace_block' })
    await world.index(worker)
    expect(await isKept(traced)).toBe(false)
    node.calm()
    await world.index(worker)
    expect(await isKept(traced)).toBe(true)
    node.moods.tracesNothing = true
    const [untraced, plain] = [await forward(12n), await pay(13n)]
    await world.index(worker)
    expect(await Promise.all([untraced, plain].map(isKept))).toEqual([false, true])
  })

  test('a node that is behind, on an abandoned branch, is detected', async () => {
    const gone = await pay(7n)
    await world.chain.mine(2)
    await world.index(worker)
    await world.chain.reorg({ depth: 3 })
    node.moods.blocksBehind = 1
    await world.index(worker)
    expect(await isKept(gone)).toBe(false)
  })
})

describe('all faults at once', () => {
  /** Runs the indexer until it has the newest block, even if the node sometimes reports an older one. */
  const indexAll = async () => {
    const head = await world.chain.publicClient.getBlockNumber()
    for (let steps = 1; steps <= 500; steps += 1) {
      await step()
      const [cursor] = await world.sql`select block_number::int as at from cursors where purpose = 'index'`
      if (BigInt(cursor?.at) === head) return
    }
    throw new Error('the indexer did not get there')
  }

  longTest(
    'no item is missing or duplicated, neither by the indexer nor by the backfill',
    async () => {
      await world.chain.mine(8)
      const start = (await world.chain.publicClient.getBlockNumber()) + 1n
      const moves = await createMoves(world.chain)
      const reckoning = createReckoning({ chain: world.chain, kinds: moves.kinds })
      await reckoning.note(start)
      const [, followed, whole, byEvents] = people
      await world.watch(project, followed.address)
      const nodeMoods = {
        logsWidthMax: 9,
        resultsMax: 6,
        blocksBehind: 2,
        behindPercent: 40,
        announcesWhatItLacks: true,
      }
      Object.assign(node.moods, nodeMoods)

      const { chains } = worker
      const [near, far] = [chains.withNode('Ethereum'), { ...chains.withNode('Ethereum'), wholeBackfillBlocks: 15 }]
      const walking: (readonly [string, Chain])[] = []
      const move = anyMove(moves.count)
      const rounds = fc.record({ move, others: fc.array(move, { minLength: 1, maxLength: 5 }) })
      for (const [index, { move, others }] of fc.sample(rounds, { numRuns: 90, seed: SEED }).entries()) {
        if (index % 4 === 0) await moves.together([move, ...others])
        else await moves.alone(move)
        await reckoning.note()
        if (index === 20) await moves.spam(20)
        if (index === 25 || index === 33) {
          const depth = 3
          await moves.remine({ depth, keepEach: 2 })
          await reckoning.note((await world.chain.publicClient.getBlockNumber()) - BigInt(depth - 1))
        }
        if (index === 30) for (const { address } of [whole, byEvents]) await world.own(project, address)
        if (index === 30) walking.push([whole.address, near], [byEvents.address, far])
        await step()
        for (const [address, chain] of walking) await backfillStep(worker, { chain, address })
      }
      await reckoning.note()
      await indexAll()
      for (const [address, chain] of walking) await world.walkBack(address, { ctx: worker, chain })
      // The faults must have been on all the time.
      expect(node.moods).toMatchObject(nodeMoods)

      const [row] = await world.sql`
      select coins_reached_block as block from backfills where address = ${byEvents.address}`
      expect(BigInt(row?.block)).toBeGreaterThan(start)
      const compare = async (address: Address, coinsFrom = start) => {
        const lines = (await reckoning.expected([address], { fromBlock: start, coinsFrom })).get(address) ?? []
        expect((await world.listed(project, address)).map(told).sort()).toEqual([...lines].sort())
        return lines.length
      }
      expect(await compare(followed.address)).toBeGreaterThan(25)
      expect(await compare(whole.address)).toBeGreaterThan(25)
      expect(await compare(byEvents.address, BigInt(row?.block))).toBeGreaterThan(15)
    },
    60_000,
  )
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

describe('a reorganisation below all remembered blocks', () => {
  test('does no harm: reading continues from just below, not from the first block', async () => {
    const old = await pay(9n)
    await world.chain.mine(2)
    await pay(9n)
    await world.index(worker)
    // As if the blocks had been final for long, and no worker had run since then.
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
