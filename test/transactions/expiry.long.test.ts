// Transactions that can never be mined, on a real chain behind go-ethereum's pool: after some time the cancel uses the
// nonce, and the signer's later transactions go on. If the cancel is refused too, the row says why.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { cancelTransaction } from '../../src/signing/transactions/waiting.ts'
import { endsByCancel, pairOf } from './given-up.ts'
import { type LadderWorld, startLadderWorld } from './ladder-world.ts'

const ETHER = 10n ** 18n
const GAS_OF_A_PAYMENT = 21_000n

let world: LadderWorld

beforeAll(async () => {
  world = await startLadderWorld()
})

afterEach(() => {
  world.node.refuse(() => null)
  world.node.breakOff(() => false)
})

afterAll(() => world.close())

describe('a sender that can no longer pay the value', () => {
  test('but can pay the gas: the transaction is given up, and the next one is mined', async () => {
    const from = await world.wallet()
    const [given, next] = await pairOf(world, from, { value: String(ETHER) })
    await world.taken(next)
    await world.chain.fund(from, ETHER / 10n)
    expect((await world.expire(given)).status).toBe('pending')
    await endsByCancel(world, { from, given, next })
  })

  test('before any node accepted it: the same happens, and the transaction has not climbed meanwhile', async () => {
    const from = await world.wallet()
    world.node.breakOff(() => true)
    const [given, next] = await pairOf(world, from, { value: String(ETHER) })
    await world.chain.fund(from, ETHER / 10n)
    world.node.breakOff(() => false)
    const { cause } = await world.until(given, (row) => row.cause?.startsWith('insufficient_funds') === true)
    expect(cause).toContain('insufficient funds for gas * price + value: balance 100000000000000000, tx cost 1')
    const other = await world.send(await world.wallet())
    await world.taken(other)
    await world.taken(next)
    await world.age(given, 15)
    // All clocks are checked at the same time.
    await world.climb(other)
    expect(await world.rowOf(given)).toMatchObject({ status: 'submitted', chosen: 0, shown_hash: null })
    await world.expire(given)
    await endsByCancel(world, { from, given, next })
  })
})

describe('a transaction that the node never accepts', () => {
  const late = 'It was not mined in time; its nonce was used up by a transaction that does nothing.'
  const refusals = [
    { name: 'refused with an unknown message', kind: 'unknown', sentence: 'sender is on a list' },
    { name: 'refused for a fee below the required one', kind: 'underpriced', sentence: 'transaction underpriced' },
  ] as const

  for (const { name, sentence, kind } of refusals) {
    test(`${name}: it is given up, and the next one is mined`, async () => {
      const from = await world.wallet()
      world.node.refuse(({ gas }) => (gas === GAS_OF_A_PAYMENT ? null : sentence))
      const [given, next] = await pairOf(world, from, { input: '0x01', gasLimit: '90000' })
      expect(await world.until(given, (row) => row.cause !== null)).toMatchObject({ status: 'submitted' })
      expect((await world.refused(given)).cause).toBe(`${kind}: ${sentence}`)
      const told = await world.statusOf(given)
      expect(told).not.toHaveProperty('waiting')
      expect(told).not.toHaveProperty('waiting_reason')
      await world.expire(given)
      await endsByCancel(world, { from, given, next })
      const settled = await world.statusOf(given)
      expect(settled.error).toBe(late)
      expect(settled).not.toHaveProperty('waiting')
      expect(settled).not.toHaveProperty('waiting_reason')
    })
  }

  test('without an answer: it is given up, and the next one is mined', async () => {
    const from = await world.wallet()
    world.node.breakOff(({ gas }) => gas !== GAS_OF_A_PAYMENT)
    const [given, next] = await pairOf(world, from, { input: '0x01', gasLimit: '90000' })
    expect((await world.refused(given)).cause).toBe('unknown: The Ethereum node answered with HTTP status 502.')
    await world.expire(given)
    await endsByCancel(world, { from, given, next })
  })

  test('nor its cancel: it waits, the row says why, and it ends once the cancel is accepted', async () => {
    const from = await world.wallet()
    world.node.refuse((tx) => (tx.from === from.toLowerCase() ? 'invalid sender' : null))
    const [given, next] = await pairOf(world, from, { input: '0x01', gasLimit: '90000' })
    await world.refused(given)
    await world.expire(given)
    const waiting = await world.refused(given)
    expect(waiting).toMatchObject({
      status: 'submitted',
      chosen: waiting.rungs,
      cause: 'rejected_form: invalid sender',
    })
    world.node.refuse(({ gas }) => (gas === GAS_OF_A_PAYMENT ? null : 'invalid sender'))
    await endsByCancel(world, { from, given, next })
  })

  test('nor its cancel, until the node accepts a rung again: that rung is sent instead, and succeeds', async () => {
    const from = await world.wallet()
    world.node.refuse((tx) => (tx.from === from.toLowerCase() ? 'invalid sender' : null))
    const [given, next] = await pairOf(world, from, {})
    await world.refused(given)
    await world.expire(given)
    await world.refused(given)
    world.node.refuse(() => null)
    const { chosen, rungs } = await world.until(given, (row) => row.chosen < row.rungs)
    expect(chosen).toBe(rungs - 1)
    await world.node.mine()
    expect((await world.service.settled(given)).json.status).toBe('success')
    await world.reconcile()
    await world.taken(next)
    await world.node.mine()
    expect((await world.service.settled(next)).json.status).toBe('success')
  })

  test('nor the cancel that an operator requested: no rung is sent again', async () => {
    const from = await world.wallet()
    world.node.refuse((tx) => (tx.from === from.toLowerCase() ? 'invalid sender' : null))
    const [given, next] = await pairOf(world, from, {})
    await world.refused(given)
    await cancelTransaction(world.service.ctx, { id: given, actor: 'operator', reach: null })
    await world.refused(given)
    world.node.refuse(() => null)
    await endsByCancel(world, { from, given, next })
  })
})
