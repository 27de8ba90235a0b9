// Each attack is recorded, over real HTTP: in the audit, in the metrics and in the operator's list. No record has a
// secret. And who controls an API's process writes no row that tells of a vault.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { newApiKey } from '../../src/identity/auth/api-key.ts'
import { addOrigins, removeOrigins, setPasskeyDomain } from '../../src/identity/projects/settings.ts'
import { verifyServiceRows } from '../../src/operators/audit/verify-service-rows.ts'
import { createProject } from '../../src/operators/projects.ts'
import { createVaultAudit } from '../../src/platform/audit/audit.ts'
import { runCli } from '../support/cli.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { programPath } from '../support/programs.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { sealSessions } from '../users/own-rows.ts'

const PIN = '493817'
const WRONG_PIN = '518370'
const WRONG_SECRET = 'marked-wrong-secret'
const METRICS_TOKEN = 'marked-metrics-token'
const FROM = '198.51.100.7'

const service = await shared(
  startService({
    rpcUrls: { Ethereum: 'http://127.0.0.1:1' },
    variables: {
      DEVNET: 'false',
      TRUSTED_PROXIES: '1',
      METRICS_TOKEN,
      WRONG_PINS_PER_HOUR: '7',
      WRONG_SECRETS_PER_MINUTE: '2',
    },
  }),
)
const { sql } = service.database

const at = (address: string) => ({ 'x-forwarded-for': address })
const stranger = (address = FROM) => ({ ...at(address), authorization: undefined })
const withBearer = (authorization: string) => ({ ...at(FROM), authorization })
const look = (headers: Record<string, string | undefined>) => service.call('/wallets?network=Ethereum', { headers })

const flush = () => Promise.all([service.ctx.securityEvents.flush(), service.flushRefusals()])

/** Runs `attack` and returns the audit rows that it caused: those about the same as one. */
const trailOf = async (attack: () => Promise<unknown>) => {
  await flush()
  const [before] = await sql`select coalesce(max(id), 0) as id from audit`
  await attack()
  await flush()
  const rows = await sql`
    select action, actor, subject, project_id, details - '{count,since,until}'::text[] as details,
      sum((details->>'count')::int)::text as count
    from audit where id > ${before?.id} and details ? 'count' group by 1, 2, 3, 4, 5 order by min(id)`
  return rows.map(({ action, actor, subject, project_id, details, count }) => ({
    action,
    actor,
    subject,
    ofProject: project_id === service.project.projectId,
    ...details,
    count,
  }))
}

const keyId = async () =>
  (await sql`select id from api_keys where project_id = ${service.project.projectId} limit 1`)[0]?.id
const exportWith = (address: string, credential: object) =>
  service.post('/wallets/export', { network: 'Ethereum', address, ...credential }, at(FROM))

const login = async () => (await service.post('/users/login-anonymously', {}, stranger('203.0.113.1'))).json

