// Which tokens of an issuer count, and what happens when an issuer changes its keys or does not answer.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { exportSPKI, importJWK } from 'jose'
import { ISSUER_ALGORITHMS, type IssuerAlgorithm } from '../../db/words.ts'
import { AppError } from '../../src/errors.ts'
import { createIssuers } from '../../src/issuers/admit.ts'
import { addIssuer, removeIssuer } from '../../src/issuers/issuers.ts'
import { createProject } from '../../src/projects/projects.ts'
import { type Answer, AUDIENCE, newKey, startIssuer, type TestIssuer } from '../support/issuer.ts'
import { type Service, startService } from '../support/service.ts'

const NAME = 'firebase'
const MINUTE_MS = 60_000

let service: Service
let issuer: TestIssuer
let aheadMs = 0
let issuers: ReturnType<typeof createIssuers>
let projectId: string

const add = (
  of: TestIssuer,
  given: { projectId?: string; algorithms?: readonly IssuerAlgorithm[]; claim?: string } = {},
) =>
  addIssuer(service.ctx, {
    ...{
      projectId: given.projectId ?? projectId,
      name: NAME,
      issuer: of.issuer,
      audience: AUDIENCE,
      actor: 'operator',
    },
    ...{
      userClaim: given.claim ?? 'sub',
      clientId: null,
      clientSecret: null,
      algorithms: given.algorithms ?? ['ES256', 'RS256'],
    },
  })

const newProject = async () => (await createProject(service.ctx, { name: 'P', actor: 'operator' })).projectId

beforeAll(async () => {
  service = await startService({ variables: { OUTGOING_ALLOWED_HOSTS: '127.0.0.1' } })
})
afterAll(() => service.close())

beforeEach(async () => {
  aheadMs = 0
  projectId = await newProject()
  issuers = createIssuers({ ...service.ctx, now: () => new Date(Date.now() + aheadMs) })
  issuer = await startIssuer()
  await add(issuer)
  return () => issuer.close()
})

const admit = async (token: string, of = projectId) => issuers.admit({ projectId: of, name: NAME, token })
const kindOf = async (token: string, of?: string) => (await admit(token, of)).kind
const outcomeOf = async (token: string) => {
  try {
    return await kindOf(token)
  } catch (error) {
    if (error instanceof AppError) return error.code
    throw error
  }
}
const seconds = () => Math.floor(Date.now() / 1_000)

describe('a token counts', () => {
  test('if the issuer signed it for us, and its user stays the same', async () => {
    const first = await admit(await issuer.token())
    const again = await admit(await issuer.token({ iat: seconds() - 5 }))
    const user = {
      kind: 'user',
      userId: expect.any(String),
      authenticatedAt: null,
      issuerToken: { issuedAt: expect.any(Date), hash: expect.any(Uint8Array) },
    } as const
    expect(first).toEqual(user)
    expect(again).toMatchObject({ userId: 'userId' in first && first.userId })
    expect(await admit(await issuer.token({ sub: 'bob' }))).not.toEqual(first)
  })

  test('if its audience is a list that contains ours', async () => {
    expect(await kindOf(await issuer.token({ aud: ['other', AUDIENCE] }))).toBe('user')
  })

  test('within the tolerance of clocks', async () => {
    expect(await kindOf(await issuer.token({ exp: seconds() - 10 }))).toBe('user')
    expect(await kindOf(await issuer.token({ nbf: seconds() + 10, iat: seconds() + 10 }))).toBe('user')
  })

  test.each(['JWT', 'at+jwt', 'application/at+jwt'])('of the type %s', async (typ) => {
    expect(await kindOf(await issuer.token({}, { typ }))).toBe('user')
  })

  test.each([...ISSUER_ALGORITHMS])('signed by %s, if the operator allowed that', async (algorithm) => {
    const [id, other] = [await newProject(), await startIssuer({ alg: algorithm })]
    try {
      await add(other, { projectId: id, algorithms: [algorithm] })
      expect(await kindOf(await other.token(), id)).toBe('user')
    } finally {
      await other.close()
    }
  })

  test('with the time of the login that it states', async () => {
    const at = seconds() - 100
    expect(await admit(await issuer.token({ auth_time: at }))).toMatchObject({ authenticatedAt: new Date(at * 1_000) })
    for (const wrong of ['1700000000', -1, seconds() + 600, null]) {
      expect(await admit(await issuer.token({ auth_time: wrong }))).toMatchObject({ authenticatedAt: null })
    }
  })

  test('with the user in another claim, who differs from a user with that name in "sub"', async () => {
    const id = await newProject()
    await add(issuer, { projectId: id, claim: 'user_id' })
    const named = await admit(await issuer.token({ user_id: 'alice', sub: undefined }), id)
    await removeIssuer(service.ctx, { projectId: id, name: NAME, actor: 'operator' })
    await add(issuer, { projectId: id })
    expect(named).toMatchObject({ kind: 'user' })
    expect(await admit(await issuer.token({ sub: 'alice' }), id)).not.toEqual(named)
  })
})

