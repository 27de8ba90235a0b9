import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, getAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { doubtContracts } from '../../db/queries/doubtful-contracts.ts'
import { insertMovements } from '../../db/queries/movements.ts'
import { readNumbers } from '../../db/queries/numbers.ts'
import { createTasks, reconcileTask, startBackfills } from '../../jobs/tasks/index.ts'
import { backfillShift, backfillStep } from '../../src/assets/activity/backfill.ts'
import { indexStep } from '../../src/assets/activity/index-blocks.ts'
import { keptRows } from '../../src/assets/activity/movement-rows.ts'
import { settleDoubtfulContracts } from '../../src/assets/activity/settle-doubtful-contracts.ts'
import { startRound } from '../../src/blocks/follow.ts'
import type { BlockMovements, Chain } from '../../src/chains/chain.ts'
import { requestBackfill } from '../../src/signing/wallets/create.ts'
import { fundedAccount } from '../support/chains.ts'
import { isLong, longTest } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import type { WorkerCtx } from '../support/worker-here.ts'
import { type AwkwardNode, startAwkwardNode } from './awkward-node.ts'
import { startWorld } from './world.ts'

const alice = fundedAccount(1)
const outsider = fundedAccount(0)

const world = await shared(startWorld())
const project = await world.createProject()
const coin = await world.chain.deploy('TestToken', ['Test', 'TST', 6])
const pieces = await world.chain.deploy('MultiToken', ['', outsider.address])
await world.chain.mine(5)

const newAddress = (): Address => privateKeyToAccount(generatePrivateKey()).address

const chainWith = (changes: Partial<Chain> = {}): Chain => ({ ...world.worker.chains.withNode('Ethereum'), ...changes })

const request = (address: string, keyMadeAt: Date | null = null) =>
  requestBackfill(world.api.db, { network: 'Ethereum', address, keyMadeAt })

const own = (address: string, keyMadeAt: Date | null = null) => world.own(project, address, keyMadeAt)
const walk = (address: string, chain = chainWith(), ctx = world.worker) => world.walkBack(address, { ctx, chain })

const rowsOf = async (address: string): Promise<unknown[]> =>
  (
    await world.sql<{ row: unknown }[]>`
    select jsonb_build_array(direction, standard, amount::text, token_id::text, log_index) as row
    from movements where address = ${address} order by block_number, log_index, item_index, direction`
  ).map(({ row }) => row)

const initiatorsOf = async (address: string): Promise<unknown[]> =>
  (await world.sql`select distinct initiated_by from movements where address = ${address}`).map(
    (row) => row.initiated_by,
  )

const progress = async (address: string) => {
  const [row] = await world.sql`
    select from_block::int as from, reached_block::int as reached, coins_reached_block::int as coins, state
    from strongroom_views.backfills where address = ${address}`
  return row
}

/** One movement of each kind. */
const pastOf = async (address: Address): Promise<void> => {
  await world.chain.send({ to: address, value: 7n })
  await world.chain.write({ contract: coin, functionName: 'mint', args: [address, 3n] })
  const batch = [address, [1n, 2n], [4n, 5n], '0x']
  await world.chain.write({ contract: pieces, functionName: 'mintBatch', args: batch })
}

const TOKENS = [
  ['in', 'erc20', '3', null, 0],
  ['in', 'erc1155', '4', '1', 0],
  ['in', 'erc1155', '5', '2', 0],
]
const PAST = [['in', 'native', '7', null, -1], ...TOKENS]

