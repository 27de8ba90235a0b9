// What the address of the login page must have, so that the user is sent back to the app: over real HTTP, without a
// browser.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { addOrigins } from '../../src/identity/projects/settings.ts'
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
