import { expect, test } from 'bun:test'
import { measureParts, part } from '../../src/platform/tracing/timings.ts'
import { PROTOCOL } from '../../src/vault/client/protocol.ts'
import { createWire, echo, fail } from './wire-support.ts'

const wire = createWire()

test('only a client that asks for timings gets them, with answers and failures', async () => {
  const { path } = await wire.server()
  const [plain, asking] = [await wire.raw(path), await wire.raw(path)]
  plain.hello()
  asking.send({ protocol: PROTOCOL, name: 'raw', timings: true })
  for (const client of [plain, asking]) {
    client.send([1, echo.name, { text: 'a' }])
    await client.received(2)
    client.send([2, fail.name, { kind: 'app' }])
  }
  const [, answer, failure] = await plain.received(3)
  expect(answer).toEqual([1, 0, { text: 'a' }])
  expect(failure).toEqual([2, 1, expect.anything()])
  const timings = [{ name: 'run', beganMs: 0, tookMs: expect.any(Number) }]
  const [, itsAnswer, itsFailure] = await asking.received(3)
  expect(itsAnswer).toEqual([1, 0, { text: 'a' }, timings])
  expect(itsFailure).toEqual([2, 1, expect.anything(), timings])
})

test('parts of calls that run at once are not mixed', async () => {
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()]
  const one = measureParts(() => part('argon2', () => first.promise))
  const other = measureParts(async () => {
    await part('audit', async () => {})
    return await part('journal', () => second.promise)
  })
  second.resolve('second')
  expect(await other.result).toBe('second')
  first.resolve('first')
  expect(await one.result).toBe('first')
  expect(one.timings().map(({ name }) => name)).toEqual(['run', 'argon2'])
  expect(other.timings().map(({ name }) => name)).toEqual(['run', 'audit', 'journal'])
})

test('times are rounded, and only so many parts are kept', async () => {
  const measured = measureParts(async () => {
    for (let each = 0; each < 100; each += 1) await part('audit', async () => {})
  })
  await measured.result
  const timings = measured.timings()
  expect(timings.length).toBe(17)
  for (const { beganMs, tookMs } of timings) {
    for (const ms of [beganMs, tookMs]) expect(ms).toBe(Math.round(ms * 10) / 10)
  }
})

test('outside of a measured call nothing is kept', async () => {
  expect(await part('argon2', async () => 'a key')).toBe('a key')
})
