// A login at an issuer, as a browser sends it: what is asked of the issuer, and which answers of it are refused.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { createProject } from '../../src/operators/projects.ts'
import { FORGED, troublesOf } from '../auth/forged.ts'
import { runCli } from '../support/cli.ts'
import { type Answer, AUDIENCE, answerJson, newKey, startIssuer, type TestIssuer } from '../support/issuer.ts'
import { longTest } from '../support/long.ts'
import { logInAt, startOpenidProvider } from '../support/openid-provider.ts'
import { type Service, startService } from '../support/service.ts'

const CLIENT = 'strongroom-here'
const SECRET = 'issuer-client-secret'
const ORIGIN = 'http://localhost:3000'
const PAGE_VERIFIER = randomBytes(32).toString('base64url')
const CODE_CHALLENGE = createHash('sha256').update(PAGE_VERIFIER).digest('base64url')

let service: Service
let sql: Sql
let good: TestIssuer
let other: TestIssuer
let projectId: string

beforeAll(async () => {
  service = await startService({ variables: { OUTGOING_ALLOWED_HOSTS: '127.0.0.1' } })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  projectId = service.project.projectId
  good = await startIssuer({ path: '/realm' })
  other = await startIssuer()
  expect((await add('good', good, '--client-secret')).exitCode).toBe(0)
  expect((await add('other', other)).exitCode).toBe(0)
})
afterAll(async () => {
  await Promise.all([good.close(), other.close()])
  await sql.end()
  await service.close()
})
beforeEach(() => {
  good.answer()
  other.answer()
})

const add = (name: string, of: Pick<TestIssuer, 'issuer'>, ...more: readonly string[]) =>
  runCli(
    ['project', 'issuers', 'add', projectId, name, of.issuer, '--audience', AUDIENCE, '--client-id', CLIENT, ...more],
    { ...service.variables, VAULT_SOCKET: '' },
    more.includes('--client-secret') ? `${SECRET}\n` : '',
  )

type Begun = { readonly url: URL; readonly cookie: string; readonly state: string; readonly nonce: string }

const ask = (issuer: string, headers: Record<string, string | undefined> = { origin: ORIGIN }) =>
  service.post('/login/issuer', { issuer, code_challenge: CODE_CHALLENGE }, { authorization: undefined, ...headers })

const begin = async (issuer = 'good'): Promise<Begun> => {
  const { status, json, headers } = await ask(issuer)
  expect(status).toBe(200)
  const url = new URL(json.url)
  const { state = '', nonce = '' } = Object.fromEntries(url.searchParams)
  return { url, cookie: headers.get('set-cookie')?.split(';')[0] ?? '', state, nonce }
}

/** What the token endpoint was asked, and how. */
let asked: { body: URLSearchParams; authorization: string | undefined } | null = null

const comeBack = async (
  begun: Pick<Begun, 'state' | 'cookie'>,
  input: { readonly at?: string; readonly query?: Record<string, string>; readonly project?: string } = {},
) => {
  const { at = 'good', query = { code: 'a-code' }, project = projectId } = input
  const parameters = new URLSearchParams({ state: begun.state, ...query })
  const answer = await fetch(`${service.baseUrl}/login/oidc/callback/${project}/${at}?${parameters}`, {
    headers: begun.cookie === '' ? {} : { cookie: begun.cookie },
    redirect: 'manual',
  })
  const location = answer.headers.get('location')
  return {
    status: answer.status,
    headers: answer.headers,
    text: await answer.text(),
    told: Object.fromEntries(new URLSearchParams(location?.split('#')[1] ?? '')),
    location,
  }
}

/** Lets an issuer's token endpoint answer with an ID token. */
const answerWith = (
  of: TestIssuer,
  { nonce }: Pick<Begun, 'nonce'>,
  { claims = {}, sign = of.token }: { claims?: object; sign?: TestIssuer['token'] } = {},
) => {
  const idToken = async () => ({
    access_token: 'for-others',
    token_type: 'Bearer',
    id_token: await sign({ aud: CLIENT, sub: 'ida', nonce, auth_time: seconds(), ...claims }),
  })
  of.answer({
    token: async (response, request) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      asked = {
        body: new URLSearchParams(Buffer.concat(chunks).toString()),
        authorization: request.headers.authorization,
      }
      const token = await idToken()
      answerJson(() => token)(response, request)
    },
  })
}

const seconds = () => Math.floor(Date.now() / 1_000)

