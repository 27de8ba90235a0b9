// IDENTITY_KEY is changed under traffic: what users and servers have goes on, what somebody forged does not, and the
// earlier key is worth nothing afterwards.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { addAbi } from '../../src/assets/abis/added.ts'
import { newApiKey } from '../../src/identity/auth/api-key.ts'
import { apiKeyMac, operatorPasskeyMac } from '../../src/identity/auth/row-macs.ts'
import { openClientSecret } from '../../src/identity/issuers/client-secret.ts'
import { addIssuer, USUAL_ALGORITHMS } from '../../src/identity/issuers/issuers.ts'
import { refreshTokenOf } from '../../src/identity/users/session.ts'
import { inviteOperator } from '../../src/operators/console/operators.ts'
import { openSealer } from '../../src/platform/sealing/sealer.ts'
import { runCli, runCliProcess, startCli } from '../support/cli.ts'
import { AUDIENCE, startIssuer, type TestIssuer } from '../support/issuer.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { DONE, peopleOf, type Session, statusAndCode } from '../users/people.ts'
import { keyFile } from '../vault/support.ts'
import { at, createTraffic, NETWORK, PIN, startWorld, type World } from './keys-world.ts'

const ROTATE = ['keys', 'rotate-identity']
const EMAIL = 'somebody@example.com'

let world: World
let sql: Sql
let session: Session
/** It is not refreshed before the key was changed. */
let idle: Session
let address: string
let issuer: TestIssuer
/** An API that was started before the change, with both keys. */
let running: string
/** An API that was started after the change, with the next key alone. */
let restarted: string

beforeAll(async () => {
  world = await startWorld('IDENTITY_KEY')
  sql = postgres(world.service.database.url, { max: 2, onnotice: () => {} })
  const people = peopleOf(world.service)
  session = await people.logIn(EMAIL)
  idle = await people.logIn(EMAIL)
  expect(statusAndCode(await people.addPasskey(session))).toEqual(DONE)
  await addOperator()
  issuer = await startIssuer()
  const { projectId } = world.service.project
  const claims = { audience: AUDIENCE, audienceClaim: 'aud', userClaim: 'sub', algorithms: USUAL_ALGORITHMS }
  const client = { clientId: 'strongroom', clientSecret: 'a-client-secret' }
  const own = { projectId, name: 'own', issuer: issuer.issuer, actor: 'operator', ...claims, ...client }
  await addIssuer(world.service.ctx, own)
  expect(await lookByIssuer(world.service.baseUrl)).toBe(200)
  const text = JSON.stringify([{ type: 'function', name: 'open', inputs: [{ name: 'door', type: 'uint8' }] }])
  await addAbi(world.service.ctx, { text, fallbackName: 'abi', binding: null, actor: 'operator' })
  ;({ address } = await world.service.newWallet({ network: NETWORK, pin: PIN }))
}, 60_000)
afterAll(async () => {
  await issuer.close()
  await sql.end()
  await world.close()
})

/** The status of a call with a token of the project's own issuer. */
const lookByIssuer = async (url: string): Promise<number> => {
  const headers = { authorization: `Bearer ${await issuer.token()}`, 'x-walletkit-token-source': 'own' }
  const { service } = world
  return (await service.as(service.project, url).call(`/wallets?network=${NETWORK}`, { headers })).status
}

/** With a passkey, and a link that nobody has used. */
const addOperator = async () => {
  const { service } = world
  await inviteOperator(service.ctx, { name: 'anna', role: 'operator', actor: 'operator' })
  const facts = {
    operatorName: 'anna',
    credentialId: randomBytes(16),
    publicKey: randomBytes(77),
    backupEligible: false,
  }
  await sql`insert into operator_passkeys ${sql({
    operator_name: facts.operatorName,
    credential_id: facts.credentialId,
    public_key: facts.publicKey,
    sign_count: 0,
    backup_eligible: facts.backupEligible,
    mac: Buffer.from(operatorPasskeyMac(service.ctx.identity).of(facts)),
  })}`
  await service.ctx.audit.commit({
    projectId: null,
    actor: 'operator:anna',
    action: 'operator_passkey_added',
    subject: 'anna',
    details: { credential_id: facts.credentialId.toString('base64url') },
  })
}

const boundKey = async (): Promise<string> => {
  const [row] = await sql<{ id: string }[]>`select identity_key_id as id from deployment`
  return row?.id ?? ''
}

