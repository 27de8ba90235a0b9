import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import { Refused } from '../../src/vault/client/data.ts'
import { createFrameReader, createFrameWriter } from '../../src/vault/client/frames.ts'
import { doorAtPath } from '../../src/vault/rooms/wire/door.ts'
import { createRoom } from '../../src/vault/rooms/wire/room.ts'
import { longTest, roundsOf } from '../support/long.ts'
import { createGates, createWire, echo, frameOf, lend, type Server, use, wait } from './wire-support.ts'

const wire = createWire()
type Raw = Awaited<ReturnType<typeof wire.raw>>

const headOf = (length: number): Buffer => {
  const head = Buffer.alloc(4)
  head.writeUInt32BE(length)
  return head
}

const nextRefusal = async ({ refusals, happened }: Server, before: number): Promise<string> => {
  while (refusals.length <= before) await happened()
  return refusals[before]?.why ?? ''
}

/** What comes after a hello that is as it should be. */
const AFTER_HELLO: readonly (readonly [what: string, why: string, send: (raw: Raw) => void])[] = [
  [
    'a message that is too large, at its length',
    'the message is too large',
    ({ socket }) => socket.write(headOf(64 * 1024 * 1024 + 1)),
  ],
  [
    'a message that ends with the connection',
    'the connection ended within a message',
    ({ socket }) => socket.end(Buffer.concat([headOf(100), Buffer.alloc(99)])),
  ],
  ['half a length', 'the connection ended within a message', ({ socket }) => socket.end(Buffer.alloc(2))],
  ['an empty message', 'the message ends too early', ({ socket }) => socket.write(headOf(0))],
  [
    'no MessagePack',
    'a value is of a type that is never written',
    ({ socket }) => socket.write(Buffer.concat([headOf(1), Buffer.from([0xc1])])),
  ],
  ['no request', 'a message is no request', ({ send }) => send({ id: 1 })],
  ['a request of four parts', 'a message is no request', ({ send }) => send([1, 'echo', { text: '' }, null])],
  ['an id below 0', 'a message is no request', ({ send }) => send([-1, 'echo', { text: '' }])],
  ['an id that is no integer', 'a message is no request', ({ send }) => send([1.5, 'echo', { text: '' }])],
  ['an answer', 'a message is no request', ({ send }) => send([1, 0, null])],
  ['a second hello', 'a message is no request', ({ hello }) => hello()],
  ['an unknown method', 'a method is unknown', ({ send }) => send([1, 'secret', {}])],
  ['a name that every object has', 'a method is unknown', ({ send }) => send([1, 'constructor', {}])],
  [
    'an unknown field',
    'an input of echo is not as it should be',
    ({ send }) => send([1, 'echo', { text: '', more: 1 }]),
  ],
  ['a missing field', 'an input of echo is not as it should be', ({ send }) => send([1, 'echo', {}])],
  ['a wrong type', 'an input of echo is not as it should be', ({ send }) => send([1, 'echo', { text: 1 }])],
  [
    'bytes as a list',
    'an input of echo is not as it should be',
    ({ send }) => send([1, 'echo', { text: '', bytes: [1] }]),
  ],
  ['no input', 'an input of echo is not as it should be', ({ send }) => send([1, 'echo', null])],
  ['a bad input without an id', 'an input of echo is not as it should be', ({ send }) => send([0, 'echo', null])],
  ['a handle that nobody has', 'a handle is not of this connection', ({ send }) => send([1, 'use', { handle: 7 }])],
  [
    'an id that is under way',
    'a request has the id of one that is under way',
    ({ send }) => {
      send([1, 'wait', { gate: 'shut' }])
      send([1, 'wait', { gate: 'shut' }])
    },
  ],
]