describe('an address with a past', () => {
  test('gets all past movements once, even if requested several times', async () => {
    const address = newAddress()
    await pastOf(address)
    await world.chain.mine(40)
    await world.index()
    expect(await rowsOf(address)).toEqual([])
    await own(address)
    expect(await progress(address)).toEqual({ from: null, reached: null, coins: null, state: 'not begun' })
    await walk(address)
    expect(await rowsOf(address)).toEqual(PAST)
    expect(await initiatorsOf(address)).toEqual([outsider.address])
    const from = Number(await world.chain.publicClient.getBlockNumber())
    expect(await progress(address)).toEqual({ from, reached: 0, coins: 0, state: 'done' })
    await request(address)
    expect(await walk(address)).toBe(1)
    expect(await rowsOf(address)).toEqual(PAST)
  })

  longTest('is listed over HTTP like movements that the indexer wrote', async () => {
    const address = newAddress()
    await pastOf(address)
    await world.index()
    await own(address)
    await walk(address)
    const { json } = await world.get(project, `/activity?network=Ethereum&wallet_address=${address}`)
    expect((json as { type: string }[]).map(({ type }) => type)).toEqual([
      'receive_nft',
      'receive_nft',
      'receive_token',
      'receive_token',
    ])
  })

  longTest('gets only token movements from below the blocks that are read whole', async () => {
    const address = newAddress()
    await pastOf(address)
    await world.chain.mine(30)
    await world.index()
    await own(address)
    await walk(address, chainWith({ wholeBackfillBlocks: 20 }))
    expect(await rowsOf(address)).toEqual(TOKENS)
    expect(await initiatorsOf(address)).toEqual([outsider.address])
    const from = Number(await world.chain.publicClient.getBlockNumber())
    expect(await progress(address)).toEqual({ from, reached: 0, coins: from - 19, state: 'done' })
  })

  longTest('gets its past from a node that limits ranges', async () => {
    const address = newAddress()
    await pastOf(address)
    await world.chain.mine(60)
    await world.index()
    await own(address)
    const node = startAwkwardNode(world.chain.rpcUrl)
    node.moods.logsWidthMax = 7
    const ctx = world.open({ rpcUrl: node.rpcUrl })
    await walk(address, { ...ctx.chains.withNode('Ethereum'), wholeBackfillBlocks: 12 }, ctx)
    await node.stop()
    expect(await rowsOf(address)).toEqual(TOKENS)
  })

  test('continues where a killed worker stopped', async () => {
    const address = newAddress()
    await pastOf(address)
    await world.chain.mine(60)
    await world.index()
    await own(address)
    const dying = chainWith({ wholeBackfillBlocks: 30 })
    for (let steps = 0; steps < 3; steps += 1) await backfillStep(world.worker, { chain: dying, address })
    const reached = Number((await progress(address))?.reached)
    expect(reached).toBeGreaterThan(0)
    const asked: bigint[] = []
    const rest = chainWith({
      wholeBackfillBlocks: 30,
      movements: (range) => {
        asked.push(range.toBlock)
        return dying.movements(range)
      },
    })
    await walk(address, rest, world.open())
    expect(asked.every((block) => block < BigInt(reached))).toBe(true)
    expect(await rowsOf(address)).toEqual(TOKENS)
  })

  test('gets its past by a job, which the reconciler adds again if it was lost', async () => {
    const address = newAddress()
    await pastOf(address)
    await world.index()
    await own(address)
    const key = `backfill:Ethereum:${address}`
    const jobs = () => world.sql`select priority from graphile_worker.jobs where key = ${key}`
    await world.sql`delete from graphile_worker._private_jobs where key = ${key}`
    await startBackfills(world.worker)
    expect([...(await jobs())].map(({ priority }) => priority)).toEqual([10])
    const task = createTasks(world.worker).backfill_wallet
    await task({ network: 'Ethereum', address }, {} as Parameters<typeof task>[1])
    expect(await rowsOf(address)).toEqual(PAST)
  })

  test('is not searched before its key was made here', async () => {
    const address = newAddress()
    await pastOf(address)
    await world.chain.mine(60)
    await world.chain.rpc('evm_increaseTime', [10_000])
    await world.chain.mine(5)
    await world.index()
    const { timestamp } = await world.chain.publicClient.getBlock()
    await own(address, new Date(Number(timestamp) * 1_000))
    await walk(address)
    expect(await rowsOf(address)).toEqual([])
    expect((await progress(address))?.reached).toBeGreaterThan(0)
  })
})