const prove = (code: string | undefined, verifier = PAGE_VERIFIER) =>
  service.post(
    '/users/verify-login',
    { session_challenge_code: code, code_verifier: verifier },
    { authorization: undefined },
  )

describe('a login', () => {
  test('asks the issuer for an ID token with PKCE, and the browser keeps what binds it', async () => {
    const { json, headers } = await ask('good')
    const url = new URL(json.url)
    expect(`${url.origin}${url.pathname}`).toBe(`${good.issuer}/authorize`)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      ...{ client_id: CLIENT, response_type: 'code', scope: 'openid', max_age: '300', code_challenge_method: 'S256' },
      redirect_uri: `${ORIGIN}/login/oidc/callback/${projectId}/good`,
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    })
    const { state = '' } = Object.fromEntries(url.searchParams)
    expect(headers.get('set-cookie')).toMatch(
      new RegExp(
        `^__Host-strongroom-login-${state.slice(0, 16)}=[\\w-]{43}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$`,
      ),
    )
    for (const told of url.searchParams.values()) expect(headers.get('set-cookie')).not.toContain(`=${told};`)
  })

  test('ends with a code for the page that began, as the user of a bearer token with the same sub', async () => {
    const begun = await begin()
    answerWith(good, begun)
    const { status, location, told, headers } = await comeBack(begun, { query: { code: 'a-code', iss: good.issuer } })
    expect([status, location?.split('#')[0]]).toEqual([303, `/login?project_id=${projectId}`])
    expect(headers.get('set-cookie')).toContain('Max-Age=0')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
    expect(Object.fromEntries(asked?.body ?? [])).toMatchObject({
      ...{ grant_type: 'authorization_code', code: 'a-code', code_verifier: expect.stringMatching(/^[\w-]{43}$/) },
      redirect_uri: `${ORIGIN}/login/oidc/callback/${projectId}/good`,
    })
    const hash = createHash('sha256')
      .update(asked?.body.get('code_verifier') ?? '')
      .digest('base64url')
    expect(hash).toBe(begun.url.searchParams.get('code_challenge') ?? '')
    expect(asked?.authorization).toBe(
      `Basic ${btoa(`${encodeURIComponent(CLIENT).replaceAll('-', '%2D')}:${SECRET.replaceAll('-', '%2D')}`)}`,
    )
    expect((await prove(told.issuer_code, 'v'.repeat(43))).json.code).toBe('login_failed')
    const session = (await prove(told.issuer_code)).json
    const headersOfToken = {
      authorization: `Bearer ${await good.token({ sub: 'ida' })}`,
      'x-walletkit-token-source': 'good',
    }
    await service.call('/wallets?network=Ethereum', { headers: headersOfToken })
    const users = await sql`select id from users where subject = 'sub:ida' and issuer = ${good.issuer}`
    expect([...users]).toEqual([{ id: session.user_id }])
    const [row] = await sql`select way from sessions where id = ${session.id}`
    expect(row?.way).toBe('issuer')
    expect((await prove(told.issuer_code)).json.code).toBe('login_failed')
  })

  test('sends a client without a secret by its id alone', async () => {
    const begun = await begin('other')
    answerWith(other, begun)
    expect((await comeBack(begun, { at: 'other' })).told.issuer_code).toMatch(/^[0-9A-Z-]{34}$/)
    expect([asked?.authorization, asked?.body.get('client_id')]).toEqual([undefined, CLIENT])
  })

  test('is as old as the login at the issuer', async () => {
    const begun = await begin()
    answerWith(good, begun, { claims: { auth_time: seconds() - 240 } })
    const session = (await prove((await comeBack(begun)).told.issuer_code)).json
    const [row] =
      await sql`select extract(epoch from now() - authenticated_at)::int as age from sessions where id = ${session.id}`
    expect(row?.age).toBeWithin(239, 260)
  })
})