test.each(AFTER_HELLO)('%s ends its connection, and nothing else', async (_what, why, send) => {
  const gates = createGates()
  const server = await wire.server({ gates })
  const others = wire.client(server.path)
  const runs = others.ask(echo, { text: 'before' })
  const { output, held } = await others.hold(lend, {})
  const raw = await wire.raw(server.path)
  raw.hello()
  await raw.received(1)
  send(raw)
  expect(await nextRefusal(server, 0)).toBe(why)
  await raw.over
  while (server.ended.length < 1) await server.happened()
  expect(server.ended[0]?.name).toBe('raw')
  expect(await runs).toEqual({ text: 'before' })
  expect(await held.ask(use, { handle: output })).toBe('vault')
  expect(server.refusals).toEqual([{ why, name: 'raw' }])
  expect([server.failures, others.changes().length]).toEqual([[], 1])
  gates.open('shut')
})

test.each([
  ['the first message is no hello', [1, 'echo', { text: '' }]],
  ['the first message is no hello', { protocol: 1 }],
  ['the first message is no hello', { protocol: 1, name: 'a', more: 1 }],
  ['the first message is no hello', { protocol: '1', name: 'a' }],
  ['the hello is of another version of the protocol', { protocol: 2, name: 'a' }],
])('%s', async (why, first) => {
  const server = await wire.server()
  const raw = await wire.raw(server.path)
  raw.send(first)
  // It is not looked at.
  raw.send([1, 'echo', { text: 'a' }])
  expect(await nextRefusal(server, 0)).toBe(why)
  await raw.over
  expect(server.refusals).toEqual([{ why, name: null }])
  expect(await raw.received(1)).toEqual([{ protocol: 1, name: 'vault' }])
  expect(server.ended).toEqual([])
})

test('a handle of another connection, and one that is used up, end the connection that tries', async () => {
  const server = await wire.server()
  const owner = wire.client(server.path)
  const { output, held } = await owner.hold(lend, {})
  const thief = await wire.raw(server.path)
  thief.hello()
  thief.send([1, 'use', { handle: output }])
  expect(await nextRefusal(server, 0)).toBe('a handle is not of this connection')
  expect(await held.ask(use, { handle: output })).toBe('vault')
  const again = held.ask(use, { handle: output })
  expect(await again.catch((error: Error) => error.message)).toContain('went away')
  expect(await nextRefusal(server, 1)).toBe('a handle is not of this connection')
})

test('what came together with bad input is not run', async () => {
  const gates = createGates()
  const server = await wire.server({ gates })
  const raw = await wire.raw(server.path)
  raw.hello()
  await raw.received(1)
  raw.socket.write(Buffer.concat([frameOf([1, 'nothing', null]), frameOf([2, 'wait', { gate: 'a' }])]))
  await nextRefusal(server, 0)
  await raw.over
  await wire.client(server.path).ask(echo, { text: 'a' })
  expect(gates.waiting('a')).toBe(0)
})

test('garbage of any kind ends its connection alone', async () => {
  const server = await wire.server()
  const others = wire.client(server.path)
  await others.ask(echo, { text: 'a' })
  const hello = frameOf({ protocol: 1, name: 'raw' })
  const request = frameOf([1, 'echo', { text: 'text', bytes: new Uint8Array(20) }])
  const garbage = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 200 }),
    // A length, and then as many bytes of anything.
    fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => Buffer.concat([hello, headOf(bytes.length), bytes])),
    // A request with some bytes changed.
    fc
      .array(fc.tuple(fc.nat({ max: request.length - 1 }), fc.nat({ max: 255 })), { minLength: 1, maxLength: 5 })
      .map((changes) => {
        const changed = Buffer.from(request)
        for (const [at, byte] of changes) changed[at] = byte
        return Buffer.concat([hello, changed])
      }),
  )
  await fc.assert(
    fc.asyncProperty(garbage, async (bytes) => {
      const raw = await wire.raw(server.path)
      raw.socket.end(bytes)
      await raw.over
      expect(await others.ask(echo, { text: 'a' })).toEqual({ text: 'a' })
    }),
    { seed: 20261123, numRuns: roundsOf(500) },
  )
  expect(server.refusals.length).toBeGreaterThan(roundsOf(300))
  expect([server.failures, others.changes().length]).toEqual([[], 1])
})

