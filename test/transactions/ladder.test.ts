// The fee ladder on a real chain, behind a pool with go-ethereum's rules: a stuck transaction offers more and more, and
// in the end is given up.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { evmNetworkRow } from '../../src/platform/networks.ts'
import { longTest } from '../support/long.ts'
import { endsByCancel, pairOf } from './given-up.ts'
import { GWEI, type LadderWorld, network, startLadderWorld } from './ladder-world.ts'

const ETHER = 10n ** 18n
const GAS_OF_A_PAYMENT = 21_000n
const { maxFeePerGasCapWei } = evmNetworkRow({ network, environment: 'testnet', devnet: true })

let world: LadderWorld

beforeAll(async () => {
  world = await startLadderWorld()
})

afterEach(async () => {
  world.node.refuse(() => null)
  world.node.breakOff(() => false)
  await world.mineAt(GWEI)
})

afterAll(() => world.close())

/** The attempts of a sender that the pool accepted, in order. `poolSaid` has its answers to the others. */
const poolTook = (from: `0x${string}`) =>
  world.node.verdictsOn(from).flatMap(({ hash, refusal }) => (refusal === null ? [hash] : []))

const poolSaid = (from: `0x${string}`) =>
  world.node.verdictsOn(from).flatMap(({ refusal }) => (refusal === null ? [] : [refusal]))

const minedIn = async () => (await world.chain.publicClient.getBlock()).transactions

describe('a base fee that rises above the first rung', () => {
  test('makes a transaction climb at once, past rungs that are too low; every hash leads to the mined one', async () => {
    const from = await world.wallet()
    const id = await world.send(from, { value: '7' })
    await world.taken(id)
    const hashes = (await world.attemptsOf(id)).map(({ hash }) => hash)
    // More than 2² times the first rung, less than 2³ times.
    const baseFee = (world.node.verdictsOn(from)[0]?.feeCap ?? 0n) * 5n
    await world.mineAt(baseFee)
    expect(await minedIn()).toEqual([])
    await world.until(id, ({ chosen }) => chosen === 3)
    await world.taken(id)
    const shown = { transaction_hash: hashes[3], status: 'pending' }
    expect(await world.statusOf(id)).toMatchObject(shown)
    for (const hash of hashes) expect(await world.statusOfHash(hash)).toMatchObject(shown)
    await world.mineAt(baseFee)
    expect(await minedIn()).toEqual(hashes.slice(3, 4))
    const settled = (await world.service.settled(id)).json
    expect(settled).toMatchObject({ status: 'success', transaction_hash: hashes[3], contract_address: null })
    for (const hash of hashes) {
      expect(await world.statusOfHash(hash)).toMatchObject({ status: 'success', transaction_hash: hashes[3] })
    }
    const taken = hashes.filter((_, at) => at === 0 || at === 3)
    expect({ took: poolTook(from), said: poolSaid(from) }).toEqual({ took: taken, said: [] })
    for (const { feeCap } of world.node.verdictsOn(from)) expect(feeCap).toBeLessThanOrEqual(maxFeePerGasCapWei)
    expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(1)
  })
})

longTest(
  'a transaction that waits in the pool climbs rung by rung; in the end the cancel replaces it, and it is expired',
  async () => {
    const from = await world.wallet()
    const id = await world.send(from)
    const { rungs } = await world.taken(id)
    expect(rungs).toBe(6)
    for (let rung = 1; rung < rungs; rung += 1) {
      await world.climb(id)
      await world.taken(id)
    }
    await world.age(id, 15)
    await world.expire(id)
    await world.taken(id)
    await world.mineAt(GWEI)
    const hashes = (await world.attemptsOf(id)).map(({ hash }) => hash)
    expect(await minedIn()).toEqual(hashes.slice(rungs))
    expect({ took: poolTook(from), said: poolSaid(from) }).toEqual({ took: hashes, said: [] })
    // The failure is reported only when it is final.
    await world.until(id, ({ shown_hash }) => shown_hash === hashes[rungs])
    expect((await world.statusOf(id)).status).toBe('pending')
    await world.mineToFinal()
    const told = { transaction_hash: hashes[rungs], status: 'failed' }
    expect((await world.service.settled(id)).json).toMatchObject({ ...told, code: 'expired' })
    for (const hash of hashes) expect(await world.statusOfHash(hash)).toMatchObject(told)
  },
)

