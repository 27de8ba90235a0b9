import { describe, expect, test } from 'bun:test'
import { execFileSync } from 'node:child_process'
import { chmodSync, fstatSync, mkdtempSync, openSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EnvelopeError, type RowIdentity } from '../../src/platform/sealing/envelope.ts'
import { readKey } from '../../src/platform/sealing/key-source.ts'
import { openSealer } from '../../src/platform/sealing/sealer.ts'
import { openRootKey } from '../../src/vault/rooms/root/root-key.ts'
import { hexOf, keyFile, openTestIdentity, openTestRootKey, openTestSealer } from './support.ts'

const KEY = Uint8Array.from({ length: 32 }, (_, index) => index * 7 + 129)
const HEX = hexOf(KEY)
const BASE64 = Buffer.from(KEY).toString('base64')

/** Reads a key with this content. @returns the key in hex, or the error's message. */
const read = (content: Uint8Array | string, mode?: number): string => {
  const file = keyFile(content, mode)
  try {
    return hexOf(readKey({ name: 'ROOT_KEY', spec: file.spec }))
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return error.message.replace(file.spec.slice('file:'.length), '<path>')
  } finally {
    file.remove()
  }
}

describe('a key from a file', () => {
  test.each([
    ['32 raw bytes', KEY],
    ['hex', HEX],
    ['hex in capitals, with a newline', `${HEX.toUpperCase()}\n`],
    ['hex with a newline of Windows', `${HEX}\r\n`],
    ['base64', BASE64],
    ['base64 with a newline', `${BASE64}\n`],
  ])('may be %s', (_what, content) => {
    expect(read(content)).toBe(HEX)
  })

  test('may be 32 raw bytes that end in a newline', () => {
    const raw = Uint8Array.from(KEY)
    raw[31] = 10
    expect(read(raw)).toBe(hexOf(raw))
  })

  test.each([
    ['nothing', '', 0],
    ['31 raw bytes', KEY.subarray(1), 31],
    ['33 raw bytes', new Uint8Array(33).fill(200), 33],
    ['16 bytes in hex', '0123456789abcdef0123456789ABCDEF', 32],
    ['63 digits', HEX.slice(1), 63],
    ['65 digits', `${HEX}0`, 65],
    ['digits with 0x', `0x${HEX}`, 66],
    ['digits that are not hex', 'g'.repeat(64), 64],
    ['two newlines', `${HEX}\n\n`, 66],
    ['a space before', ` ${HEX}`, 65],
    ['base64 of 31 bytes', Buffer.from(KEY.subarray(1)).toString('base64'), 44],
    ['base64 of 33 bytes', Buffer.alloc(33, 200).toString('base64'), 44],
    ['base64 for URLs', `${BASE64.slice(0, 42)}_=`, 44],
    ['a megabyte', new Uint8Array(1 << 20), 1024],
  ])('is refused when it is %s', (_what, content, length) => {
    expect(read(content)).toBe(
      `ROOT_KEY must be 32 raw bytes, or as many in hex or base64; what was read has ${length} bytes.`,
    )
  })

  test.each([0o640, 0o604, 0o660, 0o620, 0o601, 0o666])('is refused when its mode is %o', (mode) => {
    expect(read(KEY, mode)).toBe(
      'The file of ROOT_KEY, <path>, is open to its group or to others: only its owner may read it (chmod 600).',
    )
  })

  test.each([0o600, 0o400])('is read when its mode is %o', (mode) => {
    expect(read(KEY, mode)).toBe(HEX)
  })

  test('is refused if the file is missing, a folder or a pipe, without hanging', () => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-key-'))
    try {
      execFileSync('mkfifo', [join(folder, 'pipe')])
      chmodSync(join(folder, 'pipe'), 0o600)
      const attempt = (name: string) => () => readKey({ name: 'ROOT_KEY', spec: `file:${join(folder, name)}` })
      expect(attempt('none')).toThrow('cannot be opened')
      expect(attempt('')).toThrow('must be a regular file')
      expect(attempt('pipe')).toThrow('must be a regular file')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('behind a link is checked by the mode of the linked file', () => {
    const file = keyFile(KEY, 0o644)
    const link = `${file.spec.slice('file:'.length)}-link`
    symlinkSync(file.spec.slice('file:'.length), link)
    expect(() => readKey({ name: 'ROOT_KEY', spec: `file:${link}` })).toThrow('is open to its group or to others')
    file.remove()
  })

  test.each(['', 'file:', 'fd:', 'fd:x', 'fd:-1', 'fd:1e1', '/etc/key', 'FILE:/x', HEX, 'env:ROOT'])(
    'is refused when the setting is "%s", which is not repeated',
    (spec) => {
      expect(() => readKey({ name: 'SERVICE_KEY', spec })).toThrow(
        new Error('SERVICE_KEY must say where the key is: file:/path or fd:N.'),
      )
    },
  )
})

describe('a key from a file descriptor', () => {
  test('is read to its end, and the descriptor is closed', () => {
    const file = keyFile(`${HEX}\n`, 0o644)
    const descriptor = openSync(file.spec.slice('file:'.length), 'r')
    expect(hexOf(readKey({ name: 'ROOT_KEY', spec: `fd:${descriptor}` }))).toBe(HEX)
    expect(() => fstatSync(descriptor)).toThrow()
    file.remove()
  })

  test('is closed even if the key is refused', () => {
    const file = keyFile('short')
    const descriptor = openSync(file.spec.slice('file:'.length), 'r')
    expect(() => readKey({ name: 'ROOT_KEY', spec: `fd:${descriptor}` })).toThrow('32 raw bytes')
    expect(() => fstatSync(descriptor)).toThrow()
    file.remove()
  })

  test('may come through a pipe in pieces', () => {
    const script = `import { readKey } from '${new URL('../../src/platform/sealing/key-source.ts', import.meta.url).pathname}'
      console.log(Buffer.from(readKey({ name: 'ROOT_KEY', spec: 'fd:0' })).toString('hex'))`
    const command = `(printf '%s' ${HEX.slice(0, 20)}; sleep 0.2; printf '%s\\n' ${HEX.slice(20)}) | "$0" -e "$1"`
    const output = execFileSync('sh', ['-c', command, process.execPath, script], { encoding: 'utf8' })
    expect(output.trim()).toBe(HEX)
  })

  test('that nobody opened is refused', () => {
    expect(() => readKey({ name: 'ROOT_KEY', spec: 'fd:999999' })).toThrow()
  })
})

const identity: RowIdentity = { purpose: 'project key', projectId: 'p', keyringId: '', walletId: '', rowId: '1' }

describe('the root key', () => {
  test('unwraps what it wrapped, only for the same identity', async () => {
    const rootKey = await openTestRootKey()
    const wrapped = await rootKey.wrap({ key: KEY, identity })
    expect(hexOf(wrapped)).not.toContain(HEX)
    expect(hexOf(await rootKey.unwrap({ wrapped, identity }))).toBe(HEX)
    for (const change of [{ projectId: 'q' }, { rowId: '2' }, { purpose: 'deployment' }]) {
      await expect(rootKey.unwrap({ wrapped, identity: { ...identity, ...change } })).rejects.toThrow(EnvelopeError)
    }
  })

  test('does not unwrap what another one wrapped', async () => {
    const wrapped = await (await openTestRootKey(1)).wrap({ key: KEY, identity })
    await expect((await openTestRootKey(2)).unwrap({ wrapped, identity })).rejects.toThrow(EnvelopeError)
  })

  test('has an id that depends on the key and not on its place', async () => {
    const [one, same, other] = [await openTestRootKey(1), await openTestRootKey(1), await openTestRootKey(2)]
    expect(one.id).toMatch(/^key:[0-9a-f]{16}$/)
    expect(same.id).toBe(one.id)
    expect(other.id).not.toBe(one.id)
    expect(one.id).not.toContain('0101')
  })

  test('reveals nothing when it is printed', async () => {
    const file = keyFile(KEY)
    const rootKey = await openRootKey(file.spec)
    const sealer = await openSealer({ name: 'SERVICE_KEY', spec: file.spec })
    file.remove()
    for (const each of [rootKey, sealer]) {
      expect(Bun.inspect(each, { depth: 10 }) + JSON.stringify(each)).not.toMatch(
        new RegExp(`${HEX}|${BASE64}|129, ?136`),
      )
    }
  })
})

describe('the sealer', () => {
  const plaintext = new TextEncoder().encode('a login code')

  test('opens what it sealed, only for the same purpose and row', async () => {
    const sealer = await openTestSealer()
    const sealed = sealer.seal({ purpose: 'code', rowId: '1', plaintext })
    expect(hexOf(sealer.open({ purpose: 'code', rowId: '1', sealed }))).toBe(hexOf(plaintext))
    expect(() => sealer.open({ purpose: 'other', rowId: '1', sealed })).toThrow(EnvelopeError)
    expect(() => sealer.open({ purpose: 'code', rowId: '2', sealed })).toThrow(EnvelopeError)
  })

  test('does not open what another one sealed', async () => {
    const sealed = (await openTestSealer(1)).seal({ purpose: 'code', rowId: '1', plaintext })
    const other = await openTestSealer(2)
    expect(() => other.open({ purpose: 'code', rowId: '1', sealed })).toThrow(EnvelopeError)
  })

  test('opens nothing of the other kind, even under the same key', async () => {
    const [service, identity] = [await openTestSealer(0x81), await openTestIdentity(0x81)]
    const sealed = service.seal({ purpose: 'code', rowId: '1', plaintext })
    expect(() => identity.open({ purpose: 'code', rowId: '1', sealed })).toThrow(EnvelopeError)
  })

  test('derives a different key for each purpose, and the same keys in every process', async () => {
    const [sealer, same] = [await openTestSealer(), await openTestSealer()]
    expect(hexOf(sealer.derive('audit'))).toBe(hexOf(same.derive('audit')))
    expect(hexOf(sealer.derive('audit'))).not.toBe(hexOf(sealer.derive('tokens')))
  })

  test('keeps working after a caller zeroes a derived key', async () => {
    const sealer = await openTestSealer()
    const before = hexOf(sealer.derive('audit'))
    sealer.derive('audit').fill(0)
    expect(hexOf(sealer.derive('audit'))).toBe(before)
  })
})