describe('what never ends', () => {
  const MEBIBYTE = 1024 * 1024
  const why = 'a message was begun and not ended, or no answer was read, for ten seconds'

  longTest('messages on many connections take the room that is there for all, in turn, and each is ended', async () => {
    const room = createRoom({ ownBytes: MEBIBYTE / 16, sharedBytes: 16 * MEBIBYTE })
    const server = await wire.server({ room, aliveEveryMs: 20 })
    const others = wire.client(server.path)
    const begun = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const raw = await wire.raw(server.path)
        raw.hello()
        await raw.received(1)
        raw.socket.write(Buffer.concat([headOf(4 * MEBIBYTE), Buffer.alloc(4 * MEBIBYTE - 1)]))
        return raw
      }),
    )
    // Larger than what is free while they have it, and larger than a connection's own.
    const bytes = new Uint8Array(7 * MEBIBYTE)
    const large = wire.client(server.path).ask(echo, { text: 'large', bytes })
    const isRead = () => begun.filter(({ socket }) => socket.writableLength === 0)
    for (let ended = 1; ended <= 6; ended += 1) {
      expect(await nextRefusal(server, ended - 1)).toBe(why)
      expect(isRead().length).toBeLessThanOrEqual(ended + 4)
      expect(await others.ask(echo, { text: 'small' })).toEqual({ text: 'small' })
    }
    await Promise.all(begun.map(({ over }) => over))
    expect((await large).bytes?.length).toBe(7 * MEBIBYTE)
    expect([server.refusals.length, server.failures, others.changes().length]).toEqual([6, [], 1])
  })

  test('answers that a client does not read', async () => {
    const server = await wire.server({ aliveEveryMs: 20 })
    const raw = await wire.raw(server.path)
    raw.hello()
    await raw.received(1)
    raw.socket.pause()
    for (let id = 1; id <= 10; id += 1) raw.send([id, 'echo', { text: 'a', bytes: new Uint8Array(MEBIBYTE) }])
    expect(await nextRefusal(server, 0)).toBe(why)
    while (server.ended.length === 0) await server.happened()
  })

  test('a peer has half of the room, until its requests have ended: it hinders no other, nor its own small messages', async () => {
    const gate = 'a'.repeat(3 * MEBIBYTE)
    const gates = createGates()
    const uids = [1, 1, 1, 2]
    const users = { uids: [1, 2], uidOf: () => uids.shift() ?? null }
    const path = join(await wire.folder(), 'vault.sock')
    const room = createRoom({ ownBytes: MEBIBYTE / 16, sharedBytes: 8 * MEBIBYTE })
    const server = await wire.server({ gates, room, path, door: doorAtPath({ path, mode: 0o660, users }) })
    const gone = await wire.raw(path)
    gone.hello()
    gone.send([1, 'wait', { gate }])
    await gates.arrived(gate)
    gone.socket.destroy()
    while (server.ended.length === 0) await server.happened()
    let isAnswered = false
    const waits = wire.client(path).ask(echo, { text: 'b'.repeat(2 * MEBIBYTE) })
    const large = waits.then(({ text }) => {
      isAnswered = true
      return text.length
    })
    const small = wire.client(path)
    await small.ask(echo, { text: 'small' })
    const ofOther = wire.client(path).ask(echo, { text: 'c'.repeat(4 * MEBIBYTE - 100) })
    expect((await ofOther).text.length).toBe(4 * MEBIBYTE - 100)
    for (let at = 0; at < 50; at += 1) expect(await small.ask(echo, { text: 'small' })).toEqual({ text: 'small' })
    expect(isAnswered).toBe(false)
    gates.open(gate)
    expect(await large).toBe(2 * MEBIBYTE)
  })

  test('a connection has room for its small messages beside a large one', async () => {
    const gates = createGates()
    const room = createRoom({ ownBytes: MEBIBYTE / 16, sharedBytes: 6 * MEBIBYTE + 100 })
    const server = await wire.server({ gates, room })
    const large = ['a', 'b'].map((letter) => {
      const gate = letter.repeat(3 * MEBIBYTE)
      const client = wire.client(server.path)
      return { client, gate, answer: client.ask(wait, { gate }) }
    })
    for (const { gate } of large) await gates.arrived(gate)
    const text = 'small'.repeat(20)
    for (const { client } of large) expect(await client.ask(echo, { text })).toEqual({ text })
    for (const { gate } of large) gates.open(gate)
    await Promise.all(large.map(({ answer }) => answer))
  })
})

