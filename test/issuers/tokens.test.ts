// Which tokens of an issuer count, and what happens when an issuer changes its keys or does not answer.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { exportSPKI, importJWK, type JWK } from 'jose'
import { ISSUER_ALGORITHMS, type IssuerAlgorithm } from '../../db/words.ts'
import { createIssuers } from '../../src/identity/issuers/admit.ts'
import { addIssuer, removeIssuer } from '../../src/identity/issuers/issuers.ts'
import type { TokenCheck } from '../../src/identity/issuers/verify-token.ts'
import { createProject } from '../../src/operators/projects.ts'
import { AppError } from '../../src/platform/errors.ts'
import { type Answer, AUDIENCE, newKey, startIssuer, type TestIssuer } from '../support/issuer.ts'
import { longTest, someOf } from '../support/long.ts'
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
  given: {
    projectId?: string
    algorithms?: readonly IssuerAlgorithm[]
    claim?: string
    audienceClaim?: string
  } = {},
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
      audienceClaim: given.audienceClaim ?? 'aud',
      clientId: null,
      clientSecret: null,
      algorithms: given.algorithms ?? ['ES256', 'RS256'],
    },
  })

/** A project whose issuers are gone. A project is slow to make, so all tests share two of them. */
const emptied = async (id: string): Promise<string> => {
  await service.database.sql`delete from issuers where project_id = ${id}`
  return id
}
let secondId: string
/** Another project than that of `begin`, without an issuer. */
const secondProject = () => emptied(secondId)

beforeAll(async () => {
  service = await startService({ variables: { OUTGOING_ALLOWED_HOSTS: '127.0.0.1' } })
  projectId = service.project.projectId
  secondId = (await createProject(service.ctx, { name: 'Second', actor: 'operator' })).projectId
})
afterAll(() => service.close())

/** The first project has one issuer, whose keys nobody has read yet. */
const begin = async () => {
  aheadMs = 0
  await emptied(projectId)
  issuers = createIssuers({ ...service.ctx, now: () => new Date(Date.now() + aheadMs) })
  issuer = await startIssuer()
  await add(issuer)
}
const end = () => issuer.close()

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
/** The check that a token does not pass; null for one that counts. */
const checkOf = async (token: string, of?: string) => {
  const admitted = await admit(token, of)
  return admitted.kind === 'refused' ? admitted.check : null
}
const seconds = () => Math.floor(Date.now() / 1_000)