describe('a transaction with fees that the caller fixed', () => {
  const fixed = (feeCap: bigint, tip: bigint) => ({
    maxFeePerGas: feeCap.toString(),
    maxPriorityFeePerGas: tip.toString(),
  })

  longTest('has no ladder; the cancel replaces it, and the signer’s next transaction is mined', async () => {
    const from = await world.wallet()
    const id = await world.send(from, { value: '7', ...fixed(20n * GWEI, GWEI) })
    const next = await world.send(from, { value: '8' })
    await world.taken(next)
    await world.age(id, 15)
    expect(await world.rowOf(id)).toMatchObject({ chosen: 0, rungs: 1 })
    expect(await world.expire(id)).toMatchObject({ chosen: 1, status: 'pending' })
    await world.taken(id)
    const [, cancel] = await world.attemptsOf(id)
    expect(poolTook(from)).toContain(cancel?.hash ?? '0x')
    expect(poolSaid(from)).toEqual([])
    await world.mineAt(21n * GWEI)
    expect(await minedIn()).toEqual(cancel === undefined ? [] : [cancel.hash])
    await world.mineAt(GWEI)
    await world.mineToFinal()
    expect((await world.service.settled(next)).json.status).toBe('success')
    expect((await world.service.settled(id)).json).toMatchObject({ status: 'failed', code: 'expired' })
    expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(2)
  })

  longTest('too low for any block gets a cancel at market fees', async () => {
    const from = await world.wallet()
    const id = await world.send(from, fixed(GWEI / 100n, GWEI / 1_000n))
    await world.taken(id)
    await world.mineAt(GWEI)
    await world.expire(id)
    await world.taken(id)
    await world.mineAt(2n * GWEI)
    await world.mineToFinal()
    expect((await world.service.settled(id)).json).toMatchObject({ status: 'failed', code: 'expired' })
    expect(poolSaid(from)).toEqual([])
  })
})

describe('a rung that the sender cannot pay', () => {
  /**
   * A transaction in the pool at its first rung, with `behind` others behind it; the sender has just enough for all.
   */
  const poor = async ({ behind }: { readonly behind: number }) => {
    const from = await world.wallet()
    const id = await world.send(from, { value: ETHER.toString() })
    const next: string[] = []
    while (next.length < behind) next.push(await world.send(from))
    for (const each of [id, ...next]) await world.taken(each)
    const taken = world.node.verdictsOn(from).filter(({ refusal }) => refusal === null)
    await world.chain.fund(
      from,
      taken.reduce((sum, { cost }) => sum + cost, 0n),
    )
    const hashes = (await world.attemptsOf(id)).map(({ hash }) => hash)
    return { from, id, next, hashes }
  }

  const climbInVain = async (id: string): Promise<string | null> => {
    await world.climb(id)
    const { cause } = await world.refused(id)
    expect(cause).toMatch(/^insufficient_funds: .* overshot \d+$/)
    return cause
  }

  longTest('is skipped like all above it; the cancel replaces the rung in the pool', async () => {
    const { from, id, next, hashes } = await poor({ behind: 1 })
    // It could pay the second rung alone, but not together with the transaction behind it.
    expect(await climbInVain(id)).toMatch(/queued cost \d+, tx bumped \d+/)
    for (let rung = 2; rung < 6; rung += 1) await climbInVain(id)
    await world.expire(id)
    await world.taken(id)
    expect(poolTook(from).filter((hash) => hashes.includes(hash))).toEqual(
      hashes.filter((_, at) => at === 0 || at === 6),
    )
    await world.mineToFinal()
    expect((await world.service.settled(id)).json).toMatchObject({ status: 'failed', code: 'expired' })
    for (const each of next) expect((await world.service.settled(each)).json.status).toBe('success')
  })

  longTest('is accepted once it can be paid, even after others were skipped', async () => {
    const { from, id, hashes } = await poor({ behind: 0 })
    await climbInVain(id)
    await climbInVain(id)
    await world.chain.fund(from, 2n * ETHER)
    await world.taken(id)
    await world.node.mine()
    expect((await world.service.settled(id)).json).toMatchObject({ status: 'success', transaction_hash: hashes[2] })
  })

  longTest('does not prevent the rung below from being sent again to a node that has lost it', async () => {
    const { from, id, hashes } = await poor({ behind: 0 })
    await climbInVain(id)
    await world.node.forget()
    await world.until(id, () => poolTook(from).length === 2)
    expect(await world.statusOf(id)).toMatchObject({ status: 'pending', transaction_hash: hashes[0] })
    await world.node.mine()
    expect((await world.service.settled(id)).json).toMatchObject({ status: 'success', transaction_hash: hashes[0] })
  })
})

