// Texts that are secret cross as bytes, in both directions, and both sides can zero them.

import { afterEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type TSchema, Type } from '@sinclair/typebox'
import type { SecretText } from '../../src/platform/sealing/bytes.ts'
import { methods, Secret, SecretBytes } from '../../src/vault/contract/method.ts'
import { doorAtPath } from '../../src/vault/rooms/wire/door.ts'
import { type Listener, listen, serve } from '../../src/vault/rooms/wire/listen.ts'
import { createWire } from './wire-support.ts'

const wire = createWire()
const closed = { additionalProperties: false }
const Maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Undefined()]))

const oneOfTwo = Type.Union([Type.Object({ first: Secret }, closed), Type.Object({ second: Secret }, closed)])
const { tell } = methods({
  tell: {
    input: Type.Object({ given: Maybe(oneOfTwo), plain: Type.String() }, closed),
    output: Type.Object({ secret: Type.Union([SecretBytes, Type.Null()]), plain: Type.Uint8Array() }, closed),
  },
})

const servers: Listener[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop({ graceMs: 0 })
})

/** Serves `tell`; `seen` has what it was given as it was then, `answered` what it answered. */
const start = async () => {
  const seen: { field: string; bytes: Buffer }[] = []
  const given: Uint8Array[] = []
  const answered: Uint8Array[] = []
  const keep = ([field, secret]: readonly [string, SecretText]) => {
    if (typeof secret === 'string') throw new Error('a secret came as a string')
    given.push(secret)
    seen.push({ field, bytes: Buffer.from(secret) })
  }
  const served = serve(tell, async ({ given: secrets, plain }) => {
    for (const each of Object.entries(secrets ?? {})) keep(each)
    const output = { secret: plain === 'none' ? null : Buffer.from('an answer'), plain: Buffer.from('in the open') }
    answered.push(output.secret ?? new Uint8Array(), output.plain)
    return output
  })
  const path = join(await wire.folder(), 'run', 'vault.sock')
  const ignore = () => {}
  const server = await listen({
    ...{ path, name: 'vault', door: doorAtPath({ path, mode: 0o660 }), audience: 'everybody', methods: [served] },
    ...{ onFailure: ignore, onEnd: ignore, onRefused: ignore },
  })
  servers.push(server)
  return { client: wire.client(path), seen, given, answered }
}

describe('a secret', () => {
  test.each([
    [{ first: 'é 🔑' }, 'first', 'é 🔑'],
    [{ second: Buffer.from('bytes') }, 'second', 'bytes'],
  ] as const)('in a message with several shapes crosses as bytes: %p', async (secrets, field, text) => {
    const { client, seen, given } = await start()
    await client.ask(tell, { given: secrets, plain: '' })
    expect(seen.map(({ field: of, bytes }) => [of, bytes.toString()])).toEqual([[field, text]])
    // Zeroed with its request.
    expect(given).toEqual([new Uint8Array(Buffer.byteLength(text))])
  })

  test('may be absent', async () => {
    const { client, seen } = await start()
    await client.ask(tell, { plain: '' })
    await client.ask(tell, { given: undefined, plain: '' })
    expect(seen).toEqual([])
  })

  test.each([{ first: 'a', second: 'b' }, { first: 'a', third: 'b' }, { first: 1 }, { first: '\ud800' }, {}, 'first'])(
    'in a message of no known shape is refused: %p',
    (given) => {
      expect(tell.input.fits(tell.input.named({ given, plain: '' }))).toBe(false)
    },
  )

  test('of an answer arrives unchanged, and the sender zeroes its copy', async () => {
    const { client, answered } = await start()
    const { secret, plain } = await client.ask(tell, { plain: '' })
    expect([secret, plain].map((each) => each && Buffer.from(each).toString())).toEqual(['an answer', 'in the open'])
    expect(answered.map((each) => Buffer.from(each).toString())).toEqual(['\0'.repeat(9), 'in the open'])
  })

  test('of an answer may be absent', async () => {
    const { client } = await start()
    expect((await client.ask(tell, { plain: 'none' })).secret).toBeNull()
  })
})