describe('a node that has pruned old blocks', () => {
  let node: AwkwardNode
  let ctx: WorkerCtx

  beforeAll(() => {
    node = startAwkwardNode(world.chain.rpcUrl)
    ctx = world.open({ rpcUrl: node.rpcUrl })
  })
  afterAll(() => node.stop())
  afterEach(() => node.calm())

  const chain = (wholeBackfillBlocks = 100_000): Chain => ({ ...ctx.chains.withNode('Ethereum'), wholeBackfillBlocks })
  /** One shift, or as many as a slow machine needs until the backfill is done or waits. */
  const shift = async (address: string, ofChain: Chain): Promise<number | null> => {
    for (;;) {
      const seconds = await backfillShift(ctx, { chain: ofChain, address, signal: new AbortController().signal })
      if (seconds !== 0) return seconds
    }
  }
  const hindranceOf = async (address: string) => {
    const [row] = await world.sql`
      select state, hindrance, reason, reached_block::int as reached, coins_reached_block::int as coins,
        traced_reached_block::int as traced, extract(epoch from next_try_at - now())::int as seconds
      from strongroom_views.backfills where address = ${address}`
    return row
  }
  /** Makes its next try due. */
  const again = (address: string) =>
    world.sql`update backfills set next_try_at = now(), hindered_at = now() where address = ${address}`

  /** Movements below and above a block that the node has pruned. */
  const pastAround = async (address: Address): Promise<number> => {
    await pastOf(address)
    await world.chain.mine(20)
    const below = Number(await world.chain.publicClient.getBlockNumber()) + 1
    await pastOf(address)
    await world.chain.mine(20)
    await world.index()
    await own(address)
    return below
  }

  for (const as of ['code', 'words', 'null', 'silent', 'index'] as const) {
    for (const whole of [100_000, 5]) {
      const how = whole === 5 ? 'by events' : 'whole'
      // The suite reads one of them by events.
      if (!isLong && !(as === 'null' && whole === 5)) continue
      test(`is read ${how} down to its first block, and the wallet shows that (${as})`, async () => {
        const address = newAddress()
        const below = await pastAround(address)
        node.moods.pruned = { below, as }
        const reading = chain(whole)
        expect(await shift(address, reading)).toBe(5)
        // If a block had no events, it cannot be seen that they were pruned.
        const reached = ['silent', 'index'].includes(as) ? below - 20 : below
        expect(await hindranceOf(address)).toMatchObject({
          state: 'hindered',
          hindrance: 'pruned',
          reached,
          seconds: 5,
        })
        expect(await rowsOf(address)).toEqual(whole === 5 ? TOKENS : PAST)
        expect(await shift(address, reading)).toBe(10)
        // A node with the whole chain replaces it.
        node.calm()
        expect(await shift(address, reading)).toBeNull()
        expect(await rowsOf(address)).toEqual(whole === 5 ? [...TOKENS, ...TOKENS] : [...PAST, ...PAST])
        expect(await hindranceOf(address)).toMatchObject({ state: 'done', hindrance: null, reached: 0, seconds: null })
      })
    }
  }

  longTest(
    'if it has pruned the state, only the transactions’ own values are read, and the wallet shows that',
    async () => {
      const address = newAddress()
      const forwarder = await world.chain.deploy('CoinForwarder')
      const forward = () =>
        world.chain.write({ contract: forwarder, functionName: 'forward', args: [address], value: 3n })
      await world.chain.send({ to: address, value: 7n })
      await forward()
      await world.chain.mine(2)
      const stateFrom = Number(await world.chain.publicClient.getBlockNumber()) + 1
      await forward()
      await world.index()
      await own(address)
      node.moods.stateFrom = stateFrom
      await walk(address, chain(), ctx)
      expect(await rowsOf(address)).toEqual([
        ['in', 'native', '7', null, -1],
        ['in', 'native', '3', null, -2],
      ])
      // Blocks without transactions need no trace.
      expect(await hindranceOf(address)).toMatchObject({ state: 'done', reached: 0, coins: 0, traced: stateFrom - 2 })
    },
  )

  test('is tried again at growing intervals, and the reason is stored', async () => {
    const address = newAddress()
    await pastAround(address)
    const reading = chain()
    await shift(address, { ...reading, wholeBackfillBlocks: 1 }).catch(() => {})
    await world.sql`update backfills set done_at = null, reached_block = from_block + 1 where address = ${address}`
    node.moods.refuses = new Set(['eth_getBlockByNumber'])
    const pauses: (number | null)[] = []
    for (let tries = 0; tries < 12; tries += 1) pauses.push(await shift(address, reading))
    expect(pauses).toEqual([5, 10, 20, 40, 60, 60, 60, 60, 60, 60, 60, 60])
    node.moods.refuses = new Set(['eth_getLogs'])
    expect(await shift(address, reading)).toBe(3_600)
    expect(await hindranceOf(address)).toMatchObject({
      ...{ state: 'hindered', hindrance: 'refused', reason: 'The Ethereum node refused eth_getLogs.' },
    })
    // Until then the reconciler does nothing.
    const key = `backfill:Ethereum:${address}`
    await world.sql`delete from graphile_worker._private_jobs where key = ${key}`
    const jobs = () => world.sql`select from graphile_worker.jobs where key = ${key}`
    await startBackfills(ctx)
    expect((await jobs()).length).toBe(0)
    await again(address)
    await startBackfills(ctx)
    expect((await jobs()).length).toBe(1)
    expect((await readNumbers(world.api.db, { timeoutMs: 2_000 })).backfills).toContainEqual({
      ...{ network: 'Ethereum', state: 'refused', rows: 1 },
    })
    node.calm()
    node.moods.away = true
    expect(await shift(address, reading)).toBe(60)
    expect(await hindranceOf(address)).toMatchObject({ hindrance: 'away' })
  })
})