describe('a token counts', () => {
  beforeAll(begin)
  afterAll(end)

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

  test.each(someOf(['JWT', 'at+jwt', 'application/at+jwt'], 2))('of the type %s', async (typ) => {
    expect(await kindOf(await issuer.token({}, { typ }))).toBe('user')
  })

  // RS256 also counts in the test of HS256.
  test.each(someOf(ISSUER_ALGORITHMS.toReversed(), ISSUER_ALGORITHMS.length))(
    'signed by %s, if the operator allowed that',
    async (algorithm) => {
      const [id, other] = [await secondProject(), await startIssuer({ alg: algorithm })]
      try {
        await add(other, { projectId: id, algorithms: [algorithm] })
        expect(await kindOf(await other.token(), id)).toBe('user')
      } finally {
        await other.close()
      }
    },
  )

  const NAMES = [
    ['EdDSA', 'Ed25519'],
    ['Ed25519', 'EdDSA'],
    ['EdDSA', undefined],
  ] as const
  // RFC 9864 §2.2: the same signature by either name, and a key that has either.
  test.each(someOf(NAMES, 2))('signed by %s, if its key is published for %s', async (alg, published) => {
    const [id, other] = [await secondProject(), await startIssuer({ alg })]
    const { alg: _own, ...key } = other.key().jwk
    other.publish(published === undefined ? key : { ...key, alg: published })
    await add(other, { projectId: id, algorithms: [published ?? 'Ed25519'] })
    expect(await checkOf(await other.token(), id)).toBeNull()
    await other.close()
  })

  test.each(someOf(['azp', 'client_id'], 2))('without aud, if the operator named %s in its place', async (claim) => {
    const id = await secondProject()
    await add(issuer, { projectId: id, audienceClaim: claim })
    const of = async (claims: object) => checkOf(await issuer.token({ aud: undefined, ...claims }), id)
    expect(await of({ [claim]: AUDIENCE })).toBeNull()
    for (const other of ['other', `${AUDIENCE}x`, [AUDIENCE], undefined, null, 7]) {
      expect([other, await of({ [claim]: other })]).toEqual([other, 'aud'])
    }
    expect(await of({ aud: AUDIENCE })).toBe('aud')
  })

  test('with the time of the login that it states', async () => {
    const at = seconds() - 100
    expect(await admit(await issuer.token({ auth_time: at }))).toMatchObject({ authenticatedAt: new Date(at * 1_000) })
    for (const wrong of ['1700000000', -1, seconds() + 600, null]) {
      expect(await admit(await issuer.token({ auth_time: wrong }))).toMatchObject({ authenticatedAt: null })
    }
  })

  test('with the user in another claim, who differs from a user with that name in "sub"', async () => {
    const id = await secondProject()
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
  let rsa: TestIssuer
  beforeAll(async () => {
    await begin()
    rsa = await startIssuer({ alg: 'RS256' })
  })
  afterAll(async () => {
    await rsa.close()
    await end()
  })

  test.each([
    ['expired', 'exp', () => ({ exp: seconds() - 60 })],
    ['not valid yet', 'nbf', () => ({ nbf: seconds() + 60 })],
    ['issued in the future', 'iat', () => ({ iat: seconds() + 60 })],
    ['older than a day, though not expired', 'iat', () => ({ iat: seconds() - 86_500 })],
    ['without exp', 'exp', () => ({ exp: undefined })],
    ['without iat', 'iat', () => ({ iat: undefined })],
    ['without aud', 'aud', () => ({ aud: undefined })],
    ['without iss', 'iss', () => ({ iss: undefined })],
    ['without a user', 'user', () => ({ sub: undefined })],
    ['with an empty user', 'user', () => ({ sub: '' })],
    ['with a user that is no text', 'user', () => ({ sub: 7 })],
    ['with a user of 256 characters', 'user', () => ({ sub: 'a'.repeat(256) })],
    ['with U+0000 in the user', 'user', () => ({ sub: 'alice\u0000' })],
    ['for another audience', 'aud', () => ({ aud: 'other' })],
    ['for other audiences', 'aud', () => ({ aud: ['other', `${AUDIENCE}x`] })],
    ['with an audience that only begins like ours', 'aud', () => ({ aud: `${AUDIENCE}2` })],
    ['of another issuer', 'iss', () => ({ iss: 'https://issuer.example' })],
    ['of the same issuer, spelt with a slash', 'iss', () => ({ iss: `${issuer.issuer}/` })],
    ['with times that are no numbers', 'exp', () => ({ exp: '9999999999' })],
  ])('%s, which the check %s finds', async (_what, check, claims) => {
    expect(await checkOf(await issuer.token(claims()))).toBe(check as TokenCheck)
  })

  test.each(['logout+jwt', 'secevent+jwt', 'dpop+jwt'])('of the type %s', async (typ) => {
    expect(await checkOf(await issuer.token({}, { typ }))).toBe('typ')
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
    const id = await secondProject()
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
  })

  test('signed by an algorithm that the operator did not allow', async () => {
    const other = await startIssuer({ alg: 'ES384' })
    const id = await secondProject()
    await add(other, { projectId: id, algorithms: ['ES256'] })
    expect(await checkOf(await other.token(), id)).toBe('alg')
    await other.close()
  })

  test('with a short RSA key', async () => {
    const id = await secondProject()
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
  })

  test('if its text was changed, or is none', async () => {
    const token = await issuer.token()
    const [head, , signature] = token.split('.')
    const other = claimsOf(await issuer.token({ sub: 'mallory' }))
    const texts = [`${head}.${other}.${signature}`, token.slice(0, -4), `${token}AA`, 'a.b.c', '..', '']
    for (const text of texts) expect(await checkOf(text)).toBe('signature')
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
    const [id, other] = [await secondProject(), await startIssuer()]
    await add(other, { projectId: id })
    expect(await kindOf(await other.token(), id)).toBe('user')
    expect(await kindOf(await other.token())).toBe('refused')
    expect(await kindOf(await other.token({ iss: issuer.issuer }))).toBe('refused')
    expect(await kindOf(await issuer.token(), id)).toBe('refused')
    await other.close()
  })

  test('without a key id, or with one that two keys have, if none of the keys that fit signed it', async () => {
    const [id, two] = [await secondProject(), await startIssuer()]
    const [own, second] = [two.key().jwk, (await newKey('second')).jwk]
    await add(two, { projectId: id })
    const cases: readonly [keys: readonly JWK[], kid: string | undefined, check: TokenCheck | null][] = [
      [[own], undefined, null],
      [[own, second], undefined, null],
      [[second, own], undefined, null],
      [[own, own], 'first', null],
      [[second, { ...own, kid: 'second' }], 'second', null],
      // A key that looks right and cannot be read.
      [[{ ...own, x: 'AAAA' }, own], undefined, null],
      [[own, second], 'second', 'signature'],
      [[second], undefined, 'signature'],
      [[second, second], undefined, 'signature'],
    ]
    for (const [keys, kid, check] of cases) {
      two.publish(...keys)
      issuers = createIssuers(service.ctx)
      const header = { kid: kid as never }
      expect([keys, kid, await checkOf(await two.token({}, header), id)]).toEqual([keys, kid, check])
      expect(await checkOf(await two.token({ exp: 1 }, header), id)).toBe(check ?? 'exp')
    }
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
  beforeEach(begin)
  afterEach(end)

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

const json =
  (value: unknown): Answer =>
  (response) =>
    response.end(JSON.stringify(value))

describe("an issuer's set of keys counts although it has", () => {
  // RFC 7517 §5: what is not understood, lacks members or is out of range is to be ignored.
  const ODD: readonly [string, unknown][] = [
    ['a key with null in it', { kty: 'EC', use: null, alg: null }],
    ['a key without a type', { kid: 'x', n: 'AQAB', e: 'AQAB' }],
    ['a key of a type that nobody knows', { kty: 'AKP', alg: 'ML-DSA-44', pub: 'AAAA' }],
    ['a key with a number as its id', { kty: 'EC', kid: 5 }],
    ['a key without its members', { kty: 'RSA', kid: 'first', alg: 'ES256' }],
    ['a key of 16,384 bits', { kty: 'RSA', n: 'A'.repeat(2_731), e: 'AQAB' }],
    ['no key at all in it', null],
    ['a list in it', []],
    ['a text in it', 'x'],
  ]

  test.each(someOf(ODD, 4))('%s', async (_what, odd) => {
    const [id, other] = [await secondProject(), await startIssuer()]
    other.answer({ keys: json({ keys: [odd, other.key().jwk, odd] }) })
    await add(other, { projectId: id })
    expect(await checkOf(await other.token(), id)).toBeNull()
    await other.close()
  })

  longTest('a hundred keys more that are not understood', async () => {
    const [id, other] = [await secondProject(), await startIssuer()]
    other.answer({ keys: json({ keys: [...Array(100).fill({ kty: 'AKP' }), other.key().jwk] }) })
    await add(other, { projectId: id })
    expect(await checkOf(await other.token(), id)).toBeNull()
    await other.close()
  })
})

describe('an issuer is not added', () => {
  beforeAll(begin)
  let withoutIssuer: string
  beforeAll(async () => {
    withoutIssuer = await secondProject()
  })
  afterAll(end)

  const refusalOf = async (answers: Parameters<TestIssuer['answer']>[0]) => {
    const other = await startIssuer()
    other.answer(answers)
    try {
      await add(other, { projectId: withoutIssuer })
      return null
    } catch (error) {
      return error instanceof AppError ? error.message : String(error)
    } finally {
      await other.close()
    }
  }
  const NO_KEY = 'Of the 1 keys at jwks_uri none is a whole key for signatures.'
  const EC = { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }
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
      'of another issuer: "https://a.example".',
    ],
    ['whose discovery is not JSON', { discovery: (response) => response.end('<html>') }, 'not JSON'],
    ['whose discovery has no jwks_uri', { discovery: json({ issuer: 'x' }) }, 'no jwks_uri'],
    ['whose keys do not end', { keys: endless }, 'more than 65536 bytes'],
    [
      'whose discovery names another issuer by what is no URL',
      { discovery: json({ issuer: '\u001b[2J\u202e', jwks_uri: 'https://a.example/k' }) },
      'is of another issuer.',
    ],
    [
      'with too many keys',
      { keys: json({ keys: Array(101).fill({ kty: 'OKP', crv: 'Ed25519', x: 'AA' }) }) },
      'Of the 101 keys at jwks_uri 101 are for signatures; at most 100 are taken.',
    ],
    ['without a list of keys', { keys: json({ keys: {} }) }, 'The document at jwks_uri has no list "keys".'],
    ['with a giant key', { keys: json({ keys: [{ kty: 'RSA', n: 'A'.repeat(1_367), e: 'AQAB' }] }) }, NO_KEY],
    ['with shared secrets only', { keys: json({ keys: [{ kty: 'oct', k: 'AAAA' }] }) }, NO_KEY],
    ['with keys for encryption only', { keys: json({ keys: [{ ...EC, use: 'enc' }] }) }, NO_KEY],
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
      const adding = add(other, { projectId: withoutIssuer })
      // The test lists 127.0.0.1, where nobody listens at this port.
      const leadsToListed = /localhost|2130706433/.test(uri)
      await expect(adding).rejects.toThrow(leadsToListed ? 'could not be reached' : 'that OUTGOING_ALLOWED_HOSTS lists')
      await other.close()
    }
  })

  longTest('that does not answer', async () => {
    expect(await refusalOf({ discovery: () => {} })).toContain('did not answer in time')
  })
})