const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const claimsOf = (token: string) => token.split('.')[1] ?? ''

describe('a token is refused', () => {
  test.each([
    ['expired', () => ({ exp: seconds() - 60 })],
    ['not valid yet', () => ({ nbf: seconds() + 60 })],
    ['issued in the future', () => ({ iat: seconds() + 60 })],
    ['older than a day, though not expired', () => ({ iat: seconds() - 86_500 })],
    ['without exp', () => ({ exp: undefined })],
    ['without iat', () => ({ iat: undefined })],
    ['without aud', () => ({ aud: undefined })],
    ['without iss', () => ({ iss: undefined })],
    ['without a user', () => ({ sub: undefined })],
    ['with an empty user', () => ({ sub: '' })],
    ['with a user that is no text', () => ({ sub: 7 })],
    ['with a user of 256 characters', () => ({ sub: 'a'.repeat(256) })],
    ['with U+0000 in the user', () => ({ sub: 'alice\u0000' })],
    ['for another audience', () => ({ aud: 'other' })],
    ['for other audiences', () => ({ aud: ['other', `${AUDIENCE}x`] })],
    ['with an audience that only begins like ours', () => ({ aud: `${AUDIENCE}2` })],
    ['of another issuer', () => ({ iss: 'https://issuer.example' })],
    ['of the same issuer, spelt with a slash', () => ({ iss: `${issuer.issuer}/` })],
    ['with times that are no numbers', () => ({ exp: '9999999999' })],
  ])('%s', async (_what, claims) => {
    expect(await kindOf(await issuer.token(claims()))).toBe('refused')
  })

  test.each(['logout+jwt', 'secevent+jwt', 'dpop+jwt'])('of the type %s', async (typ) => {
    expect(await kindOf(await issuer.token({}, { typ }))).toBe('refused')
  })

  test('with a critical header that nobody knows', async () => {
    const [, payload = ''] = (await issuer.token()).split('.')
    const head = base64url({ alg: 'ES256', kid: 'first', crit: ['x'], x: 1 })
    const key = issuer.key().privateKey
    const bytes = new TextEncoder().encode(`${head}.${payload}`)
    const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, bytes)
    expect(await kindOf(`${head}.${payload}.${Buffer.from(signature).toString('base64url')}`)).toBe('refused')
  })

  test('with alg none, in every spelling', async () => {
    const claims = claimsOf(await issuer.token())
    for (const alg of ['none', 'None', 'NONE', '']) {
      for (const signature of ['', 'AA']) {
        expect(await kindOf(`${base64url({ alg, kid: 'first' })}.${claims}.${signature}`)).toBe('refused')
      }
    }
  })

  test('with HS256 and the public key as the secret', async () => {
    const rsa = await startIssuer({ alg: 'RS256' })
    const id = await newProject()
    await add(rsa, { projectId: id })
    const { jwk } = rsa.key()
    const publicKey = await importJWK(jwk, 'RS256', { extractable: true })
    if (publicKey instanceof Uint8Array) throw new Error('not a key')
    const secrets = [
      await exportSPKI(publicKey),
      JSON.stringify(jwk),
      String(jwk.n),
      Buffer.from(String(jwk.n), 'base64url'),
    ]
    const text = `${base64url({ alg: 'HS256', kid: 'first' })}.${claimsOf(await rsa.token())}`
    for (const secret of secrets) {
      const mac = createHmac('sha256', secret).update(text).digest('base64url')
      expect(await kindOf(`${text}.${mac}`, id)).toBe('refused')
    }
    expect(await kindOf(await rsa.token(), id)).toBe('user')
    await rsa.close()
  })

  test('signed by an algorithm that the operator did not allow', async () => {
    const other = await startIssuer({ alg: 'ES384' })
    const id = await newProject()
    await add(other, { projectId: id, algorithms: ['ES256'] })
    expect(await kindOf(await other.token(), id)).toBe('refused')
    await other.close()
  })

  test('with a short RSA key', async () => {
    const rsa = await startIssuer({ alg: 'RS256' })
    const id = await newProject()
    await add(rsa, { projectId: id })
    const pair = await crypto.subtle.generateKey(
      { name: 'RSASSA-PKCS1-v1_5', modulusLength: 1_024, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
      true,
      ['sign', 'verify'],
    )
    rsa.publish({
      ...(await crypto.subtle.exportKey('jwk', pair.publicKey)),
      kid: 'first',
      alg: 'RS256',
      use: 'sig',
    } as never)
    const text = `${base64url({ alg: 'RS256', kid: 'first' })}.${claimsOf(await rsa.token())}`
    const signature = await crypto.subtle.sign('RSASSA-PKCS1-v1_5', pair.privateKey, new TextEncoder().encode(text))
    expect(await kindOf(`${text}.${Buffer.from(signature).toString('base64url')}`, id)).toBe('refused')
    await rsa.close()
  })

  test('if its text was changed, or is none', async () => {
    const token = await issuer.token()
    const [head, , signature] = token.split('.')
    const other = claimsOf(await issuer.token({ sub: 'mallory' }))
    const texts = [`${head}.${other}.${signature}`, token.slice(0, -4), `${token}AA`, 'a.b.c', '..', '']
    for (const text of texts) expect(await kindOf(text)).toBe('refused')
    expect(await kindOf(token)).toBe('user')
  })

  test('with a key in its own header', async () => {
    const mine = await newKey('mine')
    const { SignJWT } = await import('jose')
    const payload = JSON.parse(Buffer.from(claimsOf(await issuer.token()), 'base64url').toString())
    for (const header of [{ jwk: mine.jwk }, { jku: `${issuer.origin}/evil` }, { kid: 'first' }]) {
      const token = await new SignJWT(payload).setProtectedHeader({ alg: 'ES256', ...header }).sign(mine.privateKey)
      expect(await kindOf(token)).toBe('refused')
    }
  })

  test("of another project's issuer, also with the same key id", async () => {
    const [id, other] = [await newProject(), await startIssuer()]
    await add(other, { projectId: id })
    expect(await kindOf(await other.token(), id)).toBe('user')
    expect(await kindOf(await other.token())).toBe('refused')
    expect(await kindOf(await other.token({ iss: issuer.issuer }))).toBe('refused')
    expect(await kindOf(await issuer.token(), id)).toBe('refused')
    await other.close()
  })

  test('without a key id where the issuer has several keys', async () => {
    expect(await kindOf(await issuer.token({}, { kid: undefined as never }))).toBe('user')
    const two = await startIssuer()
    const id = await newProject()
    two.publish(two.key().jwk, (await newKey('second')).jwk)
    await add(two, { projectId: id })
    expect(await kindOf(await two.token({}, { kid: undefined as never }), id)).toBe('refused')
    expect(await kindOf(await two.token(), id)).toBe('user')
    await two.close()
  })

  test('once the issuer is removed, and counts with the same user if it is added again', async () => {
    const before = await admit(await issuer.token())
    await removeIssuer(service.ctx, { projectId, name: NAME, actor: 'operator' })
    expect(await kindOf(await issuer.token())).toBe('no_issuer')
    await add(issuer)
    expect(await admit(await issuer.token())).toMatchObject({ userId: 'userId' in before && before.userId })
  })
})

