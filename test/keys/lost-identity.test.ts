// IDENTITY_KEY is lost, and another one takes its place: the vault confirms wallets, and nothing confirms what admits
// somebody.

import { expect, test } from 'bun:test'
import { addIssuer, USUAL_ALGORITHMS } from '../../src/identity/issuers/issuers.ts'
import { inviteOperator } from '../../src/operators/console/operators.ts'
import { runCli, terminal } from '../support/cli.ts'
import { AUDIENCE, startIssuer } from '../support/issuer.ts'
import { isLong, longTest } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { DONE, peopleOf, statusAndCode } from '../users/people.ts'
import { at, NETWORK, PIN, startWorld } from './keys-world.ts'

const EMAIL = 'somebody@example.com'
const NOBODY = { authorization: undefined }
const replace = ['keys', 'rotate-identity', '--lost']

const world = await shared(startWorld('IDENTITY_KEY'))
const { sql } = world.service.database

test('users log in again and sign with their wallets; what nothing confirms has ended', async () => {
  const { service, sets } = world
  const people = peopleOf(service)
  const session = await people.logIn(EMAIL)
  expect(statusAndCode(await people.addPasskey(session))).toEqual(DONE)
  const made = await people.as(session)('/wallets', {
    network: NETWORK,
    name: 'Own',
    control_mode: 'user',
    user_pin: PIN,
  })
  const { address } = made.json
  const moved = await service.newWallet({ network: NETWORK, pin: PIN })
  await sql`update wallets set address = '0x000000000000000000000000000000000000dEaD' where id = ${moved.id}`
  const owner = { DATABASE_URL: service.database.url }

  await inviteOperator(service.ctx, { name: 'anna', role: 'operator', actor: 'operator' })
  const issuer = await startIssuer()
  const claims = { audience: AUDIENCE, audienceClaim: 'aud', userClaim: 'sub', algorithms: USUAL_ALGORITHMS }
  const own = { projectId: service.project.projectId, name: 'own', issuer: issuer.issuer, actor: 'operator', ...claims }
  await addIssuer(service.ctx, { ...own, clientId: null, clientSecret: null })
  await issuer.close()

  // Only a passkey, only a session, and one who logged out and is gone already.
  expect(statusAndCode(await people.addPasskey(await people.anonymous()))).toEqual(DONE)
  await people.anonymous()
  await people.as(await people.anonymous())('/users/logout')

  const declined = await runCli(replace, { ...sets.next, ...owner }, terminal('no\n'))
  expect([declined.exitCode, declined.errors]).toEqual([1, expect.stringContaining('Nothing was done.')])
  expect(declined.errors).toContain(
    `project ${service.project.projectId}, "Test": origins -, return addresses -, passkey domain -`,
  )
  expect(declined.errors).toContain(
    `project ${service.project.projectId}: 1 user with a passkey alone, 1 user with a session alone will have no way to log in.`,
  )
  expect(declined.errors).toContain('and sessions, and lock out 2 users?')
  expect(await people.reach(session)).toBe(200)

  const done = await runCli([...replace, '--yes'], { ...sets.next, ...owner })
  const [named, summary] = done.output.split('\n')
  expect([done.exitCode, named]).toEqual([
    1,
    `NOT CHANGED: table wallets, row ${moved.id}, project ${service.project.projectId}: the audit has another address.`,
  ])
  expect(summary).toMatch(
    /^The database belongs to key:[0-9a-f]{16} now; \d+ rows accepted, 1 API key revoked, 2 passkeys removed, 1 issuer removed\.$/,
  )
  if (isLong)
    expect((await runCli([...replace, '--yes'], { ...sets.next, ...owner })).output).toStartWith('The database already')

  const { url } = await world.startApi('next')
  const there = at(service, url)
  const now = peopleOf(there)
  expect([await now.reach(session), (await now.refresh(session)).status]).toEqual([401, 401])
  expect((await there.get('/wallets', { network: NETWORK })).status).toBe(401)
  const { user_id } = (await there.post('/users/login-with-email', { email: EMAIL }, NOBODY)).json
  const proof = { user_id, verification_code: await now.codeTo(EMAIL) }
  const again = (await there.post('/users/verify-login', proof, NOBODY)).json
  expect(again.user_id).toBe(session.user_id)
  const signed = await now.as(again)('/transactions/sign-message', {
    network: NETWORK,
    signer_wallet_address: address,
    message: 'It works.',
    user_pin: PIN,
  })
  expect(statusAndCode(signed)).toEqual(DONE)
  expect((await now.get('/users/passkeys', again)).json).toEqual([])

  const created = await runCli(
    ['api-key', 'create', '--project', service.project.projectId, '--name', 'new', '--json'],
    sets.next,
  )
  const server = service.as({ ...service.project, apiKey: JSON.parse(created.output).api_key }, url)
  const wallets = (await server.get('/wallets', { network: NETWORK })).json
  expect(wallets.map((wallet: { address: string }) => wallet.address)).toContain(address)

  const verified = JSON.parse((await runCli(['audit', 'verify', '--json'], sets.next)).output)
  expect([verified.broken, verified.callers.forged.map(({ id }: { id: string }) => id)]).toEqual([[], [moved.id]])
  expect((await sql`select from operators union all select from issuers`).length).toBe(0)
  // If the key is found, it is not the database's any more.
  expect((await service.call('/readyz')).status).toBe(503)
  const found = await world.asOwner(['keys', 'rotate-identity'], 'presentFirst')
  expect(found.errors).toContain('The identity key does not fit this database')
}, 60_000)

longTest(
  'is refused if the audit does not hold, because nothing confirms the wallets then',
  async () => {
    const other = await startWorld('IDENTITY_KEY')
    const db = other.service.database.sql
    try {
      await db`alter table audit disable trigger append_only`
      await db`update audit set details = details || '{"address": "0x"}' where action = 'wallet_created'`
      const refused = await other.asOwner([...replace, '--yes'], 'next')
      expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining('The audit does not hold')])
      expect((await other.service.get('/wallets', { network: NETWORK })).status).toBe(200)
    } finally {
      await other.close()
    }
  },
  60_000,
)
