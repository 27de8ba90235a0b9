import { expect, test } from 'bun:test'
import { createMailboxes } from '../src/mailbox.ts'

test('under one name one thing is done after the other, and under another name at the same time', async () => {
  const mailboxes = createMailboxes()
  const order: string[] = []
  const first = Promise.withResolvers<void>()
  const done = [
    mailboxes.run('a', () => first.promise.then(() => order.push('first'))),
    mailboxes.run('a', async () => order.push('second')),
  ]
  await mailboxes.run('b', async () => order.push('other'))
  first.resolve()
  await Promise.all(done)
  expect(order).toEqual(['other', 'first', 'second'])
})

test('what fails leaves the queue to the next', async () => {
  const mailboxes = createMailboxes()
  const failed = mailboxes.run('a', () => Promise.reject(new Error('no')))
  const next = mailboxes.run('a', async () => 'done')
  await expect(failed).rejects.toThrow('no')
  expect(await next).toBe('done')
})

test('who has waited for too long is sent away when it would be their turn, and nothing is done', async () => {
  const mailboxes = createMailboxes({ maxWaitMs: 20 })
  let done = 0
  const slow = mailboxes.run('a', () => Bun.sleep(60))
  const late = [1, 2].map(() => mailboxes.run('a', async () => (done += 1)))
  const ends = await Promise.allSettled(late)
  expect(ends).toMatchObject(late.map(() => ({ status: 'rejected', reason: { code: 'busy', retryAfterSeconds: 1 } })))
  expect(done).toBe(0)
  await slow
  expect(await mailboxes.run('a', async () => 'again')).toBe('again')
})