const down: Answer = (response) => {
  response.statusCode = 500
  response.end()
}

describe("an issuer's keys", () => {
  test('are read once for many tokens', async () => {
    const before = issuer.asked.keys
    const kinds = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => kindOf(await issuer.token({ sub: `u${index}` }))),
    )
    expect([new Set(kinds), issuer.asked.keys - before]).toEqual([new Set(['user']), 1])
  })

  test('are read again for a key that is not known, at most every 30 seconds', async () => {
    expect(await kindOf(await issuer.token())).toBe('user')
    const old = await issuer.token()
    await issuer.rotate('second')
    const before = issuer.asked.keys
    expect(await kindOf(await issuer.token())).toBe('refused')
    expect(issuer.asked.keys).toBe(before)
    aheadMs = 31_000
    expect(await kindOf(await issuer.token())).toBe('user')
    expect(await kindOf(old)).toBe('refused')
    for (const kid of ['x', 'y', 'z']) expect(await kindOf(await issuer.token({}, { kid }))).toBe('refused')
    expect(issuer.asked.keys).toBe(before + 1)
  })

  test('are used for an hour while the issuer is down, and a withdrawn key is not used longer', async () => {
    expect(await kindOf(await issuer.token())).toBe('user')
    issuer.answer({ discovery: down })
    for (const minutes of [11, 30, 59]) {
      aheadMs = minutes * MINUTE_MS
      expect(await outcomeOf(await issuer.token())).toBe('user')
    }
    aheadMs = 61 * MINUTE_MS
    const late = await issuer.token({ exp: seconds() + 86_000 })
    // It may have waited for a reading that began at the minute 59.
    expect(await outcomeOf(late)).toBe('unavailable')
    aheadMs += 31_000
    expect(await outcomeOf(late)).toBe('unavailable')
    issuer.answer()
    // Between two tries there are 30 seconds.
    expect(await outcomeOf(late)).toBe('unavailable')
    aheadMs += 31_000
    expect(await outcomeOf(late)).toBe('user')
  })

  test('that are withdrawn stop working', async () => {
    const old = await issuer.token()
    expect(await kindOf(old)).toBe('user')
    await issuer.rotate('second')
    aheadMs = 61 * MINUTE_MS
    expect(await kindOf(await issuer.token({ exp: seconds() + 86_000 }))).toBe('user')
    expect(await kindOf(old)).toBe('refused')
  })

  test('of an issuer that was never reached give 503, not 401', async () => {
    issuer.answer({ keys: down })
    expect(await outcomeOf(await issuer.token())).toBe('unavailable')
  })

  test('that are not known while the issuer is down give 503', async () => {
    expect(await kindOf(await issuer.token())).toBe('user')
    issuer.answer({ keys: down })
    aheadMs = 31_000
    expect(await outcomeOf(await issuer.token({}, { kid: 'new' }))).toBe('unavailable')
    expect(await outcomeOf(await issuer.token())).toBe('user')
  })
})

