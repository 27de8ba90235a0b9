import { describe, expect, test } from 'bun:test'
import { notesByAge, perhapsElsewhere, recordedInTurn } from '../../src/operators/restore/journals.ts'
import type { JournalNote } from '../../src/vault/contract/vault.ts'

const noted = (about: string, at: string): JournalNote => ({
  kind: 'project',
  projectId: '',
  isActive: true,
  about,
  at: `2030-01-01T00:${at}.000Z`,
})

const order = (...journals: readonly (readonly JournalNote[])[]) => notesByAge(journals).map(({ about }) => about)

test('notes of several journals are ordered by the time', () => {
  expect(order([noted('1', '00:01'), noted('4', '00:04')], [noted('2', '00:02'), noted('3', '00:03')])).toEqual([
    ...['1', '2', '3', '4'],
  ])
})

test('notes of one journal stay in their order even if its clock was set back', () => {
  const backwards = [noted('1', '10:00'), noted('2', '10:01'), noted('3', '05:00'), noted('4', '05:01')]
  expect(order(backwards)).toEqual(['1', '2', '3', '4'])
  // The later time is the right one.
  expect(order([noted('0', '04:00')], backwards, [noted('5', '06:00')])).toEqual(['0', '1', '2', '3', '4', '5'])
})

test('what is missing, and in no note, may be in the journal of a vault that is not reached', () => {
  const one = { journal: 'one', others: ['two'], ids: ['a', 'b'] }
  const two = { journal: 'two', others: ['one'], ids: ['b', 'c'] }
  expect(perhapsElsewhere([one], new Set(['a']))).toEqual(['b'])
  expect(perhapsElsewhere([one], new Set(['a', 'b']))).toEqual([])
  // Its request failed before it was noted, or it was left out of the journal: no other vault can tell.
  expect(perhapsElsewhere([one, two], new Set(['a', 'b']))).toEqual([])
  expect(perhapsElsewhere([one, { ...two, others: ['one', 'three'] }], new Set(['a', 'b']))).toEqual(['c'])
})

describe('of transactions for one nonce', () => {
  const signed = (nonce: number, bornAtBlock: bigint | null = null) => ({
    ...{ network: 'A', signerAddress: 'x', nonce, bornAtBlock },
  })
  const turns = (...each: readonly (ReturnType<typeof signed> | null)[]) =>
    recordedInTurn([...each.keys()], (index) => each[index] ?? null)

  test('the last one is restored', () => {
    expect(turns(signed(1), signed(2), null, signed(1), signed(3))).toEqual([1, 2, 3, 4])
    expect(turns({ ...signed(1), network: 'B' }, signed(1), { ...signed(1), signerAddress: 'y' })).toEqual([0, 1, 2])
  })

  test('those that may have expired come after all others, ordered by their blocks and not by the clocks', () => {
    expect(turns(signed(1, 10n), signed(1, 50n), signed(1, 30n), signed(2, 5n), signed(1, 50n))).toEqual([
      ...[3, 4, 0, 1, 2],
    ])
    expect(turns(signed(1, 50n), signed(1, 10n), null)).toEqual([0, 2, 1])
  })
})
