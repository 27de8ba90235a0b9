// A database that answers to writes and undoes them, by triggers of its owner: what decides who may do something is
// then refused, and nothing is handed out.

import { describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import type { Tx } from '../../db/client.ts'
import { createEnded, endedName } from '../../db/deciding-rows.ts'
import * as approvals from '../../db/queries/approvals.ts'
import * as issuers from '../../db/queries/issuers.ts'
import * as rotation from '../../db/queries/key-rotation.ts'
import * as operators from '../../db/queries/operators.ts'
import * as sessions from '../../db/queries/sessions.ts'
import * as secretChanges from '../../db/queries/users.ts'
import { isReferenceMissing } from '../../db/trouble.ts'
import { NotWritten } from '../../db/written.ts'
import { createApiKey, revokeApiKey } from '../../src/identity/api-keys/api-keys.ts'
import { rotateTokenKeys } from '../../src/identity/auth/access-token.ts'
import { createAuthenticate } from '../../src/identity/auth/authenticate.ts'
import { type Limit, throttle } from '../../src/identity/auth/throttle.ts'
import { addOrigins } from '../../src/identity/projects/settings.ts'
import { issueNonce, readNonce } from '../../src/identity/users/nonces.ts'
import { refreshToken } from '../../src/identity/users/session.ts'
import { createConsoleCtx } from '../../src/main/console-context.ts'
import { hashOf, inviteOperator, removeOperator } from '../../src/operators/console/operators.ts'
import { beginSession, endSession, readToken, sessionOf } from '../../src/operators/console/session.ts'
import { readConfig } from '../../src/platform/config.ts'
import { disobediencesOf, type Write, whileDisobeying } from '../support/disobedience.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { type Answer, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { until } from '../support/until.ts'
import { createAuthenticator } from '../users/authenticator.ts'
import { peopleOf, type Session } from '../users/people.ts'

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const people = peopleOf(service)
const consoleCtx = await createConsoleCtx({
  config: readConfig({ ...service.variables, DATABASE_URL: service.database.consoleUrl, CONSOLE_PORT: '1' }, 'console'),
  process: 'console',
})
afterTests(() => consoleCtx.close({ timeoutSeconds: 5 }))
const { ctx, project, database } = service
const { projectId } = project
const { db } = ctx
const { sql } = database
const actor = 'operator'
const PAGE = 'http://localhost:5173'
const NOBODY = { authorization: undefined }
const FROM_PAGE = { ...NOBODY, origin: PAGE }

/** `done`, or the code of the error. */
const over = async (answer: Promise<Answer>): Promise<string> => {
  const { status, json, text } = await answer
  return status === 200 ? 'done' : (json?.code ?? text)
}

/** Of an operator's command, or of a query alone: `done`, or the error. */
const ran = async (command: () => Promise<unknown>): Promise<string> => {
  try {
    await command()
    return 'done'
  } catch (error) {
    // Or a foreign key found it.
    return error instanceof NotWritten || isReferenceMissing(error) ? 'NotWritten' : String(error)
  }
}

type Act = {
  readonly name: string
  /** What the caller is answered, if that says as little as to a stranger. */
  readonly mayAnswer?: string
  readonly writes: readonly (readonly [table: string, write: Write])[]
  /** Prepares everything, and returns the act. */
  readonly prepare: () => Promise<() => Promise<string>>
  /** Disobediences that do no harm here. */
  readonly allows?: readonly string[]
}

const newName = () => randomBytes(8).toString('hex')
const newEmail = () => `${newName()}@example.com`

const mailCode = async (email: string) => {
  const { user_id } = (await service.post('/users/login-with-email', { email }, NOBODY)).json
  return { user_id, verification_code: await people.codeTo(email) }
}

const withPasskey = async () => {
  const session = await people.logIn(newEmail())
  const authenticator = createAuthenticator({ origin: PAGE })
  const { publicKey } = (await people.as(session)('/users/passkey/begin-registration')).json
  const { id } = (await people.as(session)('/users/passkey/finish-registration', authenticator.create(publicKey))).json
  return { session, authenticator, id }
}

const prove = (proof: object) => service.post('/users/verify-login', proof, FROM_PAGE)

const newKey = () => createApiKey(ctx, { projectId, name: 'Key', scopes: ['read'], expiresAt: null, actor })

const newOperator = async () => {
  const name = newName()
  const secret = await inviteOperator(ctx, { name, role: 'viewer', actor })
  return { name, secret }
}

const newWebhook = async () =>
  (await service.post('/webhooks', { url: 'https://hooks.example.com/', email: 'hooks@example.com' })).json as {
    readonly id: string
  }

const LOGINS: readonly Act[] = [
  {
    name: 'an anonymous login',
    writes: [
      ['users', 'insert'],
      ['sessions', 'insert'],
    ],
    prepare: async () => () => over(service.post('/users/login-anonymously', {}, NOBODY)),
  },
  {
    name: 'a refresh',
    writes: [['sessions', 'update']],
    mayAnswer: 'session_ended',
    prepare: async () => {
      const session = await people.anonymous()
      return () => over(people.refresh(session))
    },
  },
  {
    name: 'a refresh token that was used',
    writes: [['sessions', 'update']],
    prepare: async () => {
      const session = await people.anonymous()
      const next = (await people.refresh(session)).json as Session
      await people.refresh(next)
      return () => over(people.refresh(session))
    },
  },
  {
    name: 'a logout',
    writes: [['sessions', 'update']],
    prepare: async () => {
      const session = await people.anonymous()
      return () => over(people.as(session)('/users/logout'))
    },
  },
  {
    name: 'a logout everywhere',
    writes: [['sessions', 'update']],
    prepare: async () => {
      const email = newEmail()
      const [, session] = [await people.logIn(email), await people.logIn(email)]
      return () => over(people.as(session)('/users/sessions/end'))
    },
  },
  {
    name: 'a mailed code',
    writes: [
      ['email_codes', 'insert'],
      ['mails', 'insert'],
    ],
    prepare: async () => () => over(service.post('/users/login-with-email', { email: newEmail() }, NOBODY)),
  },
  {
    name: 'a mailed code in place of another',
    writes: [['email_codes', 'update']],
    prepare: async () => {
      const email = newEmail()
      await mailCode(email)
      return () => over(service.post('/users/login-with-email', { email }, NOBODY))
    },
  },
  {
    name: 'a mailed code that is used',
    writes: [['email_codes', 'delete']],
    prepare: async () => {
      const proof = await mailCode(newEmail())
      return () => over(prove(proof))
    },
  },
  {
    name: 'an added e-mail address',
    writes: [['users', 'update']],
    prepare: async () => {
      const [session, email] = [await people.anonymous(), newEmail()]
      await people.as(session)('/users/add-email', { email })
      const body = { verification_code: await people.codeTo(email) }
      return () => over(people.as(session)('/users/verify-email', body))
    },
  },
  {
    name: 'a session challenge',
    writes: [['session_challenges', 'insert']],
    prepare: async () => () => over(service.post('/users/create-session-challenge', {}, NOBODY)),
  },
  {
    name: 'a completed session challenge',
    writes: [['session_challenges', 'update']],
    prepare: async () => {
      const [session, code] = [await people.anonymous(), await people.newChallenge()]
      return () => over(people.as(session)('/users/complete-session-challenge', { code }))
    },
  },
  {
    name: 'a session challenge that is used',
    writes: [['session_challenges', 'update']],
    prepare: async () => {
      const [session, code] = [await people.anonymous(), await people.newChallenge()]
      await people.as(session)('/users/complete-session-challenge', { code })
      return () => over(people.verifyChallenge(code))
    },
  },
  {
    name: 'a challenge for a passkey',
    writes: [['nonces', 'insert']],
    prepare: async () => () => over(service.post('/users/login-with-discoverable-passkey', {}, FROM_PAGE)),
  },
  {
    name: 'a new passkey',
    writes: [
      ['nonces', 'delete'],
      ['passkeys', 'insert'],
    ],
    prepare: async () => {
      const session = await people.anonymous()
      const credential = await people.newCredential(session)
      return () => over(people.as(session)('/users/passkey/finish-registration', credential))
    },
  },
  {
    name: 'a login with a passkey',
    writes: [
      ['nonces', 'delete'],
      ['passkeys', 'update'],
      ['sessions', 'insert'],
    ],
    prepare: async () => {
      const { authenticator } = await withPasskey()
      const { publicKey } = (await service.post('/users/login-with-discoverable-passkey', {}, FROM_PAGE)).json
      const assertion = authenticator.get(publicKey, { signCount: 7 })
      return () => over(prove({ passkey_credential_assertion_response: assertion }))
    },
  },
  {
    name: 'a removed passkey',
    writes: [['passkeys', 'delete']],
    prepare: async () => {
      const { session, id } = await withPasskey()
      return () => over(people.as(session)('/users/passkey/remove', { id }))
    },
  },
]

const OPERATORS: readonly Act[] = [
  {
    name: 'a new API key',
    writes: [['api_keys', 'insert']],
    prepare: async () => () => ran(newKey),
  },
  {
    name: 'a revoked API key',
    writes: [['api_keys', 'update']],
    prepare: async () => {
      const { id } = await newKey()
      return () => ran(() => revokeApiKey(ctx, { id, actor }))
    },
  },
  {
    name: "a project's settings",
    writes: [['projects', 'update']],
    prepare: async () => {
      const origins = [`https://${newName()}.example.com`]
      return () => ran(() => addOrigins(ctx, { projectId, origins }))
    },
  },
  {
    name: 'an invited operator',
    writes: [
      ['operators', 'insert'],
      ['operator_tokens', 'insert'],
    ],
    prepare: async () => () => ran(newOperator),
  },
  {
    name: 'another role of an operator',
    writes: [['operators', 'update']],
    prepare: async () => {
      const { name } = await newOperator()
      return () => ran(() => inviteOperator(ctx, { name, role: 'operator', actor }))
    },
  },
  {
    name: 'a removed operator',
    writes: [['operators', 'delete']],
    prepare: async () => {
      const { name } = await newOperator()
      return () => ran(() => removeOperator(ctx, { name, actor }))
    },
  },
  {
    name: 'a link of an operator that is used',
    writes: [['operator_tokens', 'delete']],
    prepare: async () => {
      const { secret } = await newOperator()
      return () => ran(() => db.transaction((tx) => operators.deleteToken(tx, { kind: 'link', hash: hashOf(secret) })))
    },
  },
  {
    name: 'a logout of an operator',
    writes: [['operator_tokens', 'delete']],
    prepare: async () => {
      const { name: operatorName } = await newOperator()
      const cookie = await db.transaction((tx) => beginSession(ctx, tx, { operatorName, by: 'link' }))
      const hash = hashOf(/=([^;]+)/.exec(cookie)?.[1] ?? '')
      const operator = { name: operatorName, role: 'viewer' } as const
      return () => ran(() => endSession(ctx, { operator, hash, expiresAt: new Date(), csrf: '' }))
    },
  },
  {
    name: 'a passkey of an operator, and its use',
    writes: [
      ['operator_passkeys', 'insert'],
      ['operator_passkeys', 'update'],
    ],
    prepare: async () => {
      const { name: operatorName } = await newOperator()
      const [credentialId, publicKey, mac] = [randomBytes(16), randomBytes(77), randomBytes(32)]
      const row = { credentialId, operatorName, publicKey, signCount: 1, backupEligible: true, mac }
      return () =>
        ran(() =>
          consoleCtx.db.transaction(async (tx) => {
            await operators.insertOperatorPasskey(tx, row)
            await operators.recordOperatorPasskeyUse(tx, { credentialId, signCount: 2 })
          }),
        )
    },
  },
  {
    name: 'an issuer',
    writes: [['issuers', 'insert']],
    prepare: async () => () => ran(() => db.transaction((tx) => issuers.insertIssuer(tx, newIssuer()))),
  },
  {
    name: 'a removed issuer',
    writes: [['issuers', 'delete']],
    prepare: async () => {
      const { name, ...row } = newIssuer()
      await db.transaction((tx) => issuers.insertIssuer(tx, { ...row, name }))
      return () => ran(() => db.transaction((tx) => issuers.deleteIssuer(tx, { projectId, name })))
    },
  },
  {
    name: 'the end of all sessions that began before',
    writes: [['sessions', 'update']],
    prepare: async () => {
      await people.anonymous()
      return () => ran(() => rotation.endOldSessions(db))
    },
  },
  {
    name: 'the end of all logins',
    writes: [
      ['sessions', 'update'],
      ['session_challenges', 'delete'],
      ['nonces', 'delete'],
      ['email_codes', 'delete'],
    ],
    prepare: async () => {
      await Promise.all([people.anonymous(), people.newChallenge(), mailCode(newEmail())])
      await service.post('/users/login-with-discoverable-passkey', {}, FROM_PAGE)
      return () => ran(() => db.transaction(rotation.endLogins))
    },
  },
  {
    name: 'the end of all sessions of the console',
    writes: [['operator_tokens', 'delete']],
    prepare: async () => {
      await newOperator()
      return () => ran(() => db.transaction(rotation.endConsoleSessions))
    },
  },
  {
    name: 'another key of access tokens',
    writes: [
      ['token_keys', 'update'],
      ['token_keys', 'insert'],
    ],
    prepare: async () => {
      return () => ran(() => rotateTokenKeys(ctx, new Date(Date.now() + 40 * 86_400_000)))
    },
  },
]

const newIssuer = () => ({
  id: randomUUID(),
  projectId,
  name: newName(),
  issuer: 'https://issuer.example.com',
  audience: 'app',
  audienceClaim: 'aud',
  userClaim: 'sub',
  algorithms: ['RS256'],
  clientId: null,
  sealedSecret: null,
  mac: randomBytes(32),
})

const newApproval = async () => {
  const wallet = await service.newWallet({ network: 'Ethereum' })
  const row = {
    id: randomUUID(),
    projectId,
    walletId: wallet.id,
    policyId: randomUUID(),
    askedBy: actor,
    request: '{}',
    required: 1,
    approverIds: [randomUUID()],
    expiresInSeconds: 600,
  }
  const insert = () => db.transaction((tx) => approvals.insertApproval(tx, row))
  const decide = (decision: 'approve' | 'reject') => {
    const [credentialId, clientDataJson, authenticatorData, signature] = [1, 2, 3, 4].map(() => randomBytes(16))
    if (!credentialId || !clientDataJson || !authenticatorData || !signature) throw new Error('four parts')
    const parts = { credentialId, clientDataJson, authenticatorData, signature }
    return db.transaction((tx) =>
      approvals.writeDecision(tx, { approvalId: row.id, userId: row.approverIds[0] ?? '', decision, ...parts }),
    )
  }
  return { id: row.id, insert, decide }
}

const REQUESTS: readonly Act[] = [
  {
    name: 'a request for approval',
    writes: [['approvals', 'insert']],
    prepare: async () => {
      const { insert } = await newApproval()
      return () => ran(insert)
    },
  },
  {
    name: 'an approval',
    writes: [['approval_decisions', 'insert']],
    prepare: async () => {
      const { insert, decide } = await newApproval()
      await insert()
      return () => ran(() => decide('approve'))
    },
  },
  {
    name: 'a withdrawn approval',
    writes: [['approval_decisions', 'update']],
    prepare: async () => {
      const { insert, decide } = await newApproval()
      await insert()
      await decide('approve')
      return () => ran(() => decide('reject'))
    },
  },
  {
    name: 'a rejected request',
    writes: [['approvals', 'update']],
    prepare: async () => {
      const { insert, id } = await newApproval()
      await insert()
      return () => ran(() => db.transaction((tx) => approvals.rejectApproval(tx, id)))
    },
  },
  {
    name: 'a note that a secret is being changed',
    writes: [['secret_changes', 'insert']],
    prepare: async () => () => ran(newSecretChange),
  },
  {
    name: 'the end of such a note',
    writes: [['secret_changes', 'delete']],
    prepare: async () => {
      const id = await newSecretChange()
      return () => ran(() => secretChanges.deleteSecretChange(db, id))
    },
  },
  {
    name: 'an answer to an Idempotency-Key',
    writes: [['idempotency_keys', 'insert']],
    // Without the row the request is done once more, and what it makes has the same id.
    allows: ['the written row is deleted'],
    prepare: async () => {
      const body = {
        network: 'Ethereum',
        name: 'A wallet',
        control_mode: 'developer',
        developer_secret: 'testnet-secret',
      }
      return () => over(service.post('/wallets', body, { 'idempotency-key': randomUUID() }))
    },
  },
  {
    name: 'a webhook',
    writes: [['webhook_endpoints', 'insert']],
    prepare: async () => () => over(service.post('/webhooks', { url: 'https://hooks.example.com/' })),
  },
  {
    name: 'another secret of a webhook',
    writes: [['webhook_endpoints', 'update']],
    prepare: async () => {
      const { id: webhook_id } = await newWebhook()
      return () => over(service.post('/webhooks/rotate', { webhook_id }))
    },
  },
  {
    name: 'a webhook that is switched off',
    writes: [['webhook_endpoints', 'update']],
    prepare: async () => {
      const { id: webhook_id } = await newWebhook()
      return () => over(service.post('/webhooks/update', { webhook_id, enabled: false }))
    },
  },
  {
    name: 'a removed webhook',
    writes: [['webhook_endpoints', 'delete']],
    prepare: async () => {
      const { id: webhook_id } = await newWebhook()
      return () => over(service.post('/webhooks/remove', { webhook_id }))
    },
  },
]

const newSecretChange = () =>
  secretChanges.insertSecretChange(db, { projectId, userId: randomUUID(), secret: 'pin', actor })

/** In the suite each write is undone in one way, and the next one in another. */
let undone = 0
const waysOf = (write: Parameters<typeof disobediencesOf>[0], allows: readonly string[]) => {
  const ways = disobediencesOf(write).filter(({ name }) => !allows.includes(name))
  undone += 1
  return isLong || ways.length === 0 ? ways : ways.slice((undone - 1) % ways.length).slice(0, 1)
}

/** What comes after the write comes at once or with the commit; in the suite only with it, which is harder to see. */
const timesOf = ({ when }: ReturnType<typeof disobediencesOf>[number]): readonly boolean[] => {
  if (when !== 'after') return [false]
  return isLong ? [false, true] : [true]
}

const expectRefused = async ({ writes, prepare, mayAnswer, allows = [] }: Act): Promise<void> => {
  const refusals = ['internal', 'NotWritten', mayAnswer]
  for (const [table, write] of someOf(writes, 2)) {
    for (const disobedience of waysOf(write, allows)) {
      for (const isDeferred of timesOf(disobedience)) {
        const act = await prepare()
        const outcome = await whileDisobeying(database.sql, { table, write, disobedience, isDeferred }, act)
        const label = [table, write, disobedience.name, isDeferred ? 'at the commit' : 'at once']
        expect([label, refusals.includes(outcome) ? 'refused' : outcome]).toEqual([label, 'refused'])
      }
    }
  }
}

const expectAll = (acts: readonly Act[]) => {
  for (const act of acts) {
    test(act.name, async () => {
      await expectRefused(act)
    })
  }
}

describe('a row that was ended and is put back, with its MAC, stays refused by the process that saw its end:', () => {
  test('an API key', async () => {
    const key = await newKey()
    const call = () => over(service.call('/webhooks', { headers: { authorization: `Bearer ${key.text}` } }))
    expect(await call()).toBe('done')
    const [row] = await sql`select * from api_keys where id = ${key.id}`
    await revokeApiKey(ctx, { id: key.id, actor })
    await sql`update api_keys set revoked_at = null, mac = ${row?.mac} where id = ${key.id}`
    expect(await call()).toBe('unauthorized')

    // As if another process had revoked it.
    const other = await newKey()
    const callOther = () => over(service.call('/webhooks', { headers: { authorization: `Bearer ${other.text}` } }))
    expect(await callOther()).toBe('done')
    await sql`update api_keys set revoked_at = now() where id = ${other.id}`
    expect(await callOther()).toBe('unauthorized')
    await sql`update api_keys set revoked_at = null where id = ${other.id}`
    expect(await callOther()).toBe('unauthorized')
    for (const { id } of [key, other]) {
      expect(await ran(() => revokeApiKey(ctx, { id, actor }))).toBe('done')
      const [again] = await sql`select revoked_at is not null as is_revoked, mac from api_keys where id = ${id}`
      expect(again).toEqual({ is_revoked: true, mac: null })
    }
    await ctx.securityEvents.flush()
    const told =
      await sql`select subject from audit where action = 'row_forged' and subject in (${key.id}, ${other.id})`
    expect(new Set(told.map(({ subject }) => subject))).toEqual(new Set([key.id, other.id]))
  })

  test('a session, with its refresh token', async () => {
    const session = await people.anonymous()
    const [row] = await sql`select * from sessions where id = ${session.id}`
    await people.as(session)('/users/logout')
    await sql`update sessions set ended_at = null, ended_by = null, mac = ${row?.mac} where id = ${session.id}`
    expect(await people.reach(session)).toBe(401)
    expect(await over(people.refresh(session))).toBe('session_ended')
    const ends = (tx: Tx) => sessions.endSession(tx, { session, by: 'operator' })
    expect((await db.transaction(ends))?.id).toBe(session.id)
  })

  test('a session of the console, also one of an operator who was removed', async () => {
    for (const isRemoved of [false, true]) {
      const { name } = await newOperator()
      const cookie = await consoleCtx.db.transaction((tx) =>
        beginSession(consoleCtx, tx, { operatorName: name, by: 'link' }),
      )
      const find = () =>
        sessionOf(consoleCtx, new Request('http://localhost/', { headers: { cookie: cookie.split(';')[0] ?? '' } }))
      const session = await find()
      expect(session?.operator.name).toBe(name)
      const where = sql`operator_name = ${name} and kind = 'session'`
      const [token] = await sql`select * from operator_tokens where ${where}`
      const [operator] = await sql`select * from operators where name = ${name}`
      if (isRemoved) {
        await removeOperator(ctx, { name, actor })
        expect(await find()).toBeNull()
        await sql`insert into operators ${sql(operator as never)}`
      } else if (session !== null) await endSession(consoleCtx, session)
      await sql`insert into operator_tokens ${sql(token as never)}`
      expect(await find()).toBeNull()
      await consoleCtx.securityEvents.flush()
      const told =
        await sql`select details->>'table' as of from audit where action = 'row_forged' and subject = ${name}`
      expect([...told]).toEqual([{ of: 'operator_tokens' }])
      if (session !== null) expect(await ran(() => endSession(consoleCtx, session))).toBe('done')
    }
  })

  test('a refresh token that was used', async () => {
    const session = await people.anonymous()
    const [row] = await sql`select generation, refreshed_at, expires_at, mac from sessions where id = ${session.id}`
    await people.refresh(session)
    await sql`update sessions set ${sql(row as never)} where id = ${session.id}`
    expect(await over(people.refresh(session))).toBe('session_ended')
  })

  test('a challenge for a passkey, and a passkey that was removed', async () => {
    const { session, authenticator, id } = await withPasskey()
    const { publicKey } = (await service.post('/users/login-with-discoverable-passkey', {}, FROM_PAGE)).json
    const [nonce] = await sql`select * from nonces where nonce = ${publicKey.challenge}`
    const login = (signCount: number, options: unknown) =>
      over(prove({ passkey_credential_assertion_response: authenticator.get(options as never, { signCount }) }))
    expect(await login(3, publicKey)).toBe('done')
    await sql`insert into nonces ${sql(nonce as never)}`
    expect(await login(4, publicKey)).toBe('internal')

    const [passkey] = await sql`select * from passkeys where id = ${id}`
    expect(await over(people.as(session)('/users/passkey/remove', { id }))).toBe('done')
    await sql`insert into passkeys ${sql(passkey as never)}`
    const again = (await service.post('/users/login-with-discoverable-passkey', {}, FROM_PAGE)).json.publicKey
    expect(await login(5, again)).toBe('login_failed')
    expect(await over(people.as(session)('/users/passkey/remove', { id }))).toBe('done')
  })

  test('the number of tries of a mailed code', async () => {
    const { user_id, verification_code } = await mailCode(newEmail())
    const wrong = verification_code === '000000' ? '000001' : '000000'
    expect(await over(prove({ user_id, verification_code: wrong }))).toBe('login_failed')
    await sql`update email_codes set tries = 0 where user_id = ${user_id}`
    expect(await over(prove({ user_id, verification_code }))).toBe('internal')

    for (const disobedience of disobediencesOf('update').filter(({ name }) => name.includes('old row'))) {
      const proof = await mailCode(newEmail())
      const table = 'email_codes'
      const outcome = () => whileDisobeying(sql, { table, write: 'update', disobedience }, () => over(prove(proof)))
      expect(await outcome()).toBe('internal')
    }
  })
})

test('what is over by the clock of the process admits nobody, though it is not by that of the database', async () => {
  const DAY_MS = 86_400_000
  const ahead = <Any extends typeof ctx | typeof consoleCtx>(of: Any, ms: number): Any => ({
    ...of,
    now: () => new Date(Date.now() + ms),
  })
  const expiresAt = new Date(Date.now() + 2 * DAY_MS)
  const key = await createApiKey(ctx, { projectId, name: 'Key', scopes: ['read'], expiresAt, actor })
  const headers = { authorization: `Bearer ${key.text}`, 'x-walletkit-project-id': projectId }
  const byKey = (ms: number) =>
    ran(() => createAuthenticate(ahead(ctx, ms))(new Request('http://localhost/', { headers })))
  expect([await byKey(DAY_MS), await byKey(3 * DAY_MS)]).toEqual(['done', expect.stringContaining('valid API key')])

  const session = await people.anonymous()
  const shown = { projectId, sessionId: session.id, refreshToken: session.refresh_token }
  const refresh = (ms: number) => ran(() => refreshToken(ahead(ctx, ms), shown))
  expect([await refresh(400 * DAY_MS), await refresh(0)]).toEqual([
    expect.stringContaining('not valid any more'),
    'done',
  ])

  const nonce = { projectId, kind: 'wallet', nonce: newName() } as const
  await issueNonce(ctx, { ...nonce, userId: null, target: 'a wallet', lifetimeSeconds: 300 })
  const read = async (ms: number) => (await readNonce(ahead(ctx, ms), nonce))?.nonce
  expect([await read(400_000), await read(0)]).toEqual([undefined, nonce.nonce])

  const { secret } = await newOperator()
  const link = async (ms: number) =>
    (await readToken(ahead(consoleCtx, ms), consoleCtx.db, { kind: 'link', secret })) !== null
  expect([await link(700_000), await link(0)]).toEqual([false, true])
})

longTest('a process lets through twice the tries of a throttle, whatever the database counts', async () => {
  const newLimit = (windowSeconds: number) => ({ counted: ['a test', newName()], tries: 2, windowSeconds })
  const fiveTries = async (limit: Limit, between: () => Promise<unknown> = async () => {}) => {
    const outcomes: unknown[] = []
    for (let n = 0; n < 5; n += 1) {
      outcomes.push(
        await throttle(ctx, [limit]).then(
          () => 'done',
          ({ code }) => code,
        ),
      )
      await between()
    }
    return outcomes.join(' ')
  }
  const limited = 'done done done done rate_limited'
  const reset = () => sql`delete from throttles`
  expect(await fiveTries(newLimit(900))).toBe('done done rate_limited rate_limited rate_limited')
  expect(await fiveTries(newLimit(900), reset)).toBe(limited)

  const [disobedience] = disobediencesOf('update').filter(({ name }) => name.includes('old row'))
  if (disobedience === undefined) throw new Error('the old row stays')
  const planted = { table: 'throttles', write: 'update', disobedience } as const
  expect(await whileDisobeying(sql, planted, () => fiveTries(newLimit(900)))).toBe(limited)

  // When its window is over, it lets through again.
  const short = newLimit(2)
  for (let window = 0; window < 2; window += 1) {
    await until(
      () => fiveTries(short, reset),
      (outcomes) => outcomes === limited,
    )
  }
})

longTest('what has ended is not forgotten for other rows that end often', () => {
  const ended = createEnded()
  ended.add(endedName('api_keys', ['revoked']))
  for (let at = 0; at <= 100_000; at += 1) ended.add(endedName('refresh_tokens', ['id', at]))
  const has = (table: string, key: readonly unknown[]) => ended.has(endedName(table, key))
  expect([has('refresh_tokens', ['id', 0]), has('refresh_tokens', ['id', 1])]).toEqual([false, true])
  expect(has('api_keys', ['revoked'])).toBe(true)
})

/** A context whose next answer of a prepared statement arrives when `act` is done. */
const answeredAfter = (act: () => Promise<unknown>): typeof ctx => {
  let isFirst = true
  const prepared: typeof db.prepared = async (...statement) => {
    const rows = await db.prepared<never>(...statement)
    if (isFirst) {
      isFirst = false
      await act()
    }
    return rows
  }
  return { ...ctx, db: Object.assign(Object.create(db) as typeof db, { prepared }) }
}

test('an answer that is older than the end which this process saw is read again, and no row is called forged', async () => {
  const [twice, out] = [await people.anonymous(), await people.anonymous()]
  const refresh = (session: Session, after: () => Promise<unknown>) =>
    refreshToken(answeredAfter(after), { projectId, sessionId: session.id, refreshToken: session.refresh_token })
  let first: Answer | null = null
  const second = await refresh(twice, async () => {
    first = await people.refresh(twice)
  })
  expect(second.refreshToken).toBe((first as Answer | null)?.json.refresh_token)
  await expect(refresh(out, () => people.as(out)('/users/logout'))).rejects.toMatchObject({ code: 'session_ended' })
  await ctx.securityEvents.flush()
  const told = await sql`select from audit where action = 'row_forged' and subject in (${twice.id}, ${out.id})`
  expect(told.length).toBe(0)
})

describe('a database that undoes what was written is refused:', () => {
  expectAll(LOGINS)
  expectAll(OPERATORS)
  expectAll(REQUESTS)
})
