// The operator's commands for users' sessions and for projects' webhooks, and the rotation of the keys of access
// tokens.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { decodeProtectedHeader } from 'jose'
import { createAccessTokens, rotateTokenKeys } from '../../src/identity/auth/access-token.ts'
import { exitCodeOf, runCli } from '../support/cli.ts'
import { isLong } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const NOBODY = { authorization: undefined }

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const { sql } = service.database

const cli = (...args: readonly string[]) => runCli(args, { ...service.variables, VAULT_SOCKET: '' })

const login = async () => (await service.post('/users/login-anonymously', {}, NOBODY)).json
const reaches = async ({ access_token }: { access_token: string }) =>
  (await service.call('/wallets?network=Ethereum', { headers: { authorization: `Bearer ${access_token}` } })).status
const refresh = ({ id, refresh_token }: { id: string; refresh_token: string }) =>
  service.post('/users/refresh-token', { session_id: id, refresh_token }, NOBODY)
const audited = (action: string) => sql`
  select project_id, actor, subject, details from audit where action = ${action} order by id`

describe('sessions and users', () => {
  test('sessions are listed without secrets, and revoked at once', async () => {
    const [first, second] = [await login(), await login()]
    const project = service.project.projectId
    const [listed, users, user] = await Promise.all([
      cli('sessions', 'list', '--project', project, '--user', first.user_id, '--json'),
      cli('users', 'list', '--project', project, '--json'),
      cli('users', 'show', first.user_id, '--project', project, '--json'),
    ])
    expect(JSON.parse(listed.output)).toEqual([
      {
        ...{ id: first.id, user_id: first.user_id, way: 'anonymous', ended_at: null, ended_by: null },
        ...{ address: '127.0.0.1', device: expect.any(String), created_at: first.created_at },
        ...{ refreshed_at: expect.any(String), expires_at: first.refresh_token_expires_at },
      },
    ])
    expect(JSON.parse(users.output).map(({ id }: { id: string }) => id)).toEqual([second.user_id, first.user_id])
    expect(JSON.parse(user.output)).toMatchObject({ id: first.user_id, email: null, passkeys: 0 })

    expect((await cli('sessions', 'revoke', first.id)).output).toStartWith('One session is revoked')
    expect([await reaches(first), await reaches(second)]).toEqual([401, 200])
    expect((await refresh(first)).status).toBe(401)
    expect((await cli('sessions', 'revoke', first.id)).output).toStartWith('Nothing was revoked')
    const all = await cli('sessions', 'revoke', '--user', second.user_id, '--project', project)
    expect(all.output).toStartWith('One session is revoked')
    expect(await reaches(second)).toBe(401)
    expect([...(await audited('session_revoked'))]).toEqual(
      [first, second].map(({ id, user_id }) => ({
        ...{ project_id: project, actor: 'operator', subject: id, details: { user_id } },
      })),
    )
  })

  test('bad arguments are refused with one sentence', async () => {
    const cases: [readonly string[], string][] = [
      [['sessions', 'revoke', randomUUID(), '--user', randomUUID(), '--project', randomUUID()], 'name one session'],
      [['sessions', 'revoke', '--user', randomUUID()], 'name one session, or give --user and --project'],
      [['sessions', 'revoke', randomUUID()], 'There is no session with this id.'],
      [['sessions', 'list', '--project', randomUUID()], 'There is no such project.'],
      [['sessions', 'replace-keys'], 'this ends every access token of every project; confirm it with --yes'],
    ]
    const answers = await Promise.all(cases.map(([args]) => cli(...args)))
    for (const [index, { exitCode, output, errors }] of answers.entries()) {
      expect({ exitCode, output }).toEqual({ exitCode: exitCodeOf(errors), output: '' })
      expect(errors).toContain(cases[index]?.[1] ?? '')
    }
  })
})