describe('nobody is logged in', () => {
  const isUnknown = async (answer: ReturnType<typeof comeBack>) => {
    const { status, text, location } = await answer
    expect([status, location, text.includes('This login cannot go on')]).toEqual([400, null, true])
  }

  test('by a callback that is sent again, also with the cookie and at the same time', async () => {
    const begun = await begin()
    answerWith(good, begun)
    const answers = await Promise.all([comeBack(begun), comeBack(begun), comeBack(begun)])
    expect(answers.map(({ status }) => status).sort()).toEqual([303, 400, 400])
    await isUnknown(comeBack(begun))
  })

  test('by the code of another browser, without the cookie or with that of another login', async () => {
    const [mine, theirs] = [await begin(), await begin()]
    answerWith(good, theirs)
    await isUnknown(comeBack({ ...theirs, cookie: '' }))
    await isUnknown(comeBack({ ...theirs, cookie: mine.cookie }))
    const renamed = `${theirs.cookie.split('=')[0]}=${mine.cookie.split('=')[1]}`
    await isUnknown(comeBack({ ...theirs, cookie: renamed }))
    expect((await comeBack(theirs)).told.issuer_code).toBeDefined()
  })

  test('with a state that is wrong or missing, or at another project', async () => {
    const begun = await begin()
    await isUnknown(comeBack({ ...begun, state: `${begun.state.slice(0, 42)}_` }))
    await isUnknown(comeBack({ ...begun, state: '' }))
    const { projectId: project } = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
    await isUnknown(comeBack(begun, { project }))
    await isUnknown(comeBack(begun, { project: 'none' }))
  })

  test('by the code of another issuer (mix-up): it is given to nobody', async () => {
    const before = other.asked.token
    const begun = await begin('other')
    // The other issuer sends the user on to the good one, with its own state. The good one answers at the good one's
    // callback.
    await isUnknown(comeBack(begun, { at: 'good' }))
    const again = await begin('other')
    const { told } = await comeBack(again, { at: 'other', query: { code: 'of-the-good-one', iss: good.issuer } })
    expect(told.issuer_refusal).toBe('refused')
    expect(other.asked.token).toBe(before)
  })

  test('with an answer that does not say who it is of, if the issuer promises to say it', async () => {
    const third = await startIssuer({ path: '/third' })
    third.answer({
      discovery: answerJson(() => ({ ...third.document(), authorization_response_iss_parameter_supported: true })),
    })
    expect((await add('third', third)).exitCode).toBe(0)
    const begun = await begin('third')
    expect((await comeBack(begun, { at: 'third' })).told.issuer_refusal).toBe('refused')
    expect(third.asked.token).toBe(0)
    await third.close()
  })

  test.each([
    ['for another login', { nonce: 'x'.repeat(43) }],
    ['without a nonce', { nonce: undefined }],
    ['for another client', { aud: AUDIENCE }],
    ['for several clients, of which another one asked', { aud: [CLIENT, 'x'], azp: 'x' }],
    ['of another issuer', { iss: 'https://evil.example' }],
    ['that has expired', { exp: 1 }],
    ['without a user', { sub: undefined }],
  ])('with an ID token %s', async (_what, claims) => {
    const begun = await begin()
    answerWith(good, begun, { claims })
    expect((await comeBack(begun)).told).toEqual({ issuer_refusal: 'refused', issuer: 'good' })
  })

  test('with an ID token that somebody else signed', async () => {
    const begun = await begin()
    answerWith(good, begun, { sign: (claims) => other.token({ iss: good.issuer, ...claims }, { kid: 'first' }) })
    expect((await comeBack(begun)).told.issuer_refusal).toBe('refused')
    const stranger = await newKey('first')
    expect(stranger.jwk.kid).toBe('first')
  })

  test('if the issuer did not ask the user again', async () => {
    const begun = await begin()
    answerWith(good, begun, { claims: { auth_time: seconds() - 3_600 } })
    expect((await comeBack(begun)).told.issuer_refusal).toBe('stale')
  })

  // OpenID Connect Core 1.0 §2: with `max_age` the ID token must have it.
  test.each([undefined, null, 'now', 4_102_444_800])('with %p in place of the time of the login', async (auth_time) => {
    const begun = await begin()
    answerWith(good, begun, { claims: { auth_time } })
    expect((await comeBack(begun)).told).toEqual({ issuer_refusal: 'refused', issuer: 'good' })
  })

  test.each([
    [{ error: 'access_denied' }, 'cancelled'],
    [{ error: 'user_cancelled_authorize' }, 'cancelled'],
    [{ error: 'user_cancelled_login' }, 'cancelled'],
    [{ error: 'user_canceled' }, 'cancelled'],
    [{ error: 'user_denied' }, 'cancelled'],
    [{ error: 'user_cancelled<b>' }, 'refused'],
    [{ error: 'temporarily_unavailable' }, 'away'],
    [{ error: 'invalid_scope', error_description: '<b>' }, 'refused'],
    [{}, 'refused'],
  ])('if the issuer answers %p', async (query, why) => {
    const begun = await begin()
    expect((await comeBack(begun, { query: query as Record<string, string> })).told).toEqual({
      issuer_refusal: why,
      issuer: 'good',
    })
    expect((await comeBack(begun)).status).toBe(400)
  })

  test('if the issuer does not answer, refuses the code, redirects or sends no end', async () => {
    const kinds: [Answer, string][] = [
      [(response) => response.destroy(), 'away'],
      [(response) => response.writeHead(302, { location: '/elsewhere' }).end(), 'refused'],
      [(response) => response.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(70_000)), 'away'],
      [
        (response) => response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'),
        'refused',
      ],
    ]
    for (const [token, why] of kinds) {
      const begun = await begin()
      good.answer({ token })
      expect((await comeBack(begun)).told.issuer_refusal).toBe(why)
    }
  })
})

