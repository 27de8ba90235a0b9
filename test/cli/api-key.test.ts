import { describe, expect, test } from 'bun:test'
import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createApp } from '../../src/api/app.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { exitCodeOf, runCli } from '../support/cli.ts'
import { commonService } from '../support/common-service.ts'
import { someOf } from '../support/long.ts'

const service = await commonService()
const { sql } = service.database

/** Without the root key, as none of these commands opens a wallet. */
const cli = (...args: readonly string[]) => runCli(['api-key', ...args], { ...service.variables, VAULT_SOCKET: '' })

const create = async (...options: readonly string[]) => {
  const { exitCode, output, errors } = await cli('create', '--project', service.project.projectId, '--json', ...options)
  expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' })
  return JSON.parse(output) as { api_key_id: string; api_key: string; scopes: string[]; expires_at: string | null }
}

const use = async (apiKey: string) =>
  (await service.as({ projectId: service.project.projectId, apiKey }).get('/wallets', { network: 'Ethereum' })).status

describe('api-key create', () => {
  test('creates a key that works at once, and stores only its hash', async () => {
    const made = await create('--name', 'Server in the cellar')
    expect(made).toEqual({
      api_key_id: expect.any(String),
      api_key: expect.stringMatching(/^sk_[A-Za-z0-9_-]{43}$/),
      project_id: service.project.projectId,
      name: 'Server in the cellar',
      scopes: ['read', 'sign', 'admin'],
      expires_at: null,
    } as never)
    expect(await use(made.api_key)).toBe(200)
    const [row] = await sql`select hash from api_keys where id = ${made.api_key_id}`
    expect(row?.hash.toString('hex')).toBe(createHash('sha256').update(made.api_key).digest('hex'))
    const tables = await sql<{ name: string }[]>`select tablename as name from pg_tables where schemaname = 'public'`
    for (const { name } of tables) {
      const rows = await sql`select t::text as text from ${sql(name)} t`
      expect(rows.filter(({ text }) => text.includes(made.api_key.slice(3)))).toEqual([])
    }
  })

  test('sets scopes and an expiry, and prints both', async () => {
    const expires = '2099-01-31T12:00:00+02:00'
    const made = await create('--name', 'Narrow', '--scopes', 'sign, read,sign', '--expires', expires)
    expect(made.scopes).toEqual(['sign', 'read'])
    expect(made.expires_at).toBe('2099-01-31T10:00:00.000Z')
    const people = await cli('create', '--project', service.project.projectId, '--name', 'x', '--scopes', 'read')
    expect(people.output).toMatch(
      /^api key id: [0-9a-f-]{36}\napi key: {4}sk_\S{43}\nscopes: {5}read\nexpires: {4}never\nKeep the key now/,
    )
  })

  test('creates a key that is refused after its expiry', async () => {
    const made = await create('--name', 'Short', '--expires', new Date(Date.now() + 3_600_000).toISOString())
    expect(await use(made.api_key)).toBe(200)
    await sql`update api_keys set expires_at = now() where name = 'Short'`
    expect(await use(made.api_key)).toBe(401)
  })

  const INVALID: readonly (readonly [readonly string[], string])[] = [
    [['--scopes', 'read,write'], 'It must be one of read, sign, admin.'],
    [['--scopes', ''], 'It must be one of read, sign, admin.'],
    [['--expires', '2027-01-31'], 'It must be a time like 2027-01-31T00:00:00Z.'],
    [['--expires', '2027-01-31T00:00:00'], 'It must be a time like'],
    [['--expires', '2027-02-29T00:00:00Z'], 'It must be a time like'],
    [['--expires', '2027-13-01T00:00:00Z'], 'It must be a time like'],
    [['--expires', '2027-01-01T25:00:00Z'], 'It must be a time like'],
    [['--expires', 'tomorrow'], 'It must be a time like'],
    [['--expires', '2020-01-31T00:00:00Z'], 'The expiry must be in the future.'],
    [['--project', 'x'], 'It must be a UUID.'],
    [['--project', randomUUID()], 'There is no such project.'],
    [['--name', ' '], 'The name must be a text of 1 to 256 characters, none of them hidden.'],
    [['--name', 'x'.repeat(257)], 'The name must be a text of 1 to 256 characters, none of them hidden.'],
    [['--colour', 'red'], "unknown option '--colour'"],
  ]

  test.each(someOf(INVALID, 2))('refuses %p with one sentence', async (options, sentence) => {
    const count = async () => (await sql`select count(*) from api_keys`)[0]?.count
    const before = await count()
    const { exitCode, output, errors } = await cli(
      ...['create', '--project', service.project.projectId, '--name', 'x', ...options],
    )
    expect({ exitCode, output }).toEqual({ exitCode: exitCodeOf(errors), output: '' })
    expect(errors).toContain(sentence)
    expect(errors.trim().split('\n')).toHaveLength(1)
    expect(await count()).toBe(before)
  })

  test('writes an audit row', async () => {
    const made = await create('--name', 'Watched', '--scopes', 'read', '--expires', '2099-01-01T00:00:00Z')
    const rows = await sql`select project_id, actor, action, details from audit where subject = ${made.api_key_id}`
    expect([...rows]).toEqual([
      {
        project_id: service.project.projectId,
        actor: 'operator',
        action: 'api_key_created',
        details: { name: 'Watched', scopes: 'read', expires_at: '2099-01-01T00:00:00.000Z' },
      },
    ])
  })
})

