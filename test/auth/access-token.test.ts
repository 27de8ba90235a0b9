// An access token has exactly one valid text: another text that decodes to the same bytes is refused. API processes
// rotate the keys of access tokens themselves, several at a time and without the worker.

import { describe, expect, test } from 'bun:test'
import { decodeProtectedHeader, importJWK, SignJWT } from 'jose'
import { openDb } from '../../db/client.ts'
import { startRotatingTokenKeys } from '../../src/identity/auth/access-token.ts'
import { createLog } from '../../src/platform/process/log.ts'
import { isLong } from '../support/long.ts'
import { programPath } from '../support/programs.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const { sql } = service.database
const NOBODY = { authorization: undefined }
const token: string = (await service.post('/users/login-anonymously', {}, NOBODY)).json.access_token

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const statusOf = async (text: string): Promise<number> =>
  (await service.call('/wallets?network=Ethereum', { headers: { authorization: `Bearer ${text}` } })).status

const bytesOf = (text: string) => text.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'))

describe('an access token in another encoding', () => {
  test('is refused, whether or not the original was verified before', async () => {
    const last = BASE64URL.indexOf(token.slice(-1))
    const spellings = [
      // The last character of a signature has four bits that mean nothing.
      ...Array.from({ length: 15 }, (_, bits) => token.slice(0, -1) + BASE64URL[last + bits + 1]),
      `${token}=`,
      `${token}==`,
      token.replace('.', '=.'),
      `${token}~`,
      `${token.slice(0, -10)}~${token.slice(-10)}`,
    ]
    for (const spelling of spellings) {
      expect(bytesOf(spelling)).toEqual(bytesOf(token))
      expect({ spelling, status: await statusOf(spelling) }).toEqual({ spelling, status: 401 })
    }
    expect(await statusOf(token)).toBe(200)
    for (const spelling of spellings) {
      expect({ spelling, status: await statusOf(spelling) }).toEqual({ spelling, status: 401 })
    }
  })

  test('is refused in the standard base64 alphabet', async () => {
    // Not every signature contains one of the two characters, so issue tokens until one does.
    for (;;) {
      const { access_token: other } = (await service.post('/users/login-anonymously', {}, NOBODY)).json
      const spelling = other.replaceAll('-', '+').replaceAll('_', '/')
      if (spelling === other) continue
      expect(await statusOf(spelling)).toBe(401)
      expect(await statusOf(other)).toBe(200)
      return
    }
  })

  test('is refused with spaces or line breaks', async () => {
    const middle = token.length - 20
    for (const blank of ['%20', ' ', '\t']) {
      const spelling = token.slice(0, middle) + blank + token.slice(middle)
      expect(await service.ctx.tokens.verify(spelling)).toBeNull()
      expect(await service.ctx.tokens.verify(`${token}${blank}`)).toBeNull()
    }
    expect(await service.ctx.tokens.verify(`${token}\n`)).toBeNull()
    expect(await service.ctx.tokens.verify(token)).toMatchObject({ projectId: service.project.projectId })
  })
})

test('a token with other or reordered header members is refused, even if our own key signed it', async () => {
  const [row] = await sql`select id, public_key, sealed from token_keys`
  const d = Buffer.from(
    service.ctx.identity.open({ purpose: 'token key', rowId: row?.id, sealed: row?.sealed }),
  ).toString('base64url')
  const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x: row?.public_key, d }, 'EdDSA')
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const signed = (header: object) => new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA', ...header }).sign(key)
  const right = { typ: 'JWT', kid: row?.id }
  expect(decodeProtectedHeader(token)).toEqual({ alg: 'EdDSA', ...right })
  expect(await statusOf(await signed(right))).toBe(200)
  for (const header of [
    { kid: row?.id },
    { kid: row?.id, typ: 'JWT' },
    { ...right, typ: 'at+jwt' },
    { ...right, jku: 'https://example.org/keys' },
    { ...right, jwk: { kty: 'OKP', crv: 'Ed25519', x: row?.public_key } },
  ]) {
    expect({ header, status: await statusOf(await signed(header)) }).toEqual({ header, status: 401 })
  }
})

/** Starts an API process and, once it listens, tells it to stop. @returns its exit code. */
const runProcess = async (): Promise<number> => {
  const child = Bun.spawn(['bun', '--no-env-file', programPath('src/main/api')], {
    env: { PATH: process.env.PATH ?? '', ...service.variables, PORT: '0', LOG_LEVEL: 'info' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let output = ''
  let isTold = false
  for await (const chunk of child.stdout) {
    output += Buffer.from(chunk).toString()
    if (isTold || !output.includes('"listening"')) continue
    isTold = true
    child.kill('SIGTERM')
  }
  return child.exited
}

/** In the suite what such a process does at its start. */
const runServer = isLong
  ? runProcess
  : async (): Promise<number> => {
      await startRotatingTokenKeys(service.ctx)()
      return 0
    }

const keys = () => sql<{ id: string; minutes: number; kept: boolean }[]>`
  select id, round(extract(epoch from signs_from - now()) / 60)::int as minutes, published_until is null as kept
  from token_keys order by signs_from`

describe('API processes', () => {
  test('create one next key together when the current one has signed for 30 days, and none before', async () => {
    await service.post('/users/login-anonymously', {}, NOBODY)
    const [first] = await keys()
    expect(await runServer()).toBe(0)
    expect(await keys()).toHaveLength(1)

    await sql`update token_keys set signs_from = now() - interval '30 days 1 minute'`
    const count = isLong ? 4 : 2
    expect(await Promise.all(Array.from({ length: count }, runServer))).toEqual(Array(count).fill(0))
    const [old, next, ...more] = await keys()
    expect([old?.id, old?.kept, more]).toEqual([first?.id, false, []])
    expect(next).toMatchObject({ minutes: 60, kept: true })
    // Logins use the old key until the new one signs, so nobody waits.
    const { access_token: token } = (await service.post('/users/login-anonymously', {}, NOBODY)).json
    const headers = { authorization: `Bearer ${token}` }
    expect((await service.call('/wallets?network=Ethereum', { headers })).status).toBe(200)
  }, 30_000)

  test('go on and log a warning if the rotation check fails', async () => {
    const lines: string[] = []
    const write = (line: string) => void lines.push(JSON.parse(line).msg)
    const log = createLog({ config: { logLevel: 'info' }, process: 'test', write })
    const db = openDb({ url: service.database.workerUrl, maxConnections: 1, applicationName: 'test' })
    const stop = startRotatingTokenKeys({ ...service.ctx, log, db })
    await stop()
    await db.close({ timeoutSeconds: 5 })
    expect(lines).toEqual(['could not check whether the keys of access tokens are due for rotation'])
  })
})
