// What somebody can do who owns the database, but has no key: the rows that decide who a caller is have a MAC.

import { expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { createApiKey, revokeApiKey } from '../../src/identity/api-keys/api-keys.ts'
import { createAccessTokens } from '../../src/identity/auth/access-token.ts'
import { newApiKey } from '../../src/identity/auth/api-key.ts'
import { commonService } from '../support/common-service.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Authenticator, createAuthenticator } from '../users/authenticator.ts'
import { sealUsers } from '../users/own-rows.ts'
import { peopleOf } from '../users/people.ts'
import { ENDED, FORGED, troublesByCommand, troublesOf } from './forged.ts'

const PAGE = 'http://localhost:5173'

const service = await commonService()
const { sql } = service.database

const verified = (id: string) => troublesOf(service, id)

const actor = 'operator'
const newKey = async (scopes: readonly ('read' | 'sign' | 'admin')[] = ['read'], expiresAt: Date | null = null) =>
  createApiKey(service.ctx, { projectId: service.project.projectId, name: 'x', scopes, expiresAt, actor })

/** The status of a call that reads, with an API key. */
const use = async (apiKey: string): Promise<number> =>
  (await service.as({ ...service.project, apiKey }).get('/wallets', { network: 'Ethereum' })).status

test('an API key that somebody inserted is unknown, is reported, and is named', async () => {
  const { text, hash } = newApiKey()
  const id = randomUUID()
  // With the MAC of a real key.
  await sql`insert into api_keys (id, project_id, name, hash, scopes, mac)
    select ${id}, project_id, 'mine', ${Buffer.from(hash)}, scopes, mac from api_keys limit 1`
  const answer = await service.as({ ...service.project, apiKey: text }).get('/wallets', { network: 'Ethereum' })
  expect([answer.status, answer.json.code]).toEqual([401, 'unauthorized'])
  expect(await troublesByCommand(service, id)).toEqual([FORGED])
  await service.ctx.securityEvents.flush()
  const statusAndCode = await sql`select action, details->>'table' as table from audit where subject = ${id}`
  expect([...statusAndCode]).toEqual([{ action: 'row_forged', table: 'api_keys' }])
  await sql`update api_keys set mac = null where id = ${id}`
  expect(await use(text)).toBe(401)
  await sql`delete from api_keys where id = ${id}`
  expect(await verified(id)).toEqual([])
})

test('an API key whose hash, scopes, expiry, project or id somebody edited is refused and named; restored, it works', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000)
  const [key, other] = [await newKey(['read', 'sign'], expiresAt), randomUUID()]
  await sql`insert into projects (id, name) values (${other}, 'Other')`
  const [was] = await sql`select * from api_keys where id = ${key.id}`
  const changes = [
    { scopes: ['read', 'sign', 'admin'] },
    { scopes: ['readsign'] },
    { scopes: ['sign', 'read'] },
    { expires_at: null },
    { expires_at: new Date(expiresAt.getTime() + 1_000) },
  ]
  for (const change of someOf(changes, 3)) {
    await sql`update api_keys set ${sql(change)} where id = ${key.id}`
    expect([change, await use(key.text), await verified(key.id)]).toEqual([change, 401, [FORGED]])
    await sql`update api_keys set ${sql({ scopes: was?.scopes, expires_at: was?.expires_at })} where id = ${key.id}`
  }
  expect([await use(key.text), await verified(key.id)]).toEqual([200, []])
  await sql`update api_keys set project_id = ${other} where id = ${key.id}`
  const there = service.as({ projectId: other, apiKey: key.text })
  expect((await there.get('/wallets', { network: 'Ethereum' })).status).toBe(401)
  await sql`update api_keys set project_id = ${service.project.projectId} where id = ${key.id}`
  // Another key's text for this key's row.
  const { text, hash } = newApiKey()
  await sql`update api_keys set hash = ${Buffer.from(hash)} where id = ${key.id}`
  expect([await use(text), await verified(key.id)]).toEqual([401, [FORGED]])
  await sql`delete from api_keys where id = ${key.id}`
})

test('a revoked API key cannot be revived; with the MAC from before it is named', async () => {
  const key = await newKey()
  const [was] = await sql`select mac from api_keys where id = ${key.id}`
  expect(await use(key.text)).toBe(200)
  await revokeApiKey(service.ctx, { id: key.id, actor })
  expect(await verified(key.id)).toEqual([])
  await sql`update api_keys set revoked_at = null where id = ${key.id}`
  expect([await use(key.text), await verified(key.id)]).toEqual([401, [ENDED, FORGED]])
  await sql`update api_keys set mac = ${was?.mac} where id = ${key.id}`
  expect(await verified(key.id)).toEqual([ENDED])
  await sql`delete from api_keys where id = ${key.id}`
})

