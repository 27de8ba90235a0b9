// What the address of the login page must have, so that the user is sent back to the app: over real HTTP, without a
// browser.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash, randomBytes } from 'node:crypto'
import { addOrigins, addReturnAddresses, removeReturnAddresses } from '../../src/identity/projects/settings.ts'
import { type Service, startService } from '../support/service.ts'

const APP = 'https://app.example.com'
const AFTER = `${APP}/after`
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const S256 = 'S256'

let service: Service

beforeAll(async () => {
  service = await startService({ variables: { DEVNET: 'false' } })
  await addOrigins(service.ctx, { projectId: service.project.projectId, origins: [APP] })
})
afterAll(() => service.close())

type Query = readonly (readonly [name: string, value: string])[]

const open = async (more: Query) => {
  const query = new URLSearchParams([['project_id', service.project.projectId], ...more.map((each) => [...each])])
  const { status, text } = await service.call(`/login?${query}`, { headers: { authorization: undefined } })
  const returnTo = /data-return-to="([^"]*)"/.exec(text)?.[1] ?? null
  const bound = /data-code-challenge="([^"]*)"/.exec(text)?.[1] ?? null
  return { status, returnTo, bound, text }
}
const bound: Query = [
  ['code_challenge', CHALLENGE],
  ['code_challenge_method', S256],
]

test('an app that keeps a secret gets its user back, and its hash stands in the page', async () => {
  const { text: _, ...opened } = await open([['redirect_uri', AFTER], ...bound])
  expect(opened).toEqual({ status: 200, returnTo: AFTER, bound: CHALLENGE })
})

test('a page on which the user stays needs none, and keeps none', async () => {
  for (const more of [[], bound]) {
    const { text: _, ...opened } = await open(more)
    expect(opened).toEqual({ status: 200, returnTo: null, bound: null })
  }
})

test('an app without a secret, or with one that everybody can read, is refused', async () => {
  const withChallenge = (challenge: string): Query => [
    ['code_challenge', challenge],
    ['code_challenge_method', S256],
  ]
  const cases: readonly Query[] = [
    [],
    [['code_challenge', CHALLENGE]],
    [['code_challenge_method', S256]],
    [
      ['code_challenge', CHALLENGE],
      ['code_challenge_method', 'plain'],
    ],
    withChallenge(''),
    withChallenge(`${CHALLENGE}=`),
    withChallenge(`${CHALLENGE}\n`),
    withChallenge(CHALLENGE.slice(1)),
    withChallenge(`${CHALLENGE.slice(0, 42)}N`),
    withChallenge(CHALLENGE.replace('-', '+')),
  ]
  for (const more of cases) {
    const { status, returnTo, text } = await open([['redirect_uri', AFTER], ...more])
    expect([more, status, returnTo]).toEqual([more, 400, null])
    expect(text).toContain('code_challenge must be a SHA-256 in base64url')
    expect(text).not.toContain('<script')
  }
})

test('a secret opens no other address than those of the project, and no parameter is given twice', async () => {
  const evil = 'https://evil.example/'
  const cases: readonly Query[] = [
    [['redirect_uri', evil]],
    [['redirect_uri', '']],
    [['redirect_uri', `${APP}.evil.example/`]],
    [['redirect_uri', `${APP}@evil.example/`]],
    [['redirect_uri', `${APP}:8443/`]],
    [['redirect_uri', `${AFTER}#x`]],
    [['redirect_uri', 'http://app.example.com/after']],
    [['redirect_uri', '//app.example.com/after']],
    // Two of them, in both orders; and two secrets.
    [
      ['redirect_uri', AFTER],
      ['redirect_uri', evil],
    ],
    [
      ['redirect_uri', evil],
      ['redirect_uri', AFTER],
    ],
    [['redirect_uri', AFTER], ...bound],
  ]
  for (const more of cases) {
    const { status, returnTo, text } = await open([...more, ...bound])
    expect([more, status, returnTo]).toEqual([more, 400, null])
    expect(text).not.toContain('evil.example"')
  }
  // Browsers read a backslash as a slash, and so do we: the address is one of the app.
  expect((await open([['redirect_uri', `${APP}\\@evil.example/`], ...bound])).returnTo).toBe(`${APP}/@evil.example/`)
})

/**
 * A stranger sends a user a link to the login page, with the hash of a secret of their own and an address of the app
 * that redirects to wherever its query says. The test does what a browser and the login page's script do.
 */
