import { describe, expect, spyOn, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises'
import { createServer, Socket } from 'node:net'
import { join } from 'node:path'
import { AppError } from '../../src/platform/errors.ts'
import { connect } from '../../src/vault/client/connect.ts'
import { UnfitVault } from '../../src/vault/contract/contract.ts'
import { doorAtPath } from '../../src/vault/rooms/wire/door.ts'
import { listen, serve } from '../../src/vault/rooms/wire/listen.ts'
import { isLong, longTest } from '../support/long.ts'
import {
  count,
  createGates,
  createWire,
  echo,
  fail,
  frameOf,
  giveBack,
  lend,
  use,
  wait,
  waitAgain,
} from './wire-support.ts'

const wire = createWire()

const errorOf = async (asked: Promise<unknown>): Promise<AppError> => {
  const error = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  if (error instanceof AppError) return error
  throw new Error('expected an AppError')
}

const messageOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'no error',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )

describe('asking', () => {
  test('32 at once get each their own answer', async () => {
    const { path } = await wire.server()
    const client = wire.client(path)
    const asked = Array.from({ length: isLong ? 320 : 40 }, (_, index) => {
      const bytes = new Uint8Array((index % 32) * 10_000).fill(index)
      return client.ask(echo, { text: String(index), bytes })
    })
    for (const [index, { text, bytes }] of (await Promise.all(asked)).entries()) {
      expect(text).toBe(String(index))
      expect(Buffer.alloc((index % 32) * 10_000, index % 256).equals(bytes ?? new Uint8Array(1))).toBe(true)
    }
  })

  test('requests that are sent together arrive together, and so do their answers', async () => {
    const { path } = await wire.server()
    const client = wire.client(path)
    await client.ask(echo, { text: '' })
    const write = spyOn(Socket.prototype, 'write')
    try {
      await Promise.all(Array.from({ length: 50 }, (_, n) => client.ask(echo, { text: String(n) })))
      // Of the client, and of the server; that it is alive may come between.
      expect(write.mock.calls.length).toBeLessThanOrEqual(3)
    } finally {
      write.mockRestore()
    }
  })

  test('a quick answer does not wait for a slow one that was asked before', async () => {
    const gates = createGates()
    const { path } = await wire.server({ gates })
    const client = wire.client(path)
    const slow = client.ask(wait, { gate: 'a' })
    await gates.arrived('a')
    expect(await client.ask(echo, { text: 'quick' })).toEqual({ text: 'quick' })
    gates.open('a')
    expect(await slow).toEqual({ by: 'vault' })
  })

  test('progress comes in order and before its answer', async () => {
    const { path } = await wire.server()
    const told: number[] = []
    const answer = await wire.client(path).ask(count, { to: 100 }, (at) => told.push(at))
    expect(answer).toBe(100)
    expect(told).toEqual(Array.from({ length: 100 }, (_, index) => index + 1))
  })

  longTest('messages of 40 MB pass both ways, whole, while small ones go on', async () => {
    const { path } = await wire.server()
    const client = wire.client(path)
    const bytes = new Uint8Array(40_000_000).fill(9)
    const large = client.ask(echo, { text: 'large', bytes })
    expect(await client.ask(echo, { text: 'small' })).toEqual({ text: 'small' })
    const back = (await large).bytes
    expect(back !== undefined && Buffer.from(back).equals(bytes)).toBe(true)
  })

  test('above the limit of a connection requests wait in the socket, and are answered in the end', async () => {
    const gates = createGates()
    const { path } = await wire.server({ gates, underWayMax: 3 })
    const client = wire.client(path)
    const asked = Array.from({ length: 20 }, (_, index) => client.ask(wait, { gate: index < 3 ? 'a' : 'b' }))
    await gates.arrived('a')
    // Another connection has a limit of its own.
    await wire.client(path).ask(echo, { text: 'x' })
    expect([gates.waiting('a'), gates.waiting('b')]).toEqual([3, 0])
    gates.open('b')
    gates.open('a')
    expect(await Promise.all(asked)).toEqual(Array(20).fill({ by: 'vault' }))
  })

  longTest('a client that does not read stops being served, and gets everything once it reads', async () => {
    const { path } = await wire.server()
    const slow = await wire.raw(path)
    slow.hello()
    await slow.received(1)
    slow.socket.pause()
    const bytes = new Uint8Array(1_000_000).fill(3)
    for (let id = 1; id <= 40; id += 1) slow.send([id, 'echo', { text: 'a', bytes }])
    expect(await wire.client(path).ask(echo, { text: 'other' })).toEqual({ text: 'other' })
    slow.socket.resume()
    const [, ...answers] = await slow.received(41)
    expect(answers.map((answer) => (answer as unknown[])[0])).toEqual(Array.from({ length: 40 }, (_, at) => at + 1))
    const outputs = answers.map((answer) => (answer as [number, number, { bytes: Uint8Array }])[2].bytes)
    expect(outputs.every((each) => Buffer.from(each).equals(bytes))).toBe(true)
  })
})

