// Fees that rise fast and fall again, on a real chain behind go-ethereum's pool, with several intents of one signer:
// none is given up that could still be mined in time, and no fee is spent on cancels.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { GWEI, type LadderWorld, startLadderWorld } from './ladder-world.ts'

const QUEUED = 4
/** Two blocks for each: one shows that it offers too little, the other mines it. And one block before the first. */
const BLOCKS_MAX = 2 * QUEUED + 1
/** Longer than a transaction waits before it is given up. */
const TOO_LONG_SECONDS = 60

let world: LadderWorld

beforeAll(async () => {
  world = await startLadderWorld()
})

afterEach(() => world.mineAt(GWEI))

afterAll(() => world.close())

const queue = async (balance?: bigint): Promise<{ readonly from: Hex; readonly ids: readonly string[] }> => {
  await world.mineAt(GWEI)
  await world.seen()
  const from = await world.wallet(balance)
  const ids: string[] = []
  while (ids.length < QUEUED) ids.push(await world.send(from, { value: String(ids.length + 1) }))
  for (const id of ids) await world.taken(id)
  return { from, ids }
}

type Standing = { readonly id: string; readonly mined: boolean; readonly chosen: number; readonly offers: bigint }

/** The state of each, in nonce order, with the fee that its chosen attempt offers. */
const standings = async (ids: readonly string[]): Promise<readonly Standing[]> => {
  const rows = await world.sql<{ id: string; mined: boolean; chosen: number; offers: string }[]>`
    select t.id, t.mined_block_hash is not null as mined, t.chosen, a.max_fee_per_gas::text as offers
    from transactions t join tests.attempts a on a.transaction_id = t.id
      and case a.kind when 'cancel' then t.rungs else a.rung end = t.chosen
    where t.id in ${world.sql(ids as string[])} order by t.nonce`
  return rows.map((row) => ({ ...row, offers: BigInt(row.offers) }))
}

/** Waits until the lowest waiting transaction offers the base fee, and the node has that attempt. */
const climbed = async (ids: readonly string[], baseFee: bigint): Promise<void> => {
  const lowest = (await standings(ids)).find(({ mined }) => !mined)
  if (lowest === undefined) return
  const offersEnough = async () => (await standings([lowest.id])).every(({ offers }) => offers >= baseFee)
  for (const deadline = Date.now() + 15_000; !(await offersEnough()); ) {
    if (Date.now() > deadline) throw new Error('it did not climb')
    await Bun.sleep(20)
  }
  await world.taken(lowest.id)
}

/** Mines blocks with this base fee until all transactions are mined. @returns the number of blocks. */
const mineAll = async (ids: readonly string[], baseFee: bigint): Promise<number> => {
  for (let blocks = 1; blocks <= BLOCKS_MAX; blocks += 1) {
    await world.mineAt(baseFee)
    await world.seen()
    if ((await standings(ids)).every(({ mined }) => mined)) return blocks
    await climbed(ids, baseFee)
  }
  throw new Error(`not mined within ${BLOCKS_MAX} blocks: ${JSON.stringify(await world.rowOf(ids[0] ?? ''))}`)
}

const allSucceed = async ({ from, ids }: { readonly from: Hex; readonly ids: readonly string[] }): Promise<void> => {
  for (const id of ids) expect((await world.service.settled(id)).json).toMatchObject({ status: 'success' })
  expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(ids.length)
  const cancels = await world.sql`
    select 1 from tests.attempts where transaction_id in ${world.sql(ids as string[])} and kind = 'cancel' and broadcast_at is not null`
  expect(cancels.length).toBe(0)
}

describe('fees that rise and stay', () => {
  for (const factor of [5n, 10n, 50n]) {
    test(`to ${factor} times the former level: all waiting transactions are mined, each within two blocks`, async () => {
      const queued = await queue()
      const blocks = await mineAll(queued.ids, factor * GWEI)
      expect(blocks).toBeLessThanOrEqual(BLOCKS_MAX)
      await allSucceed(queued)
    })
  }
})

