// The code of a session challenge is shown, typed and stands in addresses. What somebody can do who sees or intercepts
// it.

import { describe, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { createProject } from '../../src/operators/projects.ts'
import { type Answer, startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const service = await shared(startService({ variables: { TRUSTED_PROXIES: '1', MAIL_URL: 'smtp://127.0.0.1:1' } }))
const { sql } = service.database

const DEVICE = '198.51.100.1'
const THIEF = '203.0.113.1'
const REFUSED = [401, 'login_failed']
const INVALID = [400, 'invalid_input']

const from = (address: string, more: Record<string, string> = {}) => ({
  authorization: undefined,
  'x-forwarded-for': address,
  ...more,
})
const outcome = ({ status, json }: Answer) => (status === 200 ? [status, json.user_id] : [status, json.code])
const newVerifier = () => randomBytes(32).toString('base64url')
const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')
const bindingOf = (verifier: string) => ({ code_challenge: challengeOf(verifier), code_challenge_method: 'S256' })

const begin = (body?: object, address = DEVICE) =>
  service.call('/users/create-session-challenge', { method: 'POST', body, headers: from(address) })
const codeOf = async (body?: object, address = DEVICE): Promise<string> => {
  const { status, json } = await begin(body, address)
  expect(status).toBe(200)
  return json.code
}
type User = { readonly user_id: string; readonly access_token: string }
const newUser = async (): Promise<User> => (await service.post('/users/login-anonymously', {}, from('192.0.2.1'))).json
const complete = async (code: string, { access_token }: User) => {
  const headers = from('192.0.2.1', { authorization: `Bearer ${access_token}` })
  return (await service.post('/users/complete-session-challenge', { code }, headers)).status
}
const prove = async (code: string, input: { readonly verifier?: string; readonly address?: string; more?: object }) => {
  const { verifier, address = DEVICE, more = {} } = input
  const body = { session_challenge_code: code, ...(verifier === undefined ? {} : { code_verifier: verifier }), ...more }
  return outcome(await service.post('/users/verify-login', body, from(address)))
}
const sessionsOf = async ({ user_id }: User): Promise<number> =>
  (await sql`select from sessions where user_id = ${user_id} and way = 'session_challenge'`).length

describe('a device that keeps a secret apart from the code that it shows', () => {
  test('gets the session with both, from wherever it is, and nobody does with the code alone', async () => {
    const [user, verifier] = [await newUser(), newVerifier()]
    const code = await codeOf(bindingOf(verifier))
    expect(await complete(code, user)).toBe(200)
    // Whoever saw the screen polls as well, and asks first, even from the address of the device.
    const looked = await service.call(`/users/session-challenge?code=${code}`, { headers: from(THIEF) })
    expect(looked.json).toMatchObject({ completed: true })
    expect(looked.text).not.toContain(challengeOf(verifier))
    for (const address of [THIEF, DEVICE]) expect(await prove(code, { address })).toEqual(REFUSED)
    expect(await sessionsOf(user)).toBe(0)
    expect(await prove(code, { verifier, address: '192.0.2.200' })).toEqual([200, user.user_id])
    expect(await prove(code, { verifier })).toEqual(REFUSED)
    expect(await sessionsOf(user)).toBe(1)
  })

  test('is refused with another secret, with its hash in place of it, and with another spelling', async () => {
    const [user, verifier] = [await newUser(), newVerifier()]
    const code = await codeOf(bindingOf(verifier))
    expect(await complete(code, user)).toBe(200)
    const other = newVerifier()
    for (const wrong of [other, challengeOf(verifier), `${verifier}A`, verifier.toLowerCase().padEnd(44, '.')]) {
      expect(await prove(code, { verifier: wrong })).toEqual(REFUSED)
    }
    for (const malformed of ['', verifier.slice(1), `${verifier} `, `${verifier}=`, 'a'.repeat(129)]) {
      expect(await prove(code, { verifier: malformed })).toEqual(INVALID)
    }
    // Wrong ones do not use the code up, so nobody who saw it can spoil the login.
    expect(await prove(code, { verifier })).toEqual([200, user.user_id])
  })

  test('gets one session if it asks several times at once, also beside a thief', async () => {
    const [user, verifier] = [await newUser(), newVerifier()]
    const code = await codeOf(bindingOf(verifier))
    const racing = [
      complete(code, user),
      ...Array.from({ length: 4 }, () => prove(code, { verifier })),
      prove(code, { address: THIEF }),
    ]
    await Promise.all(racing)
    const proven = await Promise.all([
      ...Array.from({ length: 4 }, () => prove(code, { verifier })),
      prove(code, { address: THIEF, verifier: newVerifier() }),
    ])
    expect(proven.at(-1)).toEqual(REFUSED)
    expect(await sessionsOf(user)).toBe(1)
  })

  test('takes the example of RFC 7636, appendix B', async () => {
    const user = await newUser()
    const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
    const code_challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    const code = await codeOf({ code_challenge, code_challenge_method: 'S256' })
    expect(await complete(code, user)).toBe(200)
    expect(await prove(code, { verifier })).toEqual([200, user.user_id])
  })

  test('cannot bind the code by a hash that is none, or by the secret itself (plain)', async () => {
    const code_challenge = challengeOf(newVerifier())
    const S256 = 'S256'
    for (const body of [
      { code_challenge },
      { code_challenge, code_challenge_method: 'plain' },
      { code_challenge, code_challenge_method: 's256' },
      { code_challenge_method: S256 },
      { code_challenge: '', code_challenge_method: S256 },
      { code_challenge: code_challenge.slice(1), code_challenge_method: S256 },
      { code_challenge: `${code_challenge}=`, code_challenge_method: S256 },
      { code_challenge: `${code_challenge.slice(0, 42)}B`, code_challenge_method: S256 },
      { code_challenge: 'a'.repeat(43).replace('a', '+'), code_challenge_method: S256 },
      { code_challenge, code_challenge_method: S256, code_verifier: newVerifier() },
    ]) {
      expect([body, outcome(await begin(body))]).toEqual([body, INVALID])
    }
  })

  test('loses its login in another project, and after its five minutes', async () => {
    const other = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
    const [user, verifier] = [await newUser(), newVerifier()]
    const code = await codeOf(bindingOf(verifier))
    expect(await complete(code, user)).toBe(200)
    const body = { session_challenge_code: code, code_verifier: verifier }
    const elsewhere = from(DEVICE, { 'x-walletkit-project-id': other.projectId })
    expect(outcome(await service.post('/users/verify-login', body, elsewhere))).toEqual(REFUSED)
    await sql`update session_challenges set expires_at = now() where user_id = ${user.user_id}`
    expect(await prove(code, { verifier })).toEqual(REFUSED)
    expect(await sessionsOf(user)).toBe(0)
  })

  test('is not replaced by somebody with the database, who binds its code to their own secret or to none', async () => {
    const user = await newUser()
    for (const hash of [createHash('sha256').update('a'.repeat(43)).digest(), null]) {
      const code = await codeOf(bindingOf(newVerifier()))
      expect(await complete(code, user)).toBe(200)
      await sql`update session_challenges set verifier_hash = ${hash}
        where user_id = ${user.user_id} and used_at is null`
      const verifier = hash === null ? {} : { verifier: 'a'.repeat(43) }
      expect(await prove(code, verifier)).toEqual(REFUSED)
      await sql`delete from session_challenges where user_id = ${user.user_id}`
    }
    expect(await sessionsOf(user)).toBe(0)
  })
})

describe('a device of an earlier client, whose code is its only proof', () => {
  test('begins without a body or with an empty one, and gets the session from its own address', async () => {
    for (const body of [undefined, {}]) {
      const user = await newUser()
      const code = await codeOf(body)
      expect(await complete(code, user)).toBe(200)
      expect(await prove(code, {})).toEqual([200, user.user_id])
    }
  })

  test('may move within its IPv6 subnet, and no further', async () => {
    const user = await newUser()
    const code = await codeOf({}, '2001:db8:1:2::7')
    expect(await complete(code, user)).toBe(200)
    for (const address of ['2001:db8:1:3::7', THIEF]) expect(await prove(code, { address })).toEqual(REFUSED)
    expect(await prove(code, { address: '2001:db8:1:2:ffff::1' })).toEqual([200, user.user_id])
  })

  test('keeps its login if somebody elsewhere saw the code and asks first', async () => {
    const user = await newUser()
    const code = await codeOf()
    expect(await complete(code, user)).toBe(200)
    expect(await prove(code, { address: THIEF })).toEqual(REFUSED)
    // Nor does a secret help that nobody asked for.
    expect(await prove(code, { verifier: newVerifier() })).toEqual(REFUSED)
    expect(await prove(code, {})).toEqual([200, user.user_id])
  })
})

test('a secret without a code proves nothing, and beside another proof it is a mistake', async () => {
  const verifier = newVerifier()
  for (const proof of [{}, { user_id: crypto.randomUUID(), verification_code: '493817' }]) {
    const answer = await service.post('/users/verify-login', { ...proof, code_verifier: verifier }, from(DEVICE))
    expect(outcome(answer)).toEqual(INVALID)
  }
})