describe('the end of a request', () => {
  test('zeroes what came with it', async () => {
    const path = join(await wire.folder(), 'run', 'vault.sock')
    const kept: Uint8Array[] = []
    const seen: number[] = []
    const keep = serve(echo, async (input) => {
      if (input.bytes !== undefined) kept.push(input.bytes)
      seen.push(...(input.bytes ?? []))
      return input
    })
    const ignore = () => {}
    const server = await listen({
      ...{
        door: doorAtPath({ path, mode: 0o660 }),
        name: 'vault',
        audience: 'everybody',
        methods: [keep],
        onRefused: ignore,
        onFailure: ignore,
        onEnd: ignore,
      },
    })
    const client = wire.client(path)
    expect((await client.ask(echo, { text: '', bytes: new Uint8Array([1, 2, 3]) })).bytes).toEqual(
      new Uint8Array([1, 2, 3]),
    )
    expect([seen, kept]).toEqual([[1, 2, 3], [new Uint8Array(3)]])
    await server.stop({ graceMs: 0 })
  })

  test('comes after that of its connection, if the client is gone', async () => {
    const gates = createGates()
    const server = await wire.server({ gates })
    const raw = await wire.raw(server.path)
    raw.hello()
    raw.send([1, 'wait', { gate: 'a' }])
    await gates.arrived('a')
    raw.socket.destroy()
    while (server.ended.length === 0) await server.happened()
    expect(server.ended[0]?.ended.aborted).toBe(true)
    gates.open('a')
    expect(await wire.client(server.path).ask(echo, { text: 'a' })).toEqual({ text: 'a' })
    expect([server.refusals, server.failures]).toEqual([[], []])
  })
})

describe('errors', () => {
  test('an AppError arrives with all that a caller acts on, and without its cause', async () => {
    const event = {
      kind: 'wrong_pin',
      projectId: 'p',
      actor: 'api_key:k',
      subject: 'o',
      details: { left: '3' },
    } as const
    const thrown = new AppError('TOO_MANY_FAILED_ATTEMPTS', 'Wait.', {
      ...{ retryAfterSeconds: 30, retryable: true, event, cause: new Error('secret') },
    })
    const { path, failures } = await wire.server({ errors: { known: thrown } })
    const error = await errorOf(wire.client(path).ask(fail, { kind: 'known' }))
    expect({ ...error, message: error.message, cause: error.cause }).toEqual({
      ...{
        name: 'AppError',
        code: 'TOO_MANY_FAILED_ATTEMPTS',
        message: 'Wait.',
        retryable: true,
        retryAfterSeconds: 30,
      },
      ...{ event, cause: undefined },
    })
    expect(failures).toEqual([])
  })

  test('of an unknown error only the server learns what it says', async () => {
    const secret = new Error('the key is 1234')
    const { path, failures } = await wire.server({ errors: { unknown: secret } })
    const error = await errorOf(wire.client(path).ask(fail, { kind: 'unknown' }))
    expect([error.code, error.message]).toEqual([
      'internal',
      'An error on our side: the operator finds the cause by the header X-Request-Id.',
    ])
    expect(failures).toEqual([secret])
  })

  test('an operator is told the sentences of our own plain errors, and no others', async () => {
    const errors = { own: new Error('The next root key is missing.'), foreign: new TypeError('params: 1234') }
    const { path } = await wire.server({ errors, audience: 'operator' })
    const client = wire.client(path)
    expect((await errorOf(client.ask(fail, { kind: 'own' }))).message).toBe('The next root key is missing.')
    expect((await errorOf(client.ask(fail, { kind: 'foreign' }))).message).toContain('on our side')
  })

  test('no field crosses that the method does not name', async () => {
    const { path } = await wire.server()
    const row = { text: 'a', secret: 'b' }
    expect(await wire.client(path).ask(echo, row)).toEqual({ text: 'a' })
    const more = await wire.server({ path: join(await wire.folder(), 'more.sock'), extra: { secret: 'c' } })
    expect(await wire.client(more.path).ask(echo, { text: 'a' })).toEqual({ text: 'a' })
  })

  test.each([
    ['unavailable', { code: '57P01' }],
    ['unavailable', { code: 'ECONNREFUSED' }],
    ['unavailable', { code: '53100' }],
    ['busy', { code: '55P03' }],
  ] as const)('trouble of the database is %s (%o)', async (code, of) => {
    const { path } = await wire.server({ errors: { database: Object.assign(new Error('x'), of) } })
    expect((await errorOf(wire.client(path).ask(fail, { kind: 'database' }))).code).toBe(code)
  })

  test('an input that the server would refuse ends no connection, because it is not sent', async () => {
    const { path, refusals } = await wire.server()
    const client = wire.client(path)
    for (const text of ['half a pair: \ud800', 'a'.repeat(64 * 1024 * 1024)]) {
      expect((await errorOf(client.ask(echo, { text }))).code).toBe('invalid_input')
    }
    const wrong = { text: 1 as unknown as string }
    expect((await errorOf(client.ask(echo, wrong))).code).toBe('invalid_input')
    expect(await client.ask(echo, { text: 'fine' })).toEqual({ text: 'fine' })
    expect([refusals, client.changes().length]).toEqual([[], 1])
  })
})