describe('fees that rise above the top rung', () => {
  const SPIKE = 300n * GWEI

  const aged = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids.slice(0, 1)) await world.age(id, TOO_LONG_SECONDS)
    await world.mineAt(SPIKE)
    await world.seen()
    // The tracker notes a block before it looks at the clocks.
    const clockRunsAgain = () => world.sql`
      select 1 from transactions where id = ${ids[0] ?? ''} and clock_started_at > now() - interval '30 seconds'`
    for (const deadline = Date.now() + 15_000; (await clockRunsAgain()).length === 0; await Bun.sleep(20)) {
      if (Date.now() > deadline) throw new Error('its clock was not set back')
    }
  }

  test('let transactions wait as long as needed; callers see why; when fees fall, all are mined at once', async () => {
    const queued = await queue()
    const [first = ''] = queued.ids
    await world.mineAt(SPIKE)
    const { rungs } = await world.until(first, ({ chosen, rungs }) => chosen === rungs - 1)
    await world.taken(first)
    for (let round = 0; round < 3; round += 1) await aged(queued.ids)
    expect(await world.rowOf(first)).toMatchObject({ chosen: rungs - 1, status: 'pending' })
    expect(await world.statusOf(first)).toMatchObject({ status: 'pending', waiting: 'waiting_for_fees' })
    // The clock starts again: a transaction that can be mined now is not given up for its earlier waiting.
    await world.mineAt(GWEI)
    await world.seen()
    await allSucceed(queued)
    expect(await world.statusOf(first)).not.toHaveProperty('waiting')
  })

  test('and fall again give up no transaction before a block could include it', async () => {
    const queued = await queue()
    const [first = ''] = queued.ids
    await world.mineAt(SPIKE)
    await world.until(first, ({ chosen, rungs }) => chosen === rungs - 1)
    await world.taken(first)
    await aged(queued.ids)
    const top = (await standings([first]))[0]?.offers ?? 0n
    // An empty block: the node left all transactions out.
    await world.chain.rpc('anvil_dropAllTransactions')
    await world.chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${((top * 4n) / 5n).toString(16)}`])
    await world.chain.rpc('anvil_mine', ['0x1'])
    await world.seen()
    expect(await world.rowOf(first)).toMatchObject({ status: 'pending', shown_hash: expect.any(String) })
    await mineAll(queued.ids, (top * 4n) / 5n)
    await allSucceed(queued)
  })
})

describe('a signer who can pay little more than current fees', () => {
  test('is not refused; the ladder ends at what they can pay, and says so; the transaction is mined when fees fall', async () => {
    await world.mineAt(GWEI)
    await world.seen()
    const from = await world.wallet(21_000n * 5n * GWEI)
    const id = await world.send(from, { value: '1' })
    await world.taken(id)
    const [row] = await world.sql<{ rungs: number; cut: boolean; why: string }[]>`
      select rungs, cut_by_funds as cut, why from strongroom_views.transactions where id = ${id}`
    expect(row).toMatchObject({ rungs: 2, cut: true })
    await world.mineAt(50n * GWEI)
    await world.until(id, ({ chosen, rungs }) => chosen === rungs - 1)
    await world.taken(id)
    await world.age(id, TOO_LONG_SECONDS)
    await world.mineAt(50n * GWEI)
    await world.seen()
    const [waiting] = await world.sql<{ cause: string; why: string; ends: Date | null }[]>`
      select cause, why, gives_up_at as ends from strongroom_views.transactions where id = ${id}`
    expect(waiting).toMatchObject({ cause: 'waiting_for_fees', ends: null })
    expect(waiting?.why).toMatch(
      /^blocks ask for 50 gwei, and it offers [0-9.]+ at rung 2 of 2 \(the signer could not have paid higher ones\); it is not given up before fees fall$/,
    )
    await world.mineAt(GWEI)
    expect((await world.service.settled(id)).json).toMatchObject({ status: 'success' })
  })
})

describe('a cancel that the signer could not pay', () => {
  test('is replaced by a rung once the signer can pay that', async () => {
    await world.mineAt(GWEI)
    const ether = 10n ** 18n
    const from = await world.wallet()
    const id = await world.send(from, { value: String(ether) })
    await world.taken(id)
    await world.chain.fund(from, 0n)
    await world.expire(id)
    await world.refused(id)
    await world.chain.fund(from, 2n * ether)
    const { chosen, rungs } = await world.until(id, (row) => row.chosen < row.rungs)
    expect(chosen).toBeLessThan(rungs)
    await world.node.mine()
    expect((await world.service.settled(id)).json).toMatchObject({ status: 'success' })
  })
})
