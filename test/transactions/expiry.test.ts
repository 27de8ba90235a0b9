// Transactions that can never be mined, on a real chain behind go-ethereum's pool: after some time the cancel uses the
// nonce, and the signer's later transactions go on. If the cancel is refused too, the row says why.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { cancelTransaction } from '../../src/signing/transactions/waiting.ts'
import { longTest, someOf } from '../support/long.ts'
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

/** Records a transaction and another one behind it. */
const pairOf = async (from: Hex, first: Record<string, string>): Promise<readonly [string, string]> => {
  const id = await world.send(from, first)
  return [id, await world.send(from, { value: '2' })]
}

/** Checks that the cancel becomes final, that the next transaction is mined, and that nothing else happened. */
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
  longTest('but can pay the gas: the transaction is given up, and the next one is mined', async () => {
    const from = await world.wallet()
    const [given, next] = await pairOf(from, { value: String(ETHER) })
    await world.taken(next)
    await world.chain.fund(from, ETHER / 10n)
    expect((await world.expire(given)).status).toBe('pending')
    await ends({ from, given, next })
  })

  longTest('before any node accepted it: the same happens, and the transaction has not climbed meanwhile', async () => {
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
    // All clocks are checked at the same time.
    await world.climb(other)
    expect(await world.rowOf(given)).toMatchObject({ status: 'submitted', chosen: 0, shown_hash: null })
    await world.expire(given)
    await ends({ from, given, next })
  })

  test('nor the gas: the transaction waits, the row says why, and it ends once the gas can be paid', async () => {
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
    expect(await world.statusOf(given)).toMatchObject({
      waiting: 'unpayable',
      waiting_reason: 'Nodes refuse it: its signer has too few coins for its value and its fee.',
    })
    await world.node.mine(5)
    await world.reconcile()
    expect((await world.refused(next)).cause).toStartWith('insufficient_funds: ')
    expect(await world.statusOf(given)).toMatchObject({ status: 'pending' })
    await world.chain.fund(from, ETHER / 10n)
    await ends({ from, given, next })
  })
})

describe('a transaction that the node never accepts', () => {
  const late = 'It was not mined in time; its nonce was used up by a transaction that does nothing.'
  const bound = 'its gas limit is above what a transaction or a block of the network may have'
  const refusals = [
    {
      ...{ name: 'refused as invalid', kind: 'rejected_gas_limit' },
      sentence: 'transaction gas limit too high (cap: 16777216, tx: 90000)',
      waiting: { waiting: 'refused', waiting_reason: `Nodes refuse it: ${bound}.` },
      error: `Nodes refused it: ${bound}. Its nonce was used up by a transaction that does nothing.`,
    },
    {
      ...{ name: 'refused with an unknown message', kind: 'unknown', sentence: 'sender is on a list' },
      ...{ waiting: {}, error: late },
    },
    {
      ...{ name: 'refused for a fee below the required one', kind: 'underpriced', sentence: 'transaction underpriced' },
      ...{ waiting: {}, error: late },
    },
  ] as const

  for (const { name, sentence, kind, waiting, error } of someOf(refusals, 3)) {
    test(`${name}: it is given up, and the next one is mined`, async () => {
      const from = await world.wallet()
      world.node.refuse(({ gas }) => (gas === GAS_OF_A_PAYMENT ? null : sentence))
      const [given, next] = await pairOf(from, { input: '0x01', gasLimit: '90000' })
      expect(await world.until(given, (row) => row.cause !== null)).toMatchObject({ status: 'submitted' })
      expect((await world.refused(given)).cause).toBe(`${kind}: ${sentence}`)
      const { waiting: word, waiting_reason: reason } = await world.statusOf(given)
      expect({ waiting: word, waiting_reason: reason }).toEqual({
        ...{ waiting: undefined, waiting_reason: undefined },
        ...waiting,
      })
      await world.expire(given)
      await ends({ from, given, next })
      const settled = await world.statusOf(given)
      expect(settled.error).toBe(error)
      expect(settled).not.toHaveProperty('waiting')
      expect(settled).not.toHaveProperty('waiting_reason')
    })
  }

  longTest('without an answer: it is given up, and the next one is mined', async () => {
    const from = await world.wallet()
    world.node.breakOff(({ gas }) => gas !== GAS_OF_A_PAYMENT)
    const [given, next] = await pairOf(from, { input: '0x01', gasLimit: '90000' })
    expect((await world.refused(given)).cause).toBe('unknown: The Ethereum node answered with HTTP status 502.')
    await world.expire(given)
    await ends({ from, given, next })
  })

  longTest('nor its cancel: it waits, the row says why, and it ends once the cancel is accepted', async () => {
    const from = await world.wallet()
    world.node.refuse((tx) => (tx.from === from.toLowerCase() ? 'invalid sender' : null))
    const [given, next] = await pairOf(from, { input: '0x01', gasLimit: '90000' })
    await world.refused(given)
    await world.expire(given)
    const waiting = await world.refused(given)
    expect(waiting).toMatchObject({
      status: 'submitted',
      chosen: waiting.rungs,
      cause: 'rejected_form: invalid sender',
    })
    world.node.refuse(({ gas }) => (gas === GAS_OF_A_PAYMENT ? null : 'invalid sender'))
    await ends({ from, given, next })
  })

  longTest('nor its cancel, until the node accepts a rung again: that rung is sent instead, and succeeds', async () => {
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

  longTest('nor the cancel that an operator requested: no rung is sent again', async () => {
    const from = await world.wallet()
    world.node.refuse((tx) => (tx.from === from.toLowerCase() ? 'invalid sender' : null))
    const [given, next] = await pairOf(from, {})
    await world.refused(given)
    await cancelTransaction(world.service.ctx, { id: given, actor: 'operator', reach: null })
    await world.refused(given)
    world.node.refuse(() => null)
    await ends({ from, given, next })
  })
})