describe('the keys of access tokens', () => {
  const HOUR_MS = 3_600_000
  const DAY_MS = 24 * HOUR_MS
  const keys = () => sql<{ id: string }[]>`select id from token_keys order by signs_from`
  const claims = () => ({
    ...{ projectId: service.project.projectId, userId: randomUUID(), sessionId: randomUUID() },
    ...{ email: null, hasPasskeys: false, signInWallet: null, sessionExpiresAt: later(30 * DAY_MS) },
  })
  /** A process with its own clock. */
  const processAt = (clock: { ms: number }) =>
    createAccessTokens({ ...service.ctx, now: () => new Date(Date.now() + clock.ms) })
  const kidOf = (token: string) => decodeProtectedHeader(token).kid ?? ''
  const later = (ms: number) => new Date(Date.now() + ms)

  test('are published an hour before they sign, and until the last token has expired', async () => {
    const clock = { ms: 0 }
    const process = processAt(clock)
    const before = await process.issue(claims())
    await rotateTokenKeys(service.ctx, later(29 * DAY_MS))
    expect(await keys()).toHaveLength(1)
    // Of two simultaneous rotations, one creates a key.
    const rotations = await sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(hashtext('token_keys'))`
      const begun = Promise.all([1, 2, 3].map(() => rotateTokenKeys(service.ctx, later(30 * DAY_MS + 60_000))))
      const deadline = Date.now() + 10_000
      for (let waiting = 0; waiting < 3; ) {
        const [row] = await tx`select count(*)::int as count from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`
        waiting = row?.count
        if (Date.now() > deadline) throw new Error('they do not wait for each other')
      }
      return { begun }
    })
    await rotations.begun
    const [old = { id: '' }, next = { id: '' }, ...more] = await keys()
    expect([old.id, more]).toEqual([kidOf(before.token), []])

    clock.ms = HOUR_MS - 60_000
    expect((await process.jwks()).keys.map(({ kid }) => kid)).toEqual([old.id, next.id])
    expect(kidOf((await process.issue(claims())).token)).toBe(old.id)
    clock.ms = HOUR_MS + 60_000
    expect(kidOf((await process.issue(claims())).token)).toBe(next.id)
    expect(await process.verify(before.token)).not.toBeNull()

    const [{ seconds } = { seconds: 0 }] = await sql<{ seconds: number }[]>`
      select extract(epoch from published_until - now())::int as seconds from token_keys where id = ${old.id}`
    expect(seconds).toBeWithin(HOUR_MS / 1000 + 86_400 - 30, HOUR_MS / 1000 + 86_400 + 1)
    await sql`update token_keys set published_until = now() where id = ${old.id}`
    await rotateTokenKeys(service.ctx, new Date())
    expect([...(await keys())]).toEqual([next])
    clock.ms += 60_000
    expect(await process.verify(before.token)).toBeNull()
  })

  test('are replaced by the operator: old tokens end, sessions go on, and other processes use the new key', async () => {
    const clock = { ms: 0 }
    const [session, elsewhere] = [await login(), processAt(clock)]
    await elsewhere.jwks()
    const { output } = await cli('sessions', 'replace-keys', '--yes')
    const [key = { id: '' }, ...more] = await keys()
    expect([output.includes(key.id), more]).toEqual([true, []])
    expect([...(await audited('token_key_rotated'))]).toEqual([
      { project_id: null, actor: 'operator', subject: key.id, details: {} },
    ])
    const fresh = await createAccessTokens(service.ctx).issue(claims())
    clock.ms = 2_000
    expect(await elsewhere.verify(fresh.token)).not.toBeNull()
    expect(await elsewhere.verify(session.access_token)).toBeNull()
    expect((await refresh(session)).status).toBe(200)
  })
})

describe('webhooks', () => {
  const webhooks = (...args: readonly string[]) => runCli(['webhooks', ...args], service.variables)

  test('a webhook is added, listed, disabled, enabled, rotated, tested, replayed and removed', async () => {
    const { projectId } = service.project
    const added = await webhooks(
      'add',
      '--project',
      projectId,
      '--url',
      'https://example.com/hooks',
      '--types',
      'wallet.created',
      '--order',
      'none',
    )
    const [, id = ''] = /webhook id: (\S+)/.exec(added.output) ?? []
    expect(added.output).toMatch(/secret: +whsec_/)
    expect((await webhooks('list')).output).toContain(`${id}  project ${projectId}  enabled  nothing waits`)
    expect((await webhooks('disable', id)).output).toContain('disabled')
    expect((await webhooks('list', '--project', projectId)).output).toContain('operator disabled it.')
    if (isLong) expect((await webhooks('test', id)).errors).toContain('enable it first')
    expect((await webhooks('enable', id)).output).toContain('enabled')
    expect((await webhooks('rotate-secret', id, '--overlap', '60')).output).toMatch(/^secret: whsec_/)
    expect((await webhooks('test', id)).output).toContain('test message')
    expect((await webhooks('replay', id, '--after', '999999')).output).toBe('0 deliveries are sent again.\n')
    const [listed] = JSON.parse((await webhooks('list', '--json')).output)
    expect(listed).toMatchObject({ id, waiting: 1, order: 'none', paused_until: null })
    expect(listed).not.toHaveProperty('sealed')
    expect((await webhooks('remove', id)).output).toContain('removed')
    if (isLong) expect((await webhooks('remove', id)).errors).toContain('There is no webhook with this id.')
  })

  test('a URL in a private network is refused', async () => {
    const added = await webhooks('add', '--project', service.project.projectId, '--url', 'https://10.0.0.1/')
    expect(added.errors).toContain('a host on the public Internet')
  })
})