describe('the boundary between backfill and indexer', () => {
  test('no movement is missed if the wallet is created between the indexer’s query for wallets and its commit', async () => {
    const address = newAddress()
    await world.index()
    await pastOf(address)
    const chain = world.worker.chains.withNode('Ethereum')
    let imported = false
    const slow = {
      ...chain,
      // The indexer reads facts after its query for wallets: here for alice's movement in the same block.
      facts: async (contracts: readonly string[]) => {
        if (!imported) {
          imported = true
          await own(address)
          expect(await backfillStep(world.worker, { chain, address })).toBe('advanced')
        }
        return chain.facts(contracts)
      },
    }
    await world.watch(project, alice.address)
    await world.chain.write({ contract: coin, functionName: 'mint', args: [alice.address, 1n] })
    expect(await indexStep(world.worker, slow)).toBe('advanced')
    expect(imported).toBe(true)
    await world.index()
    await walk(address)
    expect(await rowsOf(address)).toEqual(PAST)
  })

  test('a movement that both see is stored once', async () => {
    const address = newAddress()
    await pastOf(address)
    await own(address)
    await backfillStep(world.worker, { chain: chainWith(), address })
    await world.index()
    await walk(address)
    await world.chain.mine(1)
    await world.index()
    expect(await rowsOf(address)).toEqual(PAST)
  })

  test('a range that a reorganisation removed during the read is not written', async () => {
    const address = newAddress()
    await world.chain.mine(4)
    await pastOf(address)
    await world.index()
    await own(address)
    const chain = chainWith()
    expect(await backfillStep(world.worker, { chain, address })).toBe('advanced')
    const during = chainWith({
      movements: async (range): Promise<readonly BlockMovements[] | null> => {
        const blocks = await chain.movements(range)
        await world.chain.reorg({ depth: 3 })
        await world.chain.mine(1)
        await world.index()
        return blocks
      },
    })
    expect(await backfillStep(world.worker, { chain: during, address })).toBe('wait')
    await pastOf(address)
    await world.index()
    await walk(address)
    expect(await rowsOf(address)).toEqual(PAST)
  })

  longTest('if the indexer goes back below the backfill, it reads those blocks itself', async () => {
    const address = newAddress()
    await world.chain.mine(4)
    await world.index()
    await pastOf(address)
    await world.index()
    await own(address)
    expect(await backfillStep(world.worker, { chain: chainWith(), address })).toBe('advanced')
    await world.chain.reorg({ depth: 3 })
    // It is back at the fork, and has not moved forward yet.
    expect(await indexStep(world.worker, world.worker.chains.withNode('Ethereum'))).toBe('advanced')
    await walk(address)
    expect(await rowsOf(address)).toEqual([])
    await pastOf(address)
    await world.index()
    expect(await rowsOf(address)).toEqual(PAST)
  })
})

test('tokens with unusual topics are read by their contract’s standard, by both', async () => {
  const nft = await world.chain.deploy('OddToken', [true])
  const amount = await world.chain.deploy('OddToken', [false])
  const [before, live] = [newAddress(), newAddress()]
  await world.watch(project, live)
  for (const to of [before, live]) {
    for (const contract of [nft, amount]) {
      await world.chain.write({ contract, functionName: 'move', args: [outsider.address, to, 42n] })
    }
  }
  await world.index()
  await own(before)
  await walk(before)
  for (const address of [before, live]) {
    expect(await rowsOf(address)).toEqual([
      ['in', 'erc721', '1', '42', 0],
      ['in', 'erc20', '42', null, 0],
    ])
    const { json } = await world.get(project, `/nfts?network=Ethereum&wallet_address=${address}`)
    expect(json).toMatchObject([{ contract_address: getAddress(nft.address), token_id: '42' }])
  }
})