const verify = async (keys: keyof World['sets']) => {
  const { exitCode, output } = await runCli(['audit', 'verify', '--json'], { ...world.sets[keys] })
  return { exitCode, ...JSON.parse(output) }
}

/** The client secret of the issuer, as a process with these variables opens it. */
const secretUnder = async ({ IDENTITY_KEY = '' }: Readonly<Record<string, string>>) => {
  const [row] =
    await sql`select id, project_id as "projectId", issuer, client_id as "clientId", sealed_secret as "sealedSecret"
    from issuers`
  return openClientSecret(await openSealer({ name: 'IDENTITY_KEY', spec: IDENTITY_KEY }), row as never)
}

const idempotent = (url: string) =>
  at(world.service, url).post(
    '/wallets',
    { network: NETWORK, name: 'Once', control_mode: 'user', user_pin: PIN },
    { 'idempotency-key': 'one' },
  )

test(`goes on for everybody${isLong ? ', also when the command is killed,' : ''} and refuses what was forged`, async () => {
  const { service } = world
  const forged = await service.newWallet({ network: NETWORK, pin: PIN })
  await sql`update wallets set address = '0x000000000000000000000000000000000000dEaD' where id = ${forged.id}`
  const old = await boundKey()
  expect((await world.asOwner(ROTATE, 'presentFirst')).errors).toContain('needs the next key as IDENTITY_KEY')
  const early = await runCli(ROTATE, { ...world.sets.next, DATABASE_URL: service.database.url })
  expect(early.errors).toContain('The identity key does not fit this database')

  const first = isLong ? await world.startApi('presentFirst') : { url: service.baseUrl, stop: async () => {} }
  const second = await world.startApi('nextFirst')
  const traffic = createTraffic(service, { session, address })
  const begun = await idempotent(first.url)
  for (const { url } of isLong ? [first, second, first] : [first, second]) await traffic.round(url)
  // A code that one mailed is right at the other.
  const { user_id } = (
    await at(service, first.url).post('/users/login-with-email', { email: EMAIL }, { authorization: undefined })
  ).json
  const code = await peopleOf(service).codeTo(EMAIL)
  const proof = { user_id, verification_code: code }
  const there = at(service, second.url)
  const again = await there.post('/users/verify-login', proof, { authorization: undefined })
  expect([again.status, again.json.user_id]).toEqual([200, session.user_id])
  await first.stop()
  running = second.url

  if (isLong) {
    // Killed with the rows of users changed, and those of wallets not.
    await using release = await holdTable(sql, 'wallets')
    const child = startCli(ROTATE, { ...world.sets.nextFirst, DATABASE_URL: service.database.url })
    await untilWaiting(sql)
    child.kill('SIGKILL')
    await child.exited
    await traffic.round(second.url)
    await release()
    expect(await boundKey()).toBe(old)
    await traffic.round(second.url)
  }

  const run = isLong ? runCliProcess : runCli
  let isOver = false
  const rotating = run(ROTATE, { ...world.sets.nextFirst, DATABASE_URL: service.database.url }).finally(() => {
    isOver = true
  })
  const third = isLong ? await world.startApi('nextFirst') : second
  while (!isOver) await traffic.round(third.url)
  const { exitCode, output } = await rotating
  expect([exitCode, output]).toEqual([
    1,
    expect.stringMatching(
      new RegExp(`^NOT CHANGED: table wallets, row ${forged.id}, project .*: it is not as the service wrote it.\n`),
    ),
  ])
  const next = await boundKey()
  expect(next).not.toBe(old)
  const last = await world.startApi('next')
  restarted = last.url
  for (const { url } of new Set([second, third, last])) await traffic.round(url)
  expect(traffic.failures).toEqual([])

  expect(await lookByIssuer(last.url)).toBe(200)
  expect((await sql`select from users where subject = 'sub:alice'`).length).toBe(1)
  expect(await secretUnder(world.sets.next)).toEqual({ secret: 'a-client-secret' })
  expect(await secretUnder(world.sets.present)).toBeNull()
  const repeated = await idempotent(last.url)
  expect([repeated.status, repeated.text]).toEqual([200, begun.text])
  expect(statusAndCode(await peopleOf(at(service, last.url)).refresh(idle))).toEqual(DONE)

  const verified = await verify('next')
  expect(verified.callers.forged.map(({ id }: { id: string }) => id)).toEqual([forged.id])
  expect(verified.broken).toEqual([])
  expect([...(await sql`select name from operators join operator_passkeys on operator_name = name`)]).toEqual([
    { name: 'anna' },
  ])
  if (isLong) expect((await world.asOwner(ROTATE, 'next')).output).toStartWith('The database already belongs to')
}, 180_000)