describe('the audit records', () => {
  test('wrong PINs, the lock of the owner, and tries at the locked owner', async () => {
    const ownerId = randomUUID()
    const { address } = await service.newWallet({ network: 'Ethereum', pin: PIN, ownerId })
    const by = { actor: `api_key:${await keyId()}`, subject: ownerId, ofProject: true, from: FROM }
    const trail = await trailOf(async () => {
      for (let tries = 0; tries < 7; tries += 1) await exportWith(address, { user_pin: WRONG_PIN })
    })
    expect(trail).toEqual([
      { ...by, action: 'wrong_pin', count: '4' },
      { ...by, action: 'owner_locked', count: '1' },
      { ...by, action: 'locked_owner_tried', count: '2' },
    ])
  })

  test('one PIN tried on many owners, and that the caller’s limit was reached', async () => {
    const owners = Array.from({ length: 3 }, () => randomUUID())
    const wallets = await Promise.all(
      owners.map((ownerId) => service.newWallet({ network: 'Ethereum', pin: PIN, ownerId })),
    )
    const trail = await trailOf(async () => {
      for (const { address } of wallets) await exportWith(address, { user_pin: WRONG_PIN })
    })
    // The limit is seven, and five were wrong in the test before.
    expect(trail.map(({ action, subject }) => [action, subject])).toEqual([
      ['wrong_pin', owners[0]],
      ['wrong_pin', owners[1]],
      ['wrong_pins_spent', owners[2]],
    ])
  })

  test('wrong developer secrets', async () => {
    const { address } = await service.newWallet({ network: 'Ethereum' })
    const { projectId } = service.project
    const by = { actor: `api_key:${await keyId()}`, subject: projectId, ofProject: true, from: FROM }
    const trail = await trailOf(async () => {
      for (let tries = 0; tries < 3; tries += 1) await exportWith(address, { developer_secret: WRONG_SECRET })
    })
    expect(trail).toEqual([
      { ...by, action: 'wrong_developer_secret', count: '2' },
      { ...by, action: 'wrong_secrets_spent', count: '1' },
    ])
  })

  test('malformed bearer tokens, unknown keys and forged tokens, but no requests without a bearer token', async () => {
    const { access_token: token } = await login()
    const forged = `${token.slice(0, -4)}AAAA`
    const by = { actor: 'stranger', subject: FROM, ofProject: true, from: FROM, count: '2' }
    const trail = await trailOf(async () => {
      for (let tries = 0; tries < 2; tries += 1) {
        await look(withBearer('Basic YWxpY2U6c2VjcmV0'))
        await look(withBearer(`Bearer ${newApiKey().text}`))
        await look(withBearer(`Bearer ${forged}`))
        await look(stranger())
      }
    })
    expect(trail).toEqual([
      { ...by, action: 'bearer_malformed' },
      { ...by, action: 'api_key_unknown' },
      { ...by, action: 'access_token_forged' },
    ])
  })

  test('a key of another project, and a token for another user’s session', async () => {
    const other = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
    const [mine, theirs] = [await login(), await login()]
    const { token } = await service.ctx.tokens.issue({
      projectId: service.project.projectId,
      userId: theirs.user_id,
      sessionId: mine.id,
      email: null,
      hasPasskeys: false,
      signInWallet: null,
      sessionExpiresAt: new Date(Date.now() + 60_000),
    })
    const trail = await trailOf(async () => {
      await look(withBearer(`Bearer ${other.apiKey}`))
      await look(withBearer(`Bearer ${token}`))
      // A token of an ended session is no attack.
      await service.post('/users/logout', {}, { ...at(FROM), authorization: `Bearer ${mine.access_token}` })
      await look(withBearer(`Bearer ${mine.access_token}`))
    })
    expect(
      trail.map(({ action, actor, subject, ofProject }) => [action, actor.slice(0, 8), subject, ofProject]),
    ).toEqual([
      ['project_mismatch', 'api_key:', service.project.projectId, true],
      ['session_mismatch', 'stranger', mine.id, true],
    ])
  })

  test('failed logins, separately for each login method', async () => {
    const proofs = [
      { user_id: randomUUID(), verification_code: '000000' },
      { siwe_message: 'marked message', signature: '0x00' },
      { session_challenge_code: 'AAAA-AAAA-AAAA-AAAA-AAAA-AAAA-AAAA' },
      {
        passkey_credential_assertion_response: {
          id: 'bWFya2VkIHBhc3NrZXk',
          type: 'public-key',
          response: { clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0', authenticatorData: 'oA', signature: 'oA' },
        },
      },
    ]
    const trail = await trailOf(async () => {
      for (const proof of proofs) {
        expect((await service.post('/users/verify-login', proof, stranger())).json.code).toBe('login_failed')
      }
    })
    const by = { action: 'login_failed', actor: 'stranger', subject: FROM, ofProject: true, from: FROM, count: '1' }
    expect(trail).toEqual(['email_code', 'wallet', 'session_challenge', 'passkey'].map((way) => ({ ...by, way })))
  })

  longTest('logins that are tried too often', async () => {
    const trail = await trailOf(async () => {
      for (let tries = 0; tries < 32; tries += 1) {
        const wallet = `0x${String(tries).padStart(40, '0')}`
        await service.post('/users/login-with-wallet', { sign_in_wallet: wallet }, stranger('198.51.100.99'))
      }
    })
    const from = '198.51.100.99'
    const by = { actor: 'stranger', subject: from, from, ofProject: false }
    expect(trail).toEqual([{ ...by, action: 'login_throttled', limit: 'begin from', count: '2' }])
  })

  test('refresh tokens that are forged or used again', async () => {
    const session = await login()
    const refresh = (refresh_token: string) =>
      service.post('/users/refresh-token', { session_id: session.id, refresh_token }, stranger())
    const trail = await trailOf(async () => {
      expect((await refresh(`${session.refresh_token.slice(0, -4)}AAAA`)).json.code).toBe('session_ended')
      expect((await refresh(session.refresh_token)).status).toBe(200)
      await sql`update sessions set refreshed_at = refreshed_at - interval '1 minute' where id = ${session.id}`
      await sealSessions(service, sql)
      expect((await refresh(session.refresh_token)).json.code).toBe('session_ended')
    })
    const by = { actor: 'stranger', subject: session.id, from: FROM, count: '1' }
    expect(trail).toEqual([
      { ...by, action: 'refresh_token_forged', ofProject: true },
      { ...by, action: 'refresh_token_reused', ofProject: true },
    ])
  })

  test('pages of origins that the project does not allow, without repeating a text that is no origin', async () => {
    const trail = await trailOf(async () => {
      for (const origin of ['https://evil.example', 'https://evil.example', 'marked origin <script>']) {
        await look({ ...at(FROM), origin })
      }
    })
    const by = { action: 'origin_refused', actor: 'stranger', subject: FROM, ofProject: true, from: FROM }
    expect(trail).toEqual([
      { ...by, origin: 'https://evil.example', count: '2' },
      { ...by, origin: 'none', count: '1' },
    ])
  })

  test('a wrong metrics token, but not a missing one', async () => {
    const trail = await trailOf(async () => {
      for (const headers of [withBearer('Bearer marked-wrong-token'), stranger()]) {
        expect((await service.call('/metrics', { headers })).status).toBe(401)
      }
    })
    const by = { actor: 'stranger', subject: FROM, from: FROM, ofProject: false, count: '1' }
    expect(trail).toEqual([{ ...by, action: 'metrics_token_wrong' }])
  })

  test('changes of origins and passkey domains by an operator, with the old and the new value', async () => {
    const { projectId } = await createProject(service.ctx, { name: 'Pages', actor: 'operator' })
    await addOrigins(service.ctx, { projectId, origins: ['https://a.example.com', 'https://b.example.com'] })
    await setPasskeyDomain(service.ctx, { projectId, rpId: 'example.com' })
    await removeOrigins(service.ctx, { projectId, origins: ['https://a.example.com', 'https://b.example.com'] })
    const rows =
      await sql`select action, actor, details from audit where subject = ${projectId} and action like '%changed' order by id`
    const both = 'https://a.example.com https://b.example.com'
    expect(rows.map((row) => ({ ...row }))).toEqual([
      { action: 'origins_changed', actor: 'operator', details: { origins: both, before: '' } },
      { action: 'passkey_domain_changed', actor: 'operator', details: { domain: 'example.com', before: '' } },
      { action: 'origins_changed', actor: 'operator', details: { origins: '', before: both } },
    ])
  })
})

test('hundreds of attacks make a few rows that count each of them, and the audit still verifies', async () => {
  const attacks = isLong ? 300 : 90
  const trail = await trailOf(async () => {
    const requests = Array.from({ length: attacks }, (_, index) =>
      index % 3 === 0
        ? look(withBearer(`Bearer ${newApiKey().text}`))
        : look({ ...withBearer('Bearer a.b.c'), ...at(`198.51.100.${index % 5}`) }),
    )
    for (const answer of await Promise.all(requests)) expect(answer.status).toBe(401)
  })
  expect(trail.length).toBe(6)
  expect(trail.reduce((total, { count }) => total + Number(count), 0)).toBe(attacks)
  const { ctx } = service
  const { broken, rows } = await verifyServiceRows(ctx, { chain: null, onProgress: () => {} })
  expect(broken).toEqual([])
  expect(rows).toBeGreaterThan(20)
  expect((await ctx.vault.verifyAudit({ chain: null, heads: [] })).broken).toEqual([])
})

test('the metrics count each kind, with 0 for kinds that never occurred', async () => {
  // All of /metrics, as test/metrics/ reads it, is collected from the whole database.
  const { values } = await service.ctx.metrics.securityEvents.get()
  const countOf = (kind: string) => values.find(({ labels }) => labels.kind === kind)?.value
  const [row] =
    await sql`select sum((details->>'count')::int)::int as sum from audit where action = 'access_token_forged'`
  expect(countOf('access_token_forged')).toBe(row?.sum)
  expect([countOf('owner_locked'), countOf('wrong_email_code')]).toEqual([1, 0])
})

describe('an operator', () => {
  const cli = (...args: readonly string[]) =>
    runCli(['audit', 'security', ...args], { ...service.variables, VAULT_SOCKET: '' })

  test('can list the events of all projects or one, and of all kinds or one', async () => {
    const all = JSON.parse((await cli('--json')).output)
    expect(new Set(all.map(({ action }: { action: string }) => action)).size).toBeGreaterThan(8)
    expect(all.every(({ action }: { action: string }) => !action.endsWith('_created'))).toBe(true)
    const { projectId } = service.project
    const locked = await cli('--project', projectId, '--kind', 'owner_locked')
    expect(locked).toMatchObject({ exitCode: 0, errors: '' })
    expect(locked.output).toMatch(
      new RegExp(
        `^\\S+Z  owner_locked  1 since \\S+Z  [0-9a-f-]{36}  by api_key:[0-9a-f-]{36}  from ${FROM}  project ${projectId}\\n$`,
      ),
    )
    expect((await cli('--project', randomUUID())).errors).toBe('There is no such project.\n')
    expect((await cli('--kind', 'nothing')).exitCode).toBe(2)
  }, 30_000)
})

test('no row contains a PIN, secret, token or message', async () => {
  const rows = await sql`select to_jsonb(audit)::text as text from audit`
  const text = rows.map((row) => row.text).join('\n')
  for (const mark of [PIN, WRONG_PIN, WRONG_SECRET, 'YWxpY2U6c2VjcmV0', 'marked', 'Bearer', 'eyJ', 'sk_']) {
    expect(text).not.toContain(mark)
  }
})

longTest(
  'a process that is stopped writes what it has counted',
  async () => {
    const child = Bun.spawn(['bun', '--no-env-file', programPath('src/main/api')], {
      env: { PATH: process.env.PATH ?? '', ...service.variables, PORT: '0', LOG_LEVEL: 'info' },
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const lines: string[] = []
    const decoder = new TextDecoder()
    let isTold = false
    const [before] = await sql`select coalesce(max(id), 0) as id from audit`
    for await (const chunk of child.stdout) {
      lines.push(decoder.decode(chunk))
      const url = /"url":"([^"]+)"/.exec(lines.join(''))?.[1]
      if (url === undefined || isTold) continue
      isTold = true
      await fetch(`${url}/wallets?network=Ethereum`, {
        headers: { authorization: 'Bearer a.b.c', 'x-walletkit-project-id': service.project.projectId },
      })
      child.kill('SIGTERM')
    }
    expect(await child.exited).toBe(0)
    const rows = await sql`select action, details->>'count' as count from audit where id > ${before?.id}`
    expect(rows.map((row) => ({ ...row }))).toEqual([{ action: 'access_token_forged', count: '1' }])
    expect(lines.join('')).toMatch(/"level":40.*"securityEvent":\{"kind":"access_token_forged".*"msg":"security event"/)
  },
  30_000,
)

describe('with full control of the API process an audit row', () => {
  const actions = ['transaction_signed', 'control_shared', 'policy_revoked', 'wrong_pin', 'owner_locked'] as const
  test.each(someOf(actions, 5))('with the action %s that was written by hand is named by the vault', async (action) => {
    for (const key of [service.ctx.sealer, service.ctx.identity]) {
      const made = await createProject(service.ctx, { name: 'Told', actor: 'operator' })
      const forger = createVaultAudit({ db: service.ctx.db, deploymentKey: key, now: () => new Date() })
      const wallet = randomUUID()
      await forger.commit({ projectId: made.projectId, actor: 'user:x', action, subject: wallet, details: {} })
      const { broken } = await service.ctx.vault.verifyAudit({ chain: made.projectId, heads: [] })
      expect(broken).toMatchObject([
        { chain: made.projectId, trouble: expect.stringContaining('is not as it was written') },
      ])
    }
  })

  test('of its own kind is valid, but not with an action of the vault', async () => {
    const act = { actor: 'operator', action: 'token_list_imported', subject: 'x', details: {} } as const
    const { projectId: chain } = await createProject(service.ctx, { name: 'Told', actor: 'operator' })
    await service.ctx.audit.commit({ ...act, projectId: chain })
    const verified = async () => (await service.ctx.vault.verifyAudit({ chain, heads: [] })).broken.length
    expect(await verified()).toBe(0)
    await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`
      await tx`update audit set action = 'wallet_created' where project_id = ${chain} and action = 'token_list_imported'`
    })
    expect(await verified()).toBe(1)
  })
})