describe('where the app redirects to any address', () => {
  const NOBODY = { authorization: undefined }

  let projectId: string

  /** The stranger's page keeps nothing: the fragment is the browser's. */
  const stranger = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('Nice to see you') })
  /** The app: a page after the login, and a page that leads on. */
  const app = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: ({ url }) => {
      const { pathname, searchParams } = new URL(url)
      return pathname === '/go' ? Response.redirect(searchParams.get('to') ?? '/', 302) : new Response('The app')
    },
  })
  const APP = `http://localhost:${app.port}`
  const AFTER = `${APP}/after`
  const OPEN_REDIRECT = `${APP}/go?to=${encodeURIComponent(`http://localhost:${stranger.port}/`)}`

  beforeAll(async () => {
    projectId = service.project.projectId
    await addOrigins(service.ctx, { projectId, origins: [APP] })
  })
  afterAll(async () => {
    await app.stop(true)
    await stranger.stop(true)
  })

  const newVerifier = () => randomBytes(32).toString('base64url')
  const hashOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')

  /** A link to one of our pages. */
  const linkTo = (path: string, redirect_uri: string, verifier: string): string => {
    const bound = { code_challenge: hashOf(verifier), code_challenge_method: 'S256' }
    return `${path}?${new URLSearchParams({ project_id: projectId, redirect_uri, ...bound })}`
  }

  /**
   * The user opens the link and logs in. @returns where their browser is in the end; null if the page refuses the link.
   */
  const followedBy = async (user: { readonly access_token: string }, link: string): Promise<string | null> => {
    const { status, text } = await service.call(link, { headers: NOBODY })
    const attribute = (name: string) => new RegExp(` data-${name}="([^"]*)"`).exec(text)?.[1]?.replaceAll('&amp;', '&')
    const [returnTo, code_challenge] = [attribute('return-to'), attribute('code-challenge')]
    if (returnTo === undefined) {
      expect([status, text.includes('<script')]).toEqual([400, false])
      return null
    }
    const begun = await service.post(
      '/users/create-session-challenge',
      { code_challenge, code_challenge_method: 'S256' },
      NOBODY,
    )
    const { code } = begun.json
    const asUser = { authorization: `Bearer ${user.access_token}` }
    expect((await service.post('/users/complete-session-challenge', { code }, asUser)).status).toBe(200)
    // Browsers keep the fragment over a redirect to an address that has none (RFC 9110 §10.2.2).
    const { url } = await fetch(returnTo)
    return `${url}#session_challenge_code=${code}`
  }

  const redeem = (address: string, code_verifier: string) => {
    const code = new URLSearchParams(new URL(address).hash.slice(1)).get('session_challenge_code')
    return service.post('/users/verify-login', { session_challenge_code: code, code_verifier }, NOBODY)
  }

  test('an open redirect of the app gives a stranger the login, unless the project has return addresses', async () => {
    const user = (await service.post('/users/login-anonymously', {}, NOBODY)).json
    const verifier = newVerifier()
    const link = linkTo('/login', OPEN_REDIRECT, verifier)

    // Without a list any page of an allowed origin will do, which mainnet does not accept.
    const stolen = (await followedBy(user, link)) ?? ''
    expect(new URL(stolen).port).toBe(String(stranger.port))
    expect((await redeem(stolen, verifier)).json).toMatchObject({ user_id: user.user_id })

    await addReturnAddresses(service.ctx, { projectId, addresses: [AFTER] })
    expect(await followedBy(user, link)).toBeNull()
    const own = (await followedBy(user, linkTo('/login', AFTER, verifier))) ?? ''
    expect(own).toStartWith(`${AFTER}#`)
    expect((await redeem(own, verifier)).json).toMatchObject({ user_id: user.user_id })
  })

  test('every page that sends users back compares the whole address', async () => {
    await addReturnAddresses(service.ctx, { projectId, addresses: [AFTER] })
    const policy_id = crypto.randomUUID()
    const policy = Buffer.from('{}').toString('base64url')
    const toldBy = async (path: string, redirect_uri: string) => {
      const query = `${linkTo(path, redirect_uri, newVerifier())}&policy_id=${policy_id}&policy=${policy}`
      const { status, text } = await service.call(query, { headers: NOBODY })
      return { status, isAddress: text.includes('equal to it in every character') }
    }
    for (const path of ['/login', '/credentials', '/consent', '/consent/granted', '/consent/revoke']) {
      for (const address of [OPEN_REDIRECT, `${APP}/`, `${AFTER}/`, `${AFTER}?x`]) {
        expect([path, address, await toldBy(path, address)]).toEqual([path, address, { status: 400, isAddress: true }])
      }
      // The consent page goes on to the policy, in which there is nothing.
      const status = path === '/consent' ? 400 : 200
      expect([path, await toldBy(path, AFTER)]).toEqual([path, { status, isAddress: false }])
    }
    expect(await removeReturnAddresses(service.ctx, { projectId, addresses: [AFTER] })).toEqual([])
  })
})