describe('a transaction that can never be mined', () => {
  longTest(
    'as its sender can pay neither the value nor the gas waits, the row says why, and it ends once the gas can be paid',
    async () => {
      const from = await world.wallet()
      const [given, next] = await pairOf(world, from, { value: String(ETHER) })
      await world.taken(next)
      await world.chain.fund(from, 0n)
      await world.expire(given)
      const waiting = await world.refused(given)
      expect(waiting).toMatchObject({ status: 'pending', chosen: waiting.rungs })
      expect(waiting.cause).toStartWith(
        'insufficient_funds: insufficient funds for gas * price + value: balance 0, tx cost',
      )
      expect(await world.statusOf(given)).toMatchObject({
        waiting: 'unpayable',
        waiting_reason: 'Nodes refuse it: its signer has too few coins for its value and its fee.',
      })
      await world.node.mine(5)
      await world.reconcile()
      expect((await world.refused(next)).cause).toStartWith('insufficient_funds: ')
      expect(await world.statusOf(given)).toMatchObject({ status: 'pending' })
      await world.chain.fund(from, ETHER / 10n)
      await endsByCancel(world, { from, given, next })
    },
  )

  test('as the node refuses it as invalid is given up, and the next one is mined', async () => {
    const bound = 'its gas limit is above what a transaction or a block of the network may have'
    const sentence = 'transaction gas limit too high (cap: 16777216, tx: 90000)'
    // An earlier test has made blocks dear: until the tracker has read the newest one, it would wait for fees.
    await world.seen()
    const from = await world.wallet()
    world.node.refuse(({ gas }) => (gas === GAS_OF_A_PAYMENT ? null : sentence))
    const [given, next] = await pairOf(world, from, { input: '0x01', gasLimit: '90000' })
    expect(await world.until(given, (row) => row.cause !== null)).toMatchObject({ status: 'submitted' })
    expect((await world.refused(given)).cause).toBe(`rejected_gas_limit: ${sentence}`)
    expect(await world.statusOf(given)).toMatchObject({
      waiting: 'refused',
      waiting_reason: `Nodes refuse it: ${bound}.`,
    })
    await world.expire(given)
    await endsByCancel(world, { from, given, next })
    const settled = await world.statusOf(given)
    expect(settled.error).toBe(`Nodes refused it: ${bound}. Its nonce was used up by a transaction that does nothing.`)
    expect(settled).not.toHaveProperty('waiting')
    expect(settled).not.toHaveProperty('waiting_reason')
  })
})

longTest('after a rung without an answer from the node, the next rung is sent and accepted', async () => {
  const from = await world.wallet()
  const id = await world.send(from)
  await world.taken(id)
  world.node.breakOff((tx) => tx.from === from.toLowerCase())
  await world.climb(id)
  expect((await world.refused(id)).cause).toBe('unknown: The Ethereum node answered with HTTP status 502.')
  await world.climb(id)
  world.node.breakOff(() => false)
  await world.taken(id)
  const hashes = (await world.attemptsOf(id)).map(({ hash }) => hash)
  // On a slow machine a rung may be sent twice, which the pool already knows.
  expect(poolTook(from)).toEqual(hashes.filter((_, rung) => rung === 0 || rung === 2))
  await world.node.mine()
  expect((await world.service.settled(id)).json).toMatchObject({ status: 'success', transaction_hash: hashes[2] })
})

test('a transaction behind another one neither climbs nor expires, because its clock is not running', async () => {
  const from = await world.wallet()
  const first = await world.send(from, { value: '1' })
  const second = await world.send(from, { value: '2' })
  await world.taken(second)
  await world.until(first, ({ clock }) => clock)
  await world.sql`update transactions set chosen_at = now() - interval '1 hour' where id = ${second}`
  await world.climb(first)
  expect(await world.rowOf(second)).toMatchObject({ chosen: 0, clock: false })
})
