// What can never be mined, on a real chain behind go-ethereum's pool: after its time its nonce is used up by the cancel, and
// the signer's later transactions go on. Where that cannot be either, the row says why.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { cancelTransaction } from '../../src/transactions/waiting.ts'
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

/** It and what stands behind it, both recorded. */
const pairOf = async (from: Hex, first: Record<string, string>): Promise<readonly [string, string]> => {
  const id = await world.send(from, first)
  return [id, await world.send(from, { value: '2' })]
}

/** The cancel is mined and final, the next one goes through, and no more happened than that. */
const ends = async (input: { readonly from: Hex; readonly given: string; readonly next: string }): Promise<void> => {
  const { from, given, next } = input
  await world.taken(given)
  await world.node.mine()
  await world.reconcile()
  await world.taken(next)
  await world.mineToFinal()
  expect((await world.service.settled(next)).json.status).toBe('success')
  const settled = (await world.service.settled(given)).json
  expect(settled).toMatchObject({ status: 'failed', code: 'expired' })
  const cancel = (await world.attemptsOf(given)).at(-1)
  expect(settled.transaction_hash).toBe(cancel?.hash)
  expect(cancel).toMatchObject({ raw: null, error: null })
  const mined = await world.chain.publicClient.getTransaction({ hash: settled.transaction_hash })
  expect(mined).toMatchObject({ from: from.toLowerCase(), to: from.toLowerCase(), value: 0n, input: '0x', nonce: 0 })
  expect(await world.chain.publicClient.getTransactionCount({ address: from })).toBe(2)
}

describe('a sender that can no longer pay the value', () => {
  test('but still the gas: it is given up after its time, and the next one goes through', async () => {
    const from = await world.wallet()
    const [given, next] = await pairOf(from, { value: String(ETHER) })
    await world.taken(next)
    await world.chain.fund(from, ETHER / 10n)
    expect((await world.expire(given)).status).toBe('pending')
    await ends({ from, given, next })
  })

  test('before any node took it: likewise, and it has not climbed meanwhile', async () => {
    const from = await world.wallet()
    world.node.breakOff(() => true)
    const [given, next] = await pairOf(from, { value: String(ETHER) })
    await world.chain.fund(from, ETHER / 10n)
    world.node.breakOff(() => false)
    const { cause } = await world.until(given, (row) => row.cause?.startsWith('insufficient_funds') === true)
    expect(cause).toContain('insufficient funds for gas * price + value: balance 100000000000000000, tx cost 1')
    const other = await world.send(await world.wallet())
    await world.taken(other)
    await world.taken(next)
    await world.age(given, 15)
    // One look at the clocks is at all of them.
    await world.climb(other)
    expect(await world.rowOf(given)).toMatchObject({ status: 'submitted', chosen: 0, shown_hash: null })
    await world.expire(given)
    await ends({ from, given, next })
  })

  test('nor the gas: it waits, the row says why, and it ends as soon as there is gas again', async () => {
    const from = await world.wallet()
    const [given, next] = await pairOf(from, { value: String(ETHER) })
    await world.taken(next)
    await world.chain.fund(from, 0n)
    await world.expire(given)
    const waiting = await world.refused(given)
    expect(waiting).toMatchObject({ status: 'pending', chosen: waiting.rungs })
    expect(waiting.cause).toStartWith(
      'insufficient_funds: insufficient funds for gas * price + value: balance 0, tx cost',
    )
    await world.node.mine(5)
    await world.reconcile()
    expect((await world.refused(next)).cause).toStartWith('insufficient_funds: ')
    expect(await world.statusOf(given)).toMatchObject({ status: 'pending' })
    await world.chain.fund(from, ETHER / 10n)
    await ends({ from, given, next })
  })
})

describe('a transaction that every node refuses before any took it', () => {
  const refusals = [
    ['outright', 'transaction gas limit too high (cap: 16777216, tx: 90000)', 'rejected'],
    ['with a sentence that nobody knows', 'sender is on a list', 'unknown'],
    ['for a fee that its top rung does not reach', 'transaction underpriced', 'underpriced'],
  ] as const

  for (const [name, sentence, kind] of refusals) {
    test(`${name}: it is given up after its time, and the next one goes through`, async () => {
      const from = await world.wallet()
      world.node.refuse(({ gas }) => (gas === GAS_OF_A_PAYMENT ? null : sentence))
      const [given, next] = await pairOf(from, { input: '0x01', gasLimit: '90000' })
      expect(await world.until(given, (row) => row.cause !== null)).toMatchObject({ status: 'submitted' })
      expect((await world.refused(given)).cause).toBe(`${kind}: ${sentence}`)
      await world.expire(given)
      await ends({ from, given, next })
    })
  }

  test('by never answering for it: likewise', async () => {
    const from = await world.wallet()
    world.node.breakOff(({ gas }) => gas !== GAS_OF_A_PAYMENT)
    const [given, next] = await pairOf(from, { input: '0x01', gasLimit: '90000' })
    expect((await world.refused(given)).cause).toBe('unknown: The Ethereum node answered with HTTP status 502.')
    await world.expire(given)
    await ends({ from, given, next })
  })

  test('and its cancel too: it waits, the row says why, and it ends as soon as the cancel is taken', async () => {
    const from = await world.wallet()
    world.node.refuse((tx) => (tx.from === from.toLowerCase() ? 'invalid sender' : null))
    const [given, next] = await pairOf(from, { input: '0x01', gasLimit: '90000' })
    await world.refused(given)
    await world.expire(given)
    const waiting = await world.refused(given)
    expect(waiting).toMatchObject({ status: 'submitted', chosen: waiting.rungs, cause: 'rejected: invalid sender' })
    world.node.refuse(({ gas }) => (gas === GAS_OF_A_PAYMENT ? null : 'invalid sender'))
    await ends({ from, given, next })
  })

  test('and its cancel too: once the node takes a rung, that is preferred to the cancel, and it succeeds', async () => {
    const from = await world.wallet()
    world.node.refuse((tx) => (tx.from === from.toLowerCase() ? 'invalid sender' : null))
    const [given, next] = await pairOf(from, {})
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

  test('and its cancel too, which an operator chose: no rung of it is offered again', async () => {
    const from = await world.wallet()
    world.node.refuse((tx) => (tx.from === from.toLowerCase() ? 'invalid sender' : null))
    const [given, next] = await pairOf(from, {})
    await world.refused(given)
    await cancelTransaction(world.service.ctx, { id: given, actor: 'operator' })
    await world.refused(given)
    world.node.refuse(() => null)
    await ends({ from, given, next })
  })
})
