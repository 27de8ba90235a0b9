// What approvers approve as one text: two requests are the same if it is the same.

import { expect, test } from 'bun:test'
import type { Intent } from '../../src/chains/chain.ts'
import { readRequest, writeRequest } from '../../src/signing/policies/request.ts'

const wallet = {
  network: 'Polkadot',
  address: '13UVJyLnbVp9RBZYFwFGyDvVd1y27Tt8tkntv6Q7JVPhFsTB',
  type: 'eoa',
} as const
const call: Intent = { to: null, value: 0n, input: '0x0a03' }
const textOf = (...intents: readonly Intent[]) => writeRequest({ action: 'send', wallet, intents })

const BEFORE = `0x${'11'.repeat(32)}` as const
const AFTER = `0x${'22'.repeat(32)}` as const

test('a call of a runtime with other metadata is another request, because its bytes may mean another call', () => {
  const approved = textOf({ ...call, madeBy: BEFORE })
  expect(textOf({ ...call, madeBy: BEFORE })).toBe(approved)
  expect(textOf({ ...call, madeBy: AFTER })).not.toBe(approved)
  expect(textOf(call)).not.toBe(approved)
  const two = [call, { ...call, madeBy: BEFORE }]
  expect(textOf(...two)).not.toBe(textOf(...two.toReversed()))
})

test('the transactions that are shown do not contain the metadata', () => {
  const { intents } = readRequest(textOf({ ...call, madeBy: BEFORE }))
  expect(intents).toEqual([{ value: '0', input: '0x0a03' }])
})
