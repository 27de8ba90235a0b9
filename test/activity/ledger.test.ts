// Shows that GET /activity is right: after random moves of every kind, failures and reorganisations, each wallet's
// pages are compared item by item with a list made from receipts and call traces, by a decoder that shares nothing with
// ours. Another seed: STRONGROOM_SEED.
//
// A local chain cannot show: withdrawals of the beacon chain and rewards (they move coins without a transaction and are
// not listed), state syncs of Polygon, deposits of Base's bridge, and self-destructions before EIP-6780.

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { shared } from '../support/shared.ts'
import { anyMove, createMoves, type Move, people, wallets } from './moves.ts'
import { createReckoning, told } from './reckoning.ts'
import { startWorld } from './world.ts'

const ROUNDS = process.env.STRONGROOM_LONG ? 3_000 : 40
const SEED = Number(process.env.STRONGROOM_SEED ?? 20_260_801)
const SPAM = process.env.STRONGROOM_LONG ? 1_000 : 60

const world = await shared(startWorld())
const project = await world.createProject()
for (const { address } of wallets) await world.watch(project, address)
const moves = await createMoves(world.chain)
const reckoning = createReckoning({ chain: world.chain, kinds: moves.kinds })
// Below this the chain is not reorganised.
await world.chain.mine(8)
await reckoning.note()

type Round = { readonly move: Move; readonly others: readonly Move[]; readonly what: number }

/** Replaces up to three blocks, with or without the transactions that were in them. */
const reorganise = async ({ n }: Move): Promise<void> => {
  const depth = 1 + (n % 3)
  const head = await world.chain.publicClient.getBlockNumber()
  await (n % 2 === 0 ? world.chain.reorg({ depth }) : moves.remine({ depth, keepEach: n % 4 === 1 ? 1 : 2 }))
  await reckoning.note(head - BigInt(depth) + 1n)
}

/** In percent of the rounds. */
const play = async ({ move, others, what }: Round): Promise<void> => {
  if (what < 8) await world.index()
  else if (what < 13) await reorganise(move)
  else if (what < 17) await world.chain.mine(2)
  else if (what < 30) await moves.together([move, ...others])
  else await moves.alone(move)
  await reckoning.note()
}

test(`the list has exactly what happened, item by item (seed ${SEED})`, async () => {
  const move = anyMove(moves.count)
  const rounds = fc.record({
    move,
    others: fc.array(move, { minLength: 1, maxLength: 5 }),
    what: fc.integer({ min: 0, max: 99 }),
  })
  for (const [index, round] of fc.sample(rounds, { numRuns: ROUNDS, seed: SEED }).entries()) {
    if (index === Math.floor(ROUNDS / 2)) {
      await moves.spam(SPAM)
      await world.chain.mine(4)
    }
    await play(round)
  }
  await world.index()
  // An address that was not watched until now, by a backfill.
  await world.own(project, people[3].address)
  await world.walkBack(people[3].address)
  const expected = await reckoning.expected(people.map(({ address }) => address))
  for (const { address } of people) {
    const items = await world.listed(project, address)
    expect(items.map(told).sort()).toEqual([...(expected.get(address) ?? [])].sort())
    expect(items.length).toBeGreaterThan(ROUNDS / 20)
    expect(new Set(items.map(({ uuid }) => uuid)).size).toBe(items.length)
    const times = items.map(({ timestamp }) => timestamp)
    expect(times).toEqual([...times].sort().reverse())
  }
  expect(expected.get(wallets[0].address)?.length).toBeGreaterThan(SPAM)
  const { types, ...counted } = reckoning.seen
  expect([...types].sort()).toEqual(['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT'])
  for (const count of Object.values(counted)) expect(count).toBeGreaterThan(ROUNDS / 60)
}, 600_000)