test('the earlier key is refused: for a start, for rows, for tokens, and for rows of the audit', async () => {
  const { service } = world
  for (const keys of someOf(['present', 'presentFirst'] as const, 2)) {
    const refused = await runCli(
      ['api-key', 'create', '--project', service.project.projectId, '--name', 'x'],
      world.sets[keys],
    )
    expect([keys, refused.exitCode, refused.errors]).toEqual([
      keys,
      1,
      expect.stringContaining('The identity key does not fit this database'),
    ])
  }
  // A process that still runs with it answers 503.
  expect((await service.call('/readyz')).status).toBe(503)
  const stale = await service.get('/wallets', { network: NETWORK })
  expect(statusAndCode(stale)).toEqual([503, 'unavailable'])

  const leaked = service.ctx.identity.own
  const { text, hash } = newApiKey()
  const facts = {
    id: randomUUID(),
    projectId: service.project.projectId,
    hash,
    scopes: ['read' as const],
    expiresAt: null,
  }
  await sql`insert into api_keys ${sql({
    id: facts.id,
    project_id: facts.projectId,
    name: 'mine',
    hash: Buffer.from(hash),
    scopes: facts.scopes,
    mac: Buffer.from(apiKeyMac(leaked).of(facts)),
  })}`
  for (const [keys, url] of [
    ['next', restarted],
    ...(isLong ? [['next, and the earlier one beside it', (await world.startApi('nextFirst')).url] as const] : []),
    ['both, since before', running],
  ] as const) {
    const thief = service.as({ ...service.project, apiKey: text }, url)
    expect([keys, (await thief.get('/wallets', { network: NETWORK })).status]).toEqual([keys, 401])
  }
  await sql`delete from api_keys where id = ${facts.id}`

  // The present token of a session that was refreshed after the change.
  const [{ generation } = { generation: 0 }] = await sql<{ generation: number }[]>`
    select generation from sessions where id = ${session.id}`
  const refresh_token = refreshTokenOf(leaked, { id: session.id, generation })
  const refreshed = await peopleOf(at(service, running)).refresh({ ...session, refresh_token })
  expect(statusAndCode(refreshed)).toEqual([401, 'session_ended'])

  const row = {
    projectId: null,
    at: new Date(),
    actor: 'operator',
    action: 'abi_added',
    subject: 'x',
    details: {},
  } as const
  const mac = leaked.authenticator('audit')(['', row.at.toISOString(), row.actor, row.action, row.subject])
  const [made] = await sql<{ id: string }[]>`insert into audit (at, actor, action, subject, details, mac)
    values (${row.at}, ${row.actor}, ${row.action}, ${row.subject}, '{}', ${Buffer.from(mac)}) returning id`
  const { broken } = await verify('next')
  expect(broken.map((each: { audit_id: string }) => each.audit_id)).toEqual([made?.id])
}, 60_000)

longTest(
  'can be changed again, and what the first key wrote in the audit stays valid',
  async () => {
    const { service, sets } = world
    const third = keyFile(randomBytes(32))
    try {
      const before = (await verify('next')).broken
      const keys = { ...sets.next, IDENTITY_KEY: third.spec, IDENTITY_KEY_OTHER: sets.next.IDENTITY_KEY ?? '' }
      const done = await runCli(ROTATE, { ...keys, DATABASE_URL: service.database.url })
      expect(done.output).toContain('The database belongs to key:')
      const { output } = await runCli(['audit', 'verify', '--json'], { ...keys, IDENTITY_KEY_OTHER: '' })
      expect(JSON.parse(output).broken).toEqual(before)
      const earliest = { ...keys, IDENTITY_KEY_OTHER: sets.present.IDENTITY_KEY ?? '' }
      expect((await runCli(ROTATE, { ...earliest, DATABASE_URL: service.database.url })).output).toStartWith(
        'The database already belongs to',
      )
    } finally {
      third.remove()
    }
  },
  60_000,
)