const newUser = async () => {
  const people = peopleOf(service)
  const session = await people.anonymous()
  const authenticator = createAuthenticator({ origin: PAGE })
  const { publicKey } = (await people.as(session)('/users/passkey/begin-registration')).json
  await people.as(session)('/users/passkey/finish-registration', authenticator.create(publicKey))
  const [row] = await sql<{ id: string }[]>`select id from passkeys where user_id = ${session.user_id}`
  return { authenticator, passkeyId: row?.id ?? '', userId: session.user_id, session }
}

/** A login without a user handle, as older authenticators do it: only the row then says whose passkey it is. */
const logIn = async (authenticator: Authenticator) => {
  const headers = { authorization: undefined, origin: PAGE }
  const { publicKey } = (await service.post('/users/login-with-discoverable-passkey', {}, headers)).json
  const { response, ...rest } = authenticator.get(publicKey)
  const assertion = { ...rest, response: { ...response, userHandle: '' } }
  const { status, json } = await service.post(
    '/users/verify-login',
    { passkey_credential_assertion_response: assertion },
    headers,
  )
  return { status, userId: json.user_id, code: json.code }
}

test('a passkey that somebody moved or copied to another user, or gave another key, logs nobody in and is named', async () => {
  const [thief, victim] = [await newUser(), await newUser()]
  expect(await logIn(thief.authenticator)).toMatchObject({ status: 200, userId: thief.userId })
  const refused = { status: 401, code: 'login_failed' }

  await sql`update passkeys set user_id = ${victim.userId} where id = ${thief.passkeyId}`
  expect(await logIn(thief.authenticator)).toMatchObject(refused)
  expect(await verified(thief.passkeyId)).toEqual([FORGED])
  await sql`update passkeys set user_id = ${thief.userId} where id = ${thief.passkeyId}`
  expect(await logIn(thief.authenticator)).toMatchObject({ status: 200, userId: thief.userId })

  const copy = randomUUID()
  const [own] = await sql`delete from passkeys where id = ${thief.passkeyId} returning *`
  await sql`insert into passkeys ${sql({ ...own, id: copy, user_id: victim.userId } as never)}`
  expect(await logIn(thief.authenticator)).toMatchObject(refused)
  expect(await verified(copy)).toEqual([FORGED])
  await sql`delete from passkeys where id = ${copy}`

  // The thief's credential in the victim's row.
  await sql`update passkeys set ${sql({ credential_id: own?.credential_id, public_key: own?.public_key })}
    where id = ${victim.passkeyId}`
  expect(await logIn(thief.authenticator)).toMatchObject(refused)
  expect(await verified(victim.passkeyId)).toEqual([FORGED])
  await sql`delete from passkeys where id = ${victim.passkeyId}`
})

longTest('a removed passkey that somebody puts back is named', async () => {
  const user = await newUser()
  const [row] = await sql`select * from passkeys where id = ${user.passkeyId}`
  await sql`update users set email = ${`${user.userId}@example.com`} where id = ${user.userId}`
  await sealUsers(service, sql)
  const answer = await peopleOf(service).as(user.session)('/users/passkey/remove', { id: user.passkeyId })
  expect(answer.status).toBe(200)
  expect(await verified(user.passkeyId)).toEqual([])
  await sql`insert into passkeys ${sql(row as never)}`
  expect(await verified(user.passkeyId)).toEqual([ENDED])
  await sql`delete from passkeys where id = ${user.passkeyId}`
})

test('a key of access tokens that somebody inserted or exchanged signs nothing, is not published, and is named', async () => {
  const victim = await peopleOf(service).anonymous()
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const { x = '' } = await exportJWK(publicKey)
  const [real] = await sql`select * from token_keys`
  const tokenOf = (kid: string) =>
    new SignJWT({ session_id: victim.id })
      .setProtectedHeader({ alg: 'EdDSA', typ: 'JWT', kid })
      .setIssuer(service.ctx.config.publicBaseUrl)
      .setAudience(service.project.projectId)
      .setSubject(victim.user_id)
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(privateKey)
  /** What a process says that reads the keys now: of the thief's token, and of the victim's. */
  const statusAndCode = async (kid: string) => {
    const tokens = createAccessTokens(service.ctx)
    const verified = [await tokens.verify(await tokenOf(kid)), await tokens.verify(victim.access_token)]
    const { keys } = await tokens.jwks()
    return { verified: verified.map((each) => each?.sessionId), published: keys.map((key) => key.x) }
  }
  const own = { verified: [undefined, victim.id], published: [real?.public_key] }
  const id = await calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x })
  await sql`insert into token_keys ${sql({ ...real, id, public_key: x } as never)}`
  expect([await statusAndCode(id), await verified(id)]).toEqual([own, [FORGED]])
  await sql`delete from token_keys where id = ${id}`

  await sql`update token_keys set public_key = ${x} where id = ${real?.id}`
  expect([await statusAndCode(real?.id), await verified(real?.id)]).toEqual([
    { verified: [undefined, undefined], published: [] },
    [FORGED],
  ])
  await sql`update token_keys set public_key = ${real?.public_key} where id = ${real?.id}`
  expect([await statusAndCode(id), await verified(real?.id)]).toEqual([own, []])
})
