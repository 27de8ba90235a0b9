import { expect, test } from 'bun:test'
import type { JournalNote } from '../../src/custody/vault.ts'
import { inOrder } from '../../src/restore/in-order.ts'

const noted = (about: string, at: string): JournalNote => ({
  kind: 'project',
  projectId: '',
  isActive: true,
  about,
  at: `2030-01-01T00:${at}.000Z`,
})

const order = (...journals: readonly (readonly JournalNote[])[]) => inOrder(journals).map(({ about }) => about)

test('notes of several journals are ordered by the time', () => {
  expect(order([noted('1', '00:01'), noted('4', '00:04')], [noted('2', '00:02'), noted('3', '00:03')])).toEqual([
    ...['1', '2', '3', '4'],
  ])
})

test('notes of one journal stay in their order, though its clock was set back', () => {
  const backwards = [noted('1', '10:00'), noted('2', '10:01'), noted('3', '05:00'), noted('4', '05:01')]
  expect(order(backwards)).toEqual(['1', '2', '3', '4'])
  // The later time is the right one.
  expect(order([noted('0', '04:00')], backwards, [noted('5', '06:00')])).toEqual(['0', '1', '2', '3', '4', '5'])
})