test('messages are found in pieces of any size', () => {
  const texts = fc.array(fc.string({ maxLength: 300 }), { maxLength: 10 })
  const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(texts, sizes, (values, pieces) => {
      const all = Buffer.concat(values.map(frameOf))
      const reader = createFrameReader()
      const found: unknown[] = []
      for (let at = 0, turn = 0; at < all.length; turn += 1) {
        const size = pieces[turn % pieces.length] ?? 1
        reader.push(new Uint8Array(all.subarray(at, at + size)))
        at += size
        for (let message = reader.next(); message !== null; message = reader.next()) found.push(message.value)
      }
      expect(found).toEqual(values)
      expect(reader.isAmid()).toBe(false)
    }),
    { seed: 20261123, numRuns: roundsOf(2_000) },
  )
})

test('what was received is zeroed: a message when its request has ended, and the rest with the connection', () => {
  const secret = randomBytes(32)
  const [first, second] = [frameOf({ secret }), frameOf({ secret })]
  const reader = createFrameReader()
  const pieces = [
    first.subarray(0, 20),
    Buffer.concat([first.subarray(20), second.subarray(0, 30)]),
    second.subarray(30),
  ]
  const chunks = pieces.map((piece) => new Uint8Array(piece))
  const push = (chunk: Uint8Array | undefined) => chunk !== undefined && reader.push(chunk)
  push(chunks[0])
  push(chunks[1])
  const message = reader.next()
  if (message === null) throw new Error('there was no message')
  const { secret: read } = message.value as { secret: Uint8Array }
  expect(Buffer.from(read).equals(secret)).toBe(true)
  message[Symbol.dispose]()
  expect([...read]).toEqual(Array(32).fill(0))
  push(chunks[2])
  reader[Symbol.dispose]()
  expect(chunks.every((chunk) => chunk.every((byte) => byte === 0))).toBe(true)
})

test('what was sent is zeroed, and what cannot be sent leaves nothing between the messages around it', () => {
  const secret = randomBytes(32)
  const writer = createFrameWriter()
  writer.add({ secret })
  expect(() => writer.add({ secret, refused: Symbol('a') })).toThrow(Refused)
  writer.add('second')
  const first = writer.take()
  writer.add('third')
  const second = writer.take()
  const reader = createFrameReader()
  reader.push(new Uint8Array(Buffer.concat([first.bytes, second.bytes])))
  const values = Array.from({ length: 4 }, () => reader.next()?.value)
  expect(values).toEqual([{ secret: new Uint8Array(secret) }, 'second', 'third', undefined])
  const { bytes } = first
  first[Symbol.dispose]()
  expect(bytes.every((byte) => byte === 0)).toBe(true)
  // Its place is used again, and nothing of it is left.
  writer.take()
  writer.add('')
  writer.add('fourth')
  expect(Buffer.from(writer.take().bytes).equals(Buffer.concat([frameOf(''), frameOf('fourth')]))).toBe(true)
})
