import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, getAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { backfillWalletTask, startBackfills } from '../../jobs/tasks/backfill-wallet.ts'
import { backfillStep } from '../../src/activity/backfill.ts'
import { indexStep } from '../../src/activity/index-blocks.ts'
import { requestBackfill } from '../../src/activity/request-backfill.ts'
import type { BlockMovements, Chain } from '../../src/chains/chain.ts'
import { fundedAccount } from '../support/chains.ts'
import { startAwkwardNode } from './awkward-node.ts'
import { type Project, startWorld, type World } from './world.ts'

const alice = fundedAccount(1)
const outsider = fundedAccount(0)

let world: World
let project: Project
let coin: Awaited<ReturnType<World['chain']['deploy']>>
let pieces: typeof coin

beforeAll(async () => {
  world = await startWorld()
  project = await world.createProject()
  coin = await world.chain.deploy('TestToken', ['Test', 'TST', 6])
  pieces = await world.chain.deploy('MultiToken', ['', outsider.address])
  await world.chain.mine(5)
})

afterAll(() => world.close())

const newAddress = (): Address => privateKeyToAccount(generatePrivateKey()).address

const chainWith = (changes: Partial<Chain> = {}): Chain => ({ ...world.worker.chains.get('Ethereum'), ...changes })

const request = (address: string, keyMadeAt: Date | null = null) =>
  requestBackfill(world.api.db, { network: 'Ethereum', address, keyMadeAt })

/** Imports an address as it is. */
const own = async (address: string, keyMadeAt: Date | null = null): Promise<void> => {
  await world.watch(project, address)
  await request(address, keyMadeAt)
}

/** Steps until the walk is done. */
const walk = async (address: string, chain = chainWith(), ctx = world.worker): Promise<number> => {
  for (let steps = 1; steps <= 500; steps += 1) {
    if ((await backfillStep(ctx, { chain, address })) === 'done') return steps
  }
  throw new Error('the walk did not end')
}

const rowsOf = async (address: string): Promise<unknown[]> =>
  (
    await world.sql<{ row: unknown }[]>`
    select jsonb_build_array(direction, standard, amount::text, token_id::text, log_index) as row
    from movements where address = ${address} order by block_number, log_index, item_index, direction`
  ).map(({ row }) => row)

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
  test('gets all of it, once, however often it is asked for', async () => {
    const address = newAddress()
    await pastOf(address)
    await world.chain.mine(40)
    await world.index()
    expect(await rowsOf(address)).toEqual([])
    await own(address)
    expect(await progress(address)).toEqual({ from: null, reached: null, coins: null, state: 'not begun' })
    await walk(address)
    expect(await rowsOf(address)).toEqual(PAST)
    const from = Number(await world.chain.publicClient.getBlockNumber())
    expect(await progress(address)).toEqual({ from, reached: 0, coins: 0, state: 'done' })
    await request(address)
    expect(await walk(address)).toBe(1)
    expect(await rowsOf(address)).toEqual(PAST)
  })

  test('is listed over HTTP as what the indexer wrote', async () => {
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

  test('gets what its tokens tell from below the blocks that are read whole', async () => {
    const address = newAddress()
    await pastOf(address)
    await world.chain.mine(30)
    await world.index()
    await own(address)
    await walk(address, chainWith({ wholeBackfillBlocks: 20 }))
    expect(await rowsOf(address)).toEqual(TOKENS)
    const from = Number(await world.chain.publicClient.getBlockNumber())
    expect(await progress(address)).toEqual({ from, reached: 0, coins: from - 19, state: 'done' })
  })

  test('gets it from a node that limits ranges', async () => {
    const address = newAddress()
    await pastOf(address)
    await world.chain.mine(60)
    await world.index()
    await own(address)
    const node = startAwkwardNode(world.chain.rpcUrl)
    node.moods.logsWidthMax = 7
    const ctx = world.open({ rpcUrl: node.rpcUrl })
    await walk(address, { ...ctx.chains.get('Ethereum'), wholeBackfillBlocks: 12 }, ctx)
    await node.stop()
    expect(await rowsOf(address)).toEqual(TOKENS)
  })

  test('goes on where a killed worker stopped', async () => {
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

  test('gets it by the job, which the reconciler adds again where it was lost', async () => {
    const address = newAddress()
    await pastOf(address)
    await world.index()
    await own(address)
    const key = `backfill:Ethereum:${address}`
    const jobs = () => world.sql`select priority from graphile_worker.jobs where key = ${key}`
    await world.sql`delete from graphile_worker._private_jobs where key = ${key}`
    await startBackfills(world.worker)
    expect([...(await jobs())].map(({ priority }) => priority)).toEqual([10])
    const task = backfillWalletTask(world.worker)
    await task({ network: 'Ethereum', address }, {} as Parameters<typeof task>[1])
    expect(await rowsOf(address)).toEqual(PAST)
  })

  test('is not looked for before its key was made here', async () => {
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

describe('the seam to the indexer', () => {
  test('where the wallet comes between its look for wallets and its commit, nothing is missed', async () => {
    const address = newAddress()
    await world.index()
    await pastOf(address)
    const chain = world.worker.chains.get('Ethereum')
    let imported = false
    const slow = {
      ...chain,
      // The indexer asks for facts once it has looked for wallets: alice's, of the same block.
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

  test('what both of them see is there once', async () => {
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

  test('what a reorganisation took away while it was read is not written', async () => {
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

  test('where the indexer went back below the walk, it reads those blocks itself', async () => {
    const address = newAddress()
    await world.chain.mine(4)
    await world.index()
    await pastOf(address)
    await world.index()
    await own(address)
    expect(await backfillStep(world.worker, { chain: chainWith(), address })).toBe('advanced')
    await world.chain.reorg({ depth: 3 })
    // Back to the fork, and not yet forward again.
    expect(await indexStep(world.worker, world.worker.chains.get('Ethereum'))).toBe('advanced')
    await walk(address)
    expect(await rowsOf(address)).toEqual([])
    await pastOf(address)
    await world.index()
    expect(await rowsOf(address)).toEqual(PAST)
  })
})

test('tokens with a topic too few or too many are what their contract says, from both sides', async () => {
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
