// A transaction that can never be mined, and another one behind it, for tests of the ladder and of expiry.

import { expect } from 'bun:test'
import type { Hex } from 'viem'
import type { LadderWorld } from './ladder-world.ts'

/** Records a transaction and another one behind it. */
export const pairOf = async (
  world: LadderWorld,
  from: Hex,
  first: Record<string, string>,
): Promise<readonly [string, string]> => {
  const id = await world.send(from, first)
  return [id, await world.send(from, { value: '2' })]
}

/** Checks that the cancel becomes final, that the next transaction is mined, and that nothing else happened. */
export const endsByCancel = async (
  world: LadderWorld,
  input: { readonly from: Hex; readonly given: string; readonly next: string },
): Promise<void> => {
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