describe('tokens whose standard could not be read', () => {
  const doubts = async () =>
    (await world.sql<{ contract: string; tries: number }[]>`select contract, tries from doubtful_contracts`).map(
      ({ contract, tries }) => [contract, tries],
    )

  longTest('are stored by their events at first, and corrected by both once the contract can be read', async () => {
    await world.index()
    const [before, live] = [newAddress(), newAddress()]
    const contracts: string[] = []
    await world.watch(project, live)
    const node = startAwkwardNode(world.chain.rpcUrl)
    node.moods.refuses = new Set(['eth_getCode'])
    const ctx = world.open({ rpcUrl: node.rpcUrl })
    for (const to of [before, live]) {
      for (const isNft of [true, false]) {
        const contract = await world.chain.deploy('OddToken', [isNft])
        contracts.push(getAddress(contract.address))
        await world.chain.write({ contract, functionName: 'move', args: [outsider.address, to, 42n] })
      }
    }
    contracts.sort()
    await world.index(ctx)
    await own(before)
    await walk(before, ctx.chains.withNode('Ethereum'), ctx)
    const [wrong, right] = [
      [
        ['in', 'erc20', '42', null, 0],
        ['in', 'erc721', '1', '42', 0],
      ],
      [
        ['in', 'erc721', '1', '42', 0],
        ['in', 'erc20', '42', null, 0],
      ],
    ]
    for (const address of [before, live]) expect(await rowsOf(address)).toEqual(wrong)
    expect((await doubts()).sort()).toEqual(contracts.map((contract) => [contract, 0]))
    expect((await readNumbers(world.api.db, { timeoutMs: 2_000 })).doubtful).toMatchObject([{ rows: 4 }])

    // Each try fails, and is not repeated at once.
    for (let tries = 0; tries < 2; tries += 1)
      await settleDoubtfulContracts(ctx, startRound(ctx.chains.withNode('Ethereum')))
    expect((await doubts()).sort()).toEqual(contracts.map((contract) => [contract, 1]))
    node.calm()
    await settleDoubtfulContracts(ctx, startRound(ctx.chains.withNode('Ethereum')))
    expect((await doubts()).length).toBe(4)

    // The reconciler does it when it is due.
    await world.sql`update doubtful_contracts set next_try_at = now()`
    const task = reconcileTask(ctx)
    await task({ again: false }, {} as Parameters<typeof task>[1])
    await node.stop()
    expect(await doubts()).toEqual([])
    for (const address of [before, live]) {
      expect(await rowsOf(address)).toEqual(right)
      const { json } = await world.get(project, `/nfts?network=Ethereum&wallet_address=${address}`)
      expect(json).toMatchObject([{ token_id: '42' }])
    }
  })

  test('are corrected together with movements that are stored meanwhile', async () => {
    const nft = await world.chain.deploy('OddToken', [true])
    const contract = getAddress(nft.address)
    const address = newAddress()
    await world.watch(project, address)
    await world.index()
    await world.chain.write({ contract: nft, functionName: 'move', args: [outsider.address, address, 42n] })
    const chain = chainWith()
    const { db } = world.worker
    const block = await world.chain.publicClient.getBlockNumber()
    await db.transaction((tx) =>
      doubtContracts(tx, { network: 'Ethereum', contracts: [contract], fromBlock: block, toBlock: block }),
    )
    const { promise: written, resolve: write } = Promise.withResolvers<void>()
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    // A range with its movements is written, but not committed.
    const writing = db.transaction(async (tx) => {
      const [movements] = (await chain.movements({ fromBlock: block, toBlock: block })) ?? []
      if (movements === undefined) throw new Error('there is no block')
      const watched = { addresses: new Set([address]), collections: new Set<string>() }
      await insertMovements(tx, keptRows({ network: 'Ethereum', blocks: [movements], watched }))
      await doubtContracts(tx, { network: 'Ethereum', contracts: [contract], fromBlock: block, toBlock: block })
      write()
      await ended
    })
    await written
    const settled = settleDoubtfulContracts(world.worker, startRound(chain))
    const isWaiting = async () =>
      (await world.sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)
        .length === 1
    for (const deadline = Date.now() + 5_000; !(await isWaiting()); await Bun.sleep(5)) {
      if (Date.now() > deadline) throw new Error('the correction did not wait')
    }
    end()
    await Promise.all([writing, settled])
    expect(await rowsOf(address)).toEqual([['in', 'erc721', '1', '42', 0]])
    expect(await doubts()).toEqual([])
  })
})