longTest('a real provider counts only if it says that the user has just logged in there', async () => {
  const provider = await startOpenidProvider()
  const callback = `${ORIGIN}/login/oidc/callback/${projectId}/real`
  await provider.serve([{ id: CLIENT, secret: null, callback }])
  expect((await add('real', provider)).exitCode).toBe(0)
  const logIn = async ({ since, isStripped }: { since: number; isStripped: boolean }) => {
    const begun = await begin('real')
    // The user can change the address at which their browser asks. Then the provider takes a session of any age.
    if (isStripped) begun.url.searchParams.delete('max_age')
    const { searchParams } = await logInAt({ from: begun.url.href, callback, name: 'ida', since })
    return (await comeBack(begun, { at: 'real', query: Object.fromEntries(searchParams) })).told
  }
  const refused = (issuer_refusal: string) => ({ issuer_refusal, issuer: 'real' })
  expect(await logIn({ since: seconds() - 240, isStripped: false })).toMatchObject({ issuer_code: expect.any(String) })
  expect(await logIn({ since: seconds() - 3_600, isStripped: false })).toEqual(refused('stale'))
  expect(await logIn({ since: seconds() - 240, isStripped: true })).toEqual(refused('refused'))
  await provider.close()
})

describe('no login begins', () => {
  test('at an issuer that the page does not offer, from another page, or for another verifier than SHA-256', async () => {
    expect((await ask('none')).json.code).toBe('not_implemented')
    for (const origin of [undefined, 'https://evil.example']) {
      expect((await ask('good', { origin })).json.code).toBe('origin_not_allowed')
    }
    const short = { issuer: 'good', code_challenge: 'short' }
    expect((await service.post('/login/issuer', short, { origin: ORIGIN })).status).toBe(400)
  })

  test('if the issuer does not answer, or its page is no page', async () => {
    const away = await startIssuer({ path: '/away' })
    expect((await add('away', away)).exitCode).toBe(0)
    away.answer({
      discovery: answerJson(() => ({ ...away.document(), authorization_endpoint: 'javascript:alert(1)' })),
    })
    expect((await ask('away')).json.code).toBe('unavailable')
    await away.close()
    expect((await ask('away')).json.code).toBe('unavailable')
  })

  test('for somebody who writes to the database: a changed client or secret counts as none', async () => {
    const [before] = await sql`select * from issuers where name = 'good'`
    await sql`update issuers set client_id = 'evil' where name = 'good'`
    expect((await ask('good')).json.code).toBe('not_implemented')
    expect(await troublesOf(service, before?.id)).toEqual([FORGED])
    await sql`update issuers set client_id = ${before?.client_id} where name = 'good'`
    const begun = await begin()
    answerWith(good, begun)
    await sql`update issuers set sealed_secret = ${randomBytes(80)} where name = 'good'`
    expect((await comeBack(begun)).told.issuer_refusal).toBe('refused')
    await sql`update issuers set sealed_secret = ${before?.sealed_secret} where name = 'good'`
    const nonce = await begin()
    await sql`update nonces set target = replace(target, ${before?.id}, ${before?.project_id}) where kind = 'issuer'`
    expect((await comeBack(nonce)).status).toBe(400)
  })
})

test('the operator learns what to register, and the secret is shown nowhere', async () => {
  const list = await runCli(['project', 'issuers', 'list', projectId], { ...service.variables, VAULT_SOCKET: '' }, '')
  expect(list.output).toContain(
    `as client ${CLIENT}, with the callback ${ORIGIN}/login/oidc/callback/${projectId}/good`,
  )
  const rows = JSON.stringify([await sql`select * from audit`, await sql`select * from issuers`])
  expect(rows + list.output).not.toContain(SECRET)
})
