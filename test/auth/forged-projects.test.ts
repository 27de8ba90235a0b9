// What somebody can do who owns the database, but has no key: with the settings of a project, which say from which
// pages users log in.

import { expect, test } from 'bun:test'
import { addOrigins, addReturnAddresses } from '../../src/identity/projects/settings.ts'
import { someOf } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { DONE, peopleOf, statusAndCode } from '../users/people.ts'
import { FORGED, troublesOf } from './forged.ts'

const APP = 'https://app.example.com'
const PKCE = { code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' }
const EVIL = 'https://evil.example'
const BACK = `${APP}/back`
const NOBODY = { authorization: undefined }

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const people = peopleOf(service)
const { sql } = service.database
const projectId = service.project.projectId
await addOrigins(service.ctx, { projectId, origins: [APP] })
await addReturnAddresses(service.ctx, { projectId, addresses: [BACK] })

const edit = (change: object) => sql`update projects set ${sql(change as never)} where id = ${projectId}`
const restore = () =>
  edit({ allowed_origins: [APP], return_addresses: [BACK], passkey_rp_id: null, anonymous_login: true })

const EDITS = [
  ['origins', { allowed_origins: [APP, EVIL] }],
  ['return addresses', { return_addresses: [BACK, `${EVIL}/back`] }],
  ['list of return addresses', { return_addresses: [] }],
  ['border between the lists', { allowed_origins: [APP, BACK], return_addresses: [] }],
  ['passkey domain', { passkey_rp_id: 'evil.example' }],
  ['anonymous login', { anonymous_login: false }],
] as const

test('a project of which somebody edited any setting logs nobody in', async () => {
  const headers = { ...NOBODY, origin: APP }
  const logIn = async () => statusAndCode(await service.post('/users/login-anonymously', {}, headers))
  for (const [what, change] of EDITS) {
    await edit(change)
    expect([what, await logIn()]).toEqual([what, [401, 'project_unknown']])
    await restore()
  }
  expect(await logIn()).toEqual(DONE)
})

test.each(someOf(EDITS, 6))(
  'a project whose %s somebody edited logs nobody in on any page, is reported and is named',
  async (_what, change) => {
    const session = await people.anonymous()
    await edit(change)
    const challenge = { email: 'alice@example.com' }
    for (const origin of [APP, EVIL]) {
      const headers = { ...NOBODY, origin }
      expect(statusAndCode(await service.post('/users/login-anonymously', {}, headers))).toEqual([
        401,
        'project_unknown',
      ])
      expect(statusAndCode(await service.post('/users/login-with-passkey', challenge, headers))).toEqual([
        401,
        'project_unknown',
      ])
      const { access_token: token } = session
      const answer = await service.call('/users/passkeys', { headers: { authorization: `Bearer ${token}`, origin } })
      expect(statusAndCode(answer)).toEqual([401, 'project_unknown'])
      const page = new URLSearchParams({ project_id: projectId, redirect_uri: `${origin}/back`, ...PKCE })
      expect((await service.call(`/login?${page}`, { headers: NOBODY })).status).toBe(400)
    }
    const begin = await service.post(
      '/users/passkey/begin-registration',
      {},
      { authorization: `Bearer ${session.access_token}` },
    )
    expect(statusAndCode(begin)).toEqual([401, 'project_unknown'])
    expect(await troublesOf(service, projectId)).toEqual([FORGED])
    await service.ctx.securityEvents.flush()
    const events = await sql`select distinct details->>'table' as table from audit
    where subject = ${projectId} and action = 'row_forged'`
    expect([...events]).toEqual([{ table: 'projects' }])

    // Servers go on, with their API keys; and no command of an operator makes the settings ours.
    expect((await service.get('/wallets', { network: 'Ethereum' })).status).toBe(200)
    const adding = addOrigins(service.ctx, { projectId, origins: ['https://more.example.com'] })
    await expect(adding).rejects.toMatchObject({ code: 'invalid_input' })

    await restore()
    expect(await troublesOf(service, projectId)).toEqual([])
    const headers = { ...NOBODY, origin: APP }
    expect((await service.post('/users/login-anonymously', {}, headers)).status).toBe(200)
  },
)
