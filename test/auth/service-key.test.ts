// What somebody can do who has the worker's secrets: forge no access token, and reach no row that leads to one.

import { beforeAll, describe, expect, test } from 'bun:test'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { createProject } from '../../src/operators/projects.ts'
import { runCli } from '../support/cli.ts'
import { isLong } from '../support/long.ts'
import { byTcp } from '../support/postgres.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const THIEF = fileURLToPath(new URL('./worker-thief.ts', import.meta.url))
const NOBODY = { authorization: undefined }

type Session = { id: string; user_id: string; access_token: string; refresh_token: string }

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))

const login = async (): Promise<Session> => (await service.post('/users/login-anonymously', {}, NOBODY)).json
const victim = await login()
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const reach = async (token: string, headers: Record<string, string> = {}): Promise<[number, string | undefined]> => {
  const answer = await service.call('/wallets?network=Ethereum', { headers: { ...bearer(token), ...headers } })
  return [answer.status, answer.json.code]
}

describe("an attacker with SERVICE_KEY and the worker's database login", () => {
  const DENIED = '42501'
  let got: {
    environment: string[]
    reads: Record<string, string>
    writes: Record<string, string>
    minted: string[]
    refreshes: number[]
    bound: string
    told: string[]
    acted: string[]
    asWorker: string
  }

  beforeAll(async () => {
    const { ENVIRONMENT, DEVNET, SERVICE_KEY, LOG_LEVEL } = service.variables
    const known = { BASE_URL: service.baseUrl, PROJECT_ID: service.project.projectId }
    const child = Bun.spawn(['bun', '--no-env-file', THIEF], {
      env: {
        ...{ PATH: process.env.PATH ?? '', ENVIRONMENT, DEVNET, SERVICE_KEY, LOG_LEVEL, ...known },
        ...{ DATABASE_URL: byTcp(service.database.workerUrl).href, SESSION_ID: victim.id, USER_ID: victim.user_id },
      },
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const text = await new Response(child.stdout).text()
    expect(await child.exited).toBe(0)
    got = JSON.parse(text)
    expect(got.environment).toEqual(['SERVICE_KEY'])
  })

  test('cannot create an access token', () => {
    expect(got.minted).toEqual([DENIED, DENIED])
  })

  test('cannot compute a refresh token', async () => {
    expect(got.refreshes).toEqual(Array(6).fill(401))
    // The victim's own refresh token still works: the attempts did not use it up.
    const body = { session_id: victim.id, refresh_token: victim.refresh_token }
    expect((await service.post('/users/refresh-token', body, NOBODY)).status).toBe(200)
  })

  test('can read no row that would help', () => {
    expect(Object.keys(got.reads).length).toBeGreaterThan(5)
    expect(got.reads).toEqual(Object.fromEntries(Object.keys(got.reads).map((text) => [text, DENIED])))
  })

  test('can write no row that would help', () => {
    expect(Object.keys(got.writes).length).toBeGreaterThan(10)
    expect(got.writes).toEqual(Object.fromEntries(Object.keys(got.writes).map((text) => [text, DENIED])))
  })

  test("can add an audit row of a vault's kind, which the vault names", async () => {
    expect(got.told).toEqual(['done', 'done'])
    const { exitCode, output } = await runCli(['audit', 'verify'], service.variables)
    expect(exitCode).toBe(1)
    for (const chain of [service.project.projectId, 'deployment']) {
      expect(output).toMatch(
        new RegExp(`^BROKEN: chain ${chain}, .*audit row \\d+: .* is not as it was written\\.$`, 'm'),
      )
    }
  })

  test('cannot add a row of an operator or an API without `audit verify` naming it', async () => {
    expect(got.acted).toEqual(Array(8).fill('done'))
    const sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
    const rows = await sql`select * from audit where subject like 'thief %' order by id`
    expect(rows).toHaveLength(8)
    const named = async () => {
      const { output } = await runCli(['audit', 'verify', '--json'], { ...service.variables, VAULT_SOCKET: '' })
      return JSON.parse(output).broken.map(({ audit_id }: { audit_id: string }) => audit_id)
    }
    // Of each chain the first is named, so the ones before are removed one by one.
    for (const [index, { id }] of rows.entries()) {
      if (isLong || index === 0) expect(await named()).toEqual([id])
      await sql.begin(async (tx) => {
        await tx`set local session_replication_role = replica`
        await tx`delete from audit where id = ${id}`
      })
    }
    // A worker's own rows hold.
    expect([got.asWorker, await named()]).toEqual(['done', []])
    await sql.end()
  })

  test('cannot use the service key as the identity key', () => {
    expect(got.bound).toBe('IDENTITY_KEY and SERVICE_KEY must be two different keys.')
  })
})

describe('an access token with a valid signature', () => {
  const issue = async (of: { projectId?: string; userId: string; sessionId: string }) =>
    (
      await service.ctx.tokens.issue({
        ...{ projectId: service.project.projectId, email: null, hasPasskeys: false, signInWallet: null },
        sessionExpiresAt: new Date(Date.now() + 86_400_000),
        ...of,
      })
    ).token

  test("is refused if it names another user's session, and that session goes on", async () => {
    const other = await login()
    const token = await issue({ userId: other.user_id, sessionId: victim.id })
    expect(await reach(await issue({ userId: victim.user_id, sessionId: victim.id }))).toEqual([200, undefined])
    expect(await reach(token)).toEqual([401, 'session_ended'])
    await service.call('/users/logout', { method: 'POST', headers: bearer(token) })
    expect(await reach(victim.access_token)).toEqual([200, undefined])
  })

  test('is refused if it names a session of another project, and that session goes on', async () => {
    const { projectId } = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
    const token = await issue({ projectId, userId: victim.user_id, sessionId: victim.id })
    const header = { 'x-walletkit-project-id': projectId }
    expect(await reach(token, header)).toEqual([401, 'session_ended'])
    expect(await reach(token)).toEqual([401, 'session_ended'])
    await service.call('/users/logout', { method: 'POST', headers: { ...bearer(token), ...header } })
    expect(await reach(victim.access_token)).toEqual([200, undefined])
  })

  test('is refused if its session does not exist', async () => {
    const token = await issue({ userId: victim.user_id, sessionId: crypto.randomUUID() })
    expect(await reach(token)).toEqual([401, 'session_ended'])
  })
})