describe('an issuer is not added', () => {
  const json =
    (value: unknown): Answer =>
    (response) =>
      response.end(JSON.stringify(value))
  const refusalOf = async (answers: Parameters<TestIssuer['answer']>[0]) => {
    const other = await startIssuer()
    other.answer(answers)
    try {
      await add(other, { projectId: await newProject() })
      return null
    } catch (error) {
      return error instanceof AppError ? error.message : String(error)
    } finally {
      await other.close()
    }
  }
  const redirect: Answer = (response) => {
    response.writeHead(302, { location: `${issuer.issuer}/.well-known/openid-configuration` })
    response.end()
  }
  const endless: Answer = (response) => {
    response.write('{"keys":[')
    const write = (): void => {
      if (response.destroyed) return
      response.write(' '.repeat(65_536), () => setImmediate(write))
    }
    write()
  }

  test.each<[string, Parameters<TestIssuer['answer']>[0], string]>([
    ['whose discovery redirects', { discovery: redirect }, 'status 302'],
    ['whose keys redirect', { keys: redirect }, 'status 302'],
    [
      'whose discovery names another issuer',
      { discovery: json({ issuer: 'https://a.example', jwks_uri: 'https://a.example/k' }) },
      'of another issuer',
    ],
    ['whose discovery is not JSON', { discovery: (response) => response.end('<html>') }, 'not JSON'],
    ['whose discovery has no jwks_uri', { discovery: json({ issuer: 'x' }) }, 'no jwks_uri'],
    ['whose keys do not end', { keys: endless }, 'more than 65536 bytes'],
    ['with too many keys', { keys: json({ keys: Array.from({ length: 101 }, () => ({ kty: 'EC' })) }) }, 'too many'],
    ['with a giant key', { keys: json({ keys: [{ kty: 'RSA', n: 'A'.repeat(1_367), e: 'AQAB' }] }) }, 'no set of keys'],
    ['with shared secrets only', { keys: json({ keys: [{ kty: 'oct', k: 'AAAA' }] }) }, 'no key for signatures'],
    ['with keys for encryption only', { keys: json({ keys: [{ kty: 'EC', use: 'enc' }] }) }, 'no key for signatures'],
    ['that breaks off', { discovery: (response) => response.destroy() }, 'could not be reached'],
    ['that answers with an error', { keys: down }, 'status 500'],
  ])('%s', async (_what, answers, words) => {
    expect(await refusalOf(answers)).toContain(words)
  })

  test('whose keys are in a private network', async () => {
    for (const uri of [
      'https://10.0.0.1/keys',
      'https://localhost/keys',
      'https://[::1]/keys',
      'https://169.254.169.254/keys',
      'https://[::ffff:10.0.0.1]/keys',
      'https://2130706433/keys',
    ]) {
      const other = await startIssuer()
      other.answer({ discovery: json({ issuer: other.issuer, jwks_uri: uri }) })
      const adding = add(other, { projectId: await newProject() })
      // The test lists 127.0.0.1, where nobody listens at this port.
      const leadsToListed = /localhost|2130706433/.test(uri)
      await expect(adding).rejects.toThrow(leadsToListed ? 'could not be reached' : 'that OUTGOING_ALLOWED_HOSTS lists')
      await other.close()
    }
  })

  test('that does not answer', async () => {
    expect(await refusalOf({ discovery: () => {} })).toContain('did not answer in time')
  })
})