describe('api-key list', () => {
  test('shows every key of the project, but no key text or hash', async () => {
    const made = await create('--name', 'Listed', '--scopes', 'read')
    await use(made.api_key)
    await sleep(200)
    const { exitCode, output } = await cli('list', '--project', service.project.projectId, '--json')
    expect(exitCode).toBe(0)
    const keys = JSON.parse(output)
    expect(keys[0]).toMatchObject({ name: 'First key', scopes: ['read', 'sign', 'admin'] })
    expect(keys.at(-1)).toEqual({
      id: made.api_key_id,
      name: 'Listed',
      scopes: ['read'],
      created_at: expect.any(String),
      expires_at: null,
      last_used_at: expect.any(String),
      revoked_at: null,
    })
    const text = await cli('list', '--project', service.project.projectId)
    expect(text.output.trim().split('\n')).toHaveLength(keys.length)
    expect(output + text.output).not.toContain(made.api_key)
    expect((await cli('list', '--project', randomUUID())).errors).toBe('There is no such project.\n')
  })
})

describe('api-key revoke', () => {
  test('takes effect at once in every process', async () => {
    const made = await create('--name', 'Revoked')
    const ctx = await createApiCtx({ config: readConfig(service.variables), process: 'other' })
    const other = createApp(ctx)
    const elsewhere = async () => {
      const headers = { authorization: `Bearer ${made.api_key}`, 'x-walletkit-project-id': service.project.projectId }
      const response = await other.handle(new Request('http://localhost:3000/wallets?network=Ethereum', { headers }))
      return response.status
    }
    expect([await use(made.api_key), await elsewhere()]).toEqual([200, 200])
    expect((await cli('revoke', made.api_key_id)).output).toBe(
      'The API key is revoked: it is refused from the next request on.\n',
    )
    expect([await use(made.api_key), await elsewhere()]).toEqual([401, 401])
    expect((await cli('revoke', made.api_key_id)).output).toBe('The API key was already revoked.\n')
    const rows = await sql`select project_id, actor, details from audit
      where subject = ${made.api_key_id} and action = 'api_key_revoked'`
    expect([...rows]).toEqual([
      { project_id: service.project.projectId, actor: 'operator', details: { name: 'Revoked' } },
    ])
    expect(await use(service.project.apiKey)).toBe(200)
    await ctx.close({ timeoutSeconds: 5 })
  })

  test('refuses an unknown id', async () => {
    expect((await cli('revoke', randomUUID())).errors).toBe('There is no API key with this id.\n')
    expect((await cli('revoke', 'x')).errors).toContain('It must be a UUID.')
    expect((await cli('revoke')).exitCode).toBe(2)
  })
})
