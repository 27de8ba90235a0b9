// A round of the reconciler ends after ten seconds of its clock, whatever is left, and the next round goes on with the
// rest.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { doubtContracts } from '../../db/queries/doubtful-contracts.ts'
import { startClocks, touchTransactions } from '../../db/queries/transactions.ts'
import { settleDoubtfulContracts } from '../../src/assets/activity/settle-doubtful-contracts.ts'
import { type Round, startRound } from '../../src/blocks/follow.ts'
import type { Chain } from '../../src/chains/chain.ts'
import { refreshSignerStates } from '../../src/signing/transactions/after-block.ts'
import { reconcileTransactions } from '../../src/signing/transactions/reconcile.ts'
import { startChain } from '../support/chains.ts'
import { untilWaiting } from '../support/locks.ts'
import { type Stepped, startStepped } from './stepped.ts'

/** More than are asked about together, which are 25. */
const WAITING = 28

let world: Stepped
let nowMs = 0

beforeAll(async () => {
  const node = await startChain('Ethereum')
  world = await startStepped({ node, rpcUrls: node.rpcUrl })
  await Promise.all(Array.from({ length: WAITING }, () => world.send()))
})
afterAll(() => world.close())

beforeEach(async () => {
  nowMs = 0
  await world.sql`update transactions set created_at = now() - interval '1 hour', updated_at = now() - interval '1 hour'`
})

/** A round in which each question of this kind takes so long. */
const roundWith = (kind: 'statuses' | 'accountState' | 'facts', tookMs: number, change: Partial<Chain> = {}): Round => {
  const chain = { ...world.chain, ...change }
  const ask = chain[kind] as (...input: unknown[]) => Promise<never>
  const slow = (...input: unknown[]) => {
    nowMs += tookMs
    return ask(...input)
  }
  return startRound({ ...chain, [kind]: slow }, { nowMs: () => nowMs })
}

const countOf = async (rows: Promise<readonly { count: string }[]>) => Number((await rows)[0]?.count)
const unasked = () =>
  countOf(world.sql`select count(*) from transactions where updated_at < now() - interval '30 minutes'`)

test('asks about no further group of transactions once it is over', async () => {
  // One question for the pool, and one for the first group.
  await reconcileTransactions(world.ctx, roundWith('statuses', 5_000))
  expect(await unasked()).toBe(WAITING - 25)
  await reconcileTransactions(world.ctx, roundWith('statuses', 5_000))
  expect(await unasked()).toBe(0)
})

test('asks about no further single transaction once it is over, and leaves them for the next round', async () => {
  const fails = (asked: Parameters<Chain['statuses']>[0]) =>
    asked.length >= 25 ? Promise.reject(new Error('one bad answer')) : world.chain.statuses(asked)
  // One question for the pool, one for the group, and then one for each.
  await reconcileTransactions(world.ctx, roundWith('statuses', 2_000, { statuses: fails }))
  expect(await unasked()).toBe(WAITING - 3)
  await reconcileTransactions(world.ctx, roundWith('statuses', 2_000, { statuses: fails }))
  expect(await unasked()).toBe(WAITING - 6)
})

test('reads the state of no further signer once it is over', async () => {
  const heard = () => countOf(world.sql`select count(*) from signers where heard_at is not null`)
  await refreshSignerStates(world.ctx, roundWith('accountState', 4_000))
  expect(await heard()).toBe(3)
  await refreshSignerStates(world.ctx, roundWith('accountState', 4_000))
  expect(await heard()).toBe(6)
})

test('asks no further doubtful contract once it is over', async () => {
  const contracts = ['11', '22', '33', '44', '55'].map((byte) => `0x${byte.repeat(20)}`)
  await world.ctx.db.transaction((tx) =>
    doubtContracts(tx, { network: 'Ethereum', contracts, fromBlock: 1n, toBlock: 1n }),
  )
  const left = () => countOf(world.sql`select count(*) from doubtful_contracts`)
  await settleDoubtfulContracts(world.ctx, roundWith('facts', 4_000))
  expect(await left()).toBe(2)
  await settleDoubtfulContracts(world.ctx, roundWith('facts', 4_000))
  expect(await left()).toBe(0)
})

test('writes the time of several transactions in the order in which all lock them, so that nobody ends in a deadlock', async () => {
  const rows = await world.sql<{ id: string }[]>`select id from transactions order by id`
  const ids = rows.map(({ id }) => id)
  const [lowest = ''] = ids
  // Now its row is behind the others in the table.
  await world.sql`update transactions set updated_at = now() where id = ${lowest}`
  for (const write of [touchTransactions, startClocks]) {
    const { writing } = await world.sql.begin(async (other) => {
      await other`select from transactions where id = ${lowest} for update`
      const begun = write(world.ctx.db, ids.toReversed())
      await untilWaiting(world.sql)
      const free = await other`select from transactions where id <> ${lowest} for update skip locked`
      expect(free).toHaveLength(ids.length - 1)
      // Within an object it is not awaited here.
      return { writing: begun }
    })
    await writing
  }
})