describe('where it listens', () => {
  test('its folder is made for the owner alone, and its socket for owner and group', async () => {
    const { path } = await wire.server()
    expect((await stat(join(path, '..'))).mode & 0o777).toBe(0o700)
    expect((await stat(path)).mode & 0o777).toBe(0o660)
  })

  test('a folder that others may enter is refused', async () => {
    const folder = join(await wire.folder(), 'open')
    await mkdir(folder)
    for (const mode of [0o701, 0o755, 0o704]) {
      await chmod(folder, mode)
      expect(await messageOf(wire.server({ path: join(folder, 'a.sock') }))).toContain('open to all users')
    }
    await chmod(folder, 0o750)
    await wire.server({ path: join(folder, 'a.sock') })
  })

  test('a path where a vault answers is refused, and that vault goes on', async () => {
    const { path, refusals } = await wire.server()
    const client = wire.client(path)
    await client.ask(echo, { text: 'a' })
    expect(await messageOf(wire.server({ path }))).toContain('listens at')
    expect(await client.ask(echo, { text: 'b' })).toEqual({ text: 'b' })
    expect(refusals).toEqual([])
  })

  test('a socket that a killed vault left is replaced', async () => {
    const path = join(await wire.folder(), 'vault.sock')
    const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 9))`
    await Bun.spawn([process.execPath, '-e', script]).exited
    expect(existsSync(path)).toBe(true)
    await wire.server({ path })
    expect(await wire.client(path).ask(echo, { text: 'a' })).toEqual({ text: 'a' })
  })

  test('a file that is no socket, and a path that is too long, are refused', async () => {
    const path = join(await wire.folder(), 'file')
    await writeFile(path, 'kept')
    expect(await messageOf(wire.server({ path }))).toContain('not a socket')
    expect(await Bun.file(path).text()).toBe('kept')
    expect(await messageOf(wire.server({ path: join(path, 'a'.repeat(120)) }))).toContain('at most 103 bytes')
  })
})

describe('several servers', () => {
  test('calls go to each in turn', async () => {
    const gates = createGates()
    gates.open('a')
    const one = await wire.server({ gates, name: 'one' })
    const two = await wire.server({ gates, name: 'two' })
    const client = wire.client(one.path, two.path)
    while (client.changes().length < 2) await client.changed()
    const by: string[] = []
    for (let index = 0; index < 10; index += 1) by.push((await client.ask(wait, { gate: 'a' })).by)
    expect(by.filter((each) => each === 'one').length).toBe(5)
  })

  test('what is held stays with the server that gave it', async () => {
    const one = await wire.server({ name: 'one' })
    const two = await wire.server({ name: 'two' })
    const client = wire.client(one.path, two.path)
    while (client.changes().length < 2) await client.changed()
    const all = await Promise.all(Array.from({ length: 20 }, () => client.hold(lend, {})))
    const by = await Promise.all(all.map(({ output, held }) => held.ask(use, { handle: output })))
    expect([...new Set(by)].sort()).toEqual(['one', 'two'])
    expect([...one.refusals, ...two.refusals]).toEqual([])
  })

  test('a vault without the current root key is avoided, and used again while the other one is unavailable', async () => {
    const gates = createGates()
    gates.open('a')
    const one = await wire.server({ gates, name: 'one', errors: { key: new UnfitVault() } })
    const two = await wire.server({ gates, name: 'two', errors: { key: new AppError('busy', 'Later.') } })
    const client = wire.client(one.path, two.path)
    while (client.changes().length < 2) await client.changed()
    const codes: string[] = []
    // Each call ends at the second one, also that which came to the first.
    for (let index = 0; index < 4; index += 1) codes.push((await errorOf(client.ask(fail, { kind: 'key' }))).code)
    expect(codes).toEqual(Array(4).fill('busy'))
    expect(client.changes().slice(2)).toEqual([`${one.path} unfit`])
    expect((await client.ask(wait, { gate: 'a' })).by).toBe('two')
    await two.stop({ graceMs: 0 })
    expect((await client.ask(wait, { gate: 'a' })).by).toBe('one')
    expect(await errorOf(client.ask(fail, { kind: 'key' }))).toBeInstanceOf(UnfitVault)
  })

  test('a call reaches the only vault with the current root key, however many others there are', async () => {
    const unfit = { errors: { key: new UnfitVault() } }
    const old = await Promise.all(Array.from({ length: 9 }, (_, at) => wire.server({ ...unfit, name: `old ${at}` })))
    const present = await wire.server({ name: 'present', errors: { key: new AppError('busy', 'Later.') } })
    const client = wire.client(...old.map(({ path }) => path), present.path)
    while (client.changes().length < 10) await client.changed()
    expect((await errorOf(client.ask(fail, { kind: 'key' }))).code).toBe('busy')
    await present.stop({ graceMs: 0 })
    expect(await errorOf(client.ask(fail, { kind: 'key' }))).toBeInstanceOf(UnfitVault)
  })

  test('on a lost connection, what may be repeated is asked of another one, and anything else fails', async () => {
    const gates = createGates()
    const one = await wire.server({ gates, name: 'one' })
    const client = wire.client(one.path)
    const once = errorOf(client.ask(wait, { gate: 'a' }))
    const repeated = client.ask(waitAgain, { gate: 'b' })
    const { output, held } = await client.hold(lend, {})
    await Promise.all([gates.arrived('a'), gates.arrived('b')])
    const stopped = one.stop({ graceMs: 0 })
    const two = await wire.server({ gates, name: 'two', path: one.path })
    await stopped
    expect(await once).toMatchObject({ code: 'unavailable', retryable: true })
    gates.open('b')
    expect(await repeated).toEqual({ by: 'two' })
    expect(await errorOf(held.ask(use, { handle: output }))).toMatchObject({ code: 'unavailable' })
    expect(two.refusals).toEqual([])
  })

  test('what is repeated fails after three lost connections', async () => {
    const server = createServer((socket) => {
      asked += 1
      const hello = Buffer.from('82a870726f746f636f6c01a46e616d65a161', 'hex')
      socket.write(Buffer.concat([Buffer.from([0, 0, 0, hello.length]), hello]))
      // The client's hello, then its request.
      let received = 0
      socket.on('data', ({ length }) => {
        received += length
        if (received > 50) socket.destroy()
      })
      socket.on('error', () => {})
    })
    let asked = 0
    const path = join(await wire.folder(), 'a.sock')
    const { promise, resolve } = Promise.withResolvers<void>()
    server.listen(path, resolve)
    await promise
    const client = wire.client(path)
    const error = await errorOf(client.ask(echo, { text: 'a'.repeat(100) }))
    expect([error.code, asked]).toEqual(['unavailable', 3])
    client.close()
    server.close()
  })

  longTest('a server may be slow to say hello: a loaded machine takes more than a second', async () => {
    const path = join(await wire.folder(), 'a.sock')
    const hello = frameOf({ protocol: 1, name: 'slow' })
    let dialled = 0
    const server = createServer((socket) => {
      dialled += 1
      socket.on('error', () => {})
      setTimeout(() => socket.write(hello), 1_500)
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    server.listen(path, resolve)
    await promise
    const client = wire.client(path)
    await client.changed()
    expect([client.changes(), dialled]).toEqual([[`${path} open`], 1])
    client.close()
    server.close()
  })

  longTest('without a server a call waits for one, and is unavailable in the end', async () => {
    const path = join(await wire.folder(), 'vault.sock')
    const client = wire.client(path)
    expect(await errorOf(client.ask(echo, { text: 'a' }))).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 })
    const asked = client.ask(echo, { text: 'b' })
    await wire.server({ path })
    expect(await asked).toEqual({ text: 'b' })
  })

  longTest('however often a server was not reached, the next try comes a tenth of a second later', async () => {
    const path = join(await wire.folder(), 'vault.sock')
    const later = spyOn(globalThis, 'setTimeout')
    const tried = Promise.withResolvers<void>()
    let tries = 0
    const onUnreached = () => {
      tries += 1
      if (tries === 10) tried.resolve()
    }
    const client = connect({ sockets: [path], name: 'api', onChange: () => {}, onUnreached })
    try {
      await tried.promise
      const pauses = later.mock.calls.flatMap(([_run, ms, of]: readonly unknown[]) => (of === path ? [ms] : []))
      expect([pauses.length >= 9, new Set(pauses)]).toEqual([true, new Set([100])])
    } finally {
      later.mockRestore()
      client.close()
    }
  })
})

describe('leaving', () => {
  test('what runs and what is held ends on a server that leaves, and new work goes to another', async () => {
    const gates = createGates()
    const one = await wire.server({ gates, name: 'one' })
    const client = wire.client(one.path)
    const runs = client.ask(wait, { gate: 'a' })
    const { output, held } = await client.hold(lend, {})
    await gates.arrived('a')
    let isStopped = false
    const stopped = one.stop({ graceMs: 60_000 }).then(() => {
      isStopped = true
    })
    while (client.changes().length < 2) await client.changed()
    const two = await wire.server({ gates, name: 'two', path: one.path })
    gates.open('b')
    expect(await client.ask(wait, { gate: 'b' })).toEqual({ by: 'two' })
    expect(isStopped).toBe(false)
    gates.open('a')
    expect(await runs).toEqual({ by: 'one' })
    expect(isStopped).toBe(false)
    expect(await held.ask(use, { handle: output })).toBe('one')
    held.end(giveBack, { handle: output })
    await stopped
    expect([one.refusals, two.refusals]).toEqual([[], []])
  })

  test('under load, a server that is replaced costs no call where another one is there', async () => {
    const one = await wire.server({ name: 'one' })
    const two = await wire.server({ name: 'two' })
    const client = wire.client(one.path, two.path)
    while (client.changes().length < 2) await client.changed()
    let isOver = false
    let uses = 0
    const load = Array.from({ length: 32 }, async () => {
      while (!isOver) {
        const { output, held } = await client.hold(lend, {})
        await held.ask(use, { handle: output })
        held.end(giveBack, { handle: output })
        uses += 1
      }
    })
    const all = Promise.all(load)
    let server = one
    for (let round = 0; round < (isLong ? 5 : 1); round += 1) {
      await server.stop({ graceMs: 60_000 })
      server = await wire.server({ path: one.path })
      const seen = uses
      while (uses < seen + 200) await Promise.race([client.ask(echo, { text: 'a' }), all])
    }
    isOver = true
    await all
    expect([...one.refusals, ...two.refusals]).toEqual([])
  })

  test('a client that does not go is closed after the grace, and its connection is told as ended', async () => {
    const server = await wire.server()
    const stays = await wire.raw(server.path)
    stays.hello()
    await stays.received(1)
    await wire.client(server.path).ask(echo, { text: 'a' })
    await server.stop({ graceMs: 50 })
    expect((await stays.received(2))[1]).toEqual([0, 3, 'leaving'])
    await stays.over
    while (server.ended.length < 2) await server.happened()
    expect(server.ended.every(({ ended }) => ended.aborted)).toBe(true)
    expect(existsSync(server.path)).toBe(false)
  })
})
