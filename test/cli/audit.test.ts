// An API and two vaults write audit rows, the vaults chain them, and the command verifies them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { openDb } from '../../db/client.ts'
import { createVaultAudit } from '../../src/platform/audit/audit.ts'
import { openDeploymentKey, openRootKey } from '../../src/vault/rooms/root/root-key.ts'
import { runCli } from '../support/cli.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { isLong, longTest } from '../support/long.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startVaultProcess } from '../support/vault.ts'
import { keyFile } from '../vault/support.ts'

type Vault = Awaited<ReturnType<typeof startVaultProcess>>

let database: TestDatabase
let folder: string
let rootKey: ReturnType<typeof keyFile>
let vaults: readonly Vault[]
let service: Service
let sql: Sql

const socketOf = (name: string) => join(folder, `${name}.sock`)
/** With the root key and its login alone. */
const startVault = (name: string) =>
  startVaultProcess({
    ENVIRONMENT: 'testnet',
    DATABASE_URL: database.vaultUrl,
    ROOT_KEY: rootKey.spec,
    VAULT_SOCKET: socketOf(name),
  })

beforeAll(async () => {
  database = await createDatabase()
  folder = await mkdtemp(join(tmpdir(), 'strongroom-audit-'))
  rootKey = keyFile(new Uint8Array(32).fill(7))
  vaults = await Promise.all([startVault('one'), startVault('two')])
  service = await startService({
    database: { ...database, close: async () => {} },
    hasVault: false,
    rpcUrls: { Ethereum: 'http://127.0.0.1:1' },
    variables: { VAULT_SOCKET: `${socketOf('one')},${socketOf('two')}` },
  })
  sql = postgres(database.url, { max: 2, onnotice: () => {} })
})
afterAll(async () => {
  await sql.end()
  await service.close()
  for (const vault of vaults) await vault.stop()
  await database.close()
  rootKey.remove()
  await rm(folder, { recursive: true, force: true })
})

const cli = (args: readonly string[], variables: Record<string, string> = {}) =>
  runCli(['audit', ...args], { ...service.variables, VAULT_SOCKET: socketOf('two'), ...variables })

/** The heads that a vault has published in its log. */
const headsOf = (vault: Vault | undefined): readonly string[] =>
  [...(vault?.output() ?? '').matchAll(/"head":"([^"]+)".*"msg":"audit head"/g)].map(([, head = '']) => head)

const unchained = async () => {
  const [row] = await sql<{ rows: number }[]>`
    select count(*)::int as rows from audit a where not exists (select from audit_chain c where c.audit_id = a.id)`
  return row?.rows ?? -1
}

const tamper = (statement: string) =>
  sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx.unsafe(statement)
  })

const newWallets = (count: number) =>
  Promise.all(Array.from({ length: count }, () => service.newWallet({ network: 'Ethereum', ownerId: randomUUID() })))

test('two vaults chain audit rows together, and publish heads that the command verifies', async () => {
  const { projectId } = service.project
  await until(async () => {
    await newWallets(1)
    const published = vaults.filter((vault) => headsOf(vault).some((head) => head.startsWith(projectId)))
    // Which vault chains next is chance: to wait for both takes long.
    return published.length === vaults.length || (!isLong && published.length > 0)
  })
  await until(async () => (await unchained()) === 0)
  const heads = vaults.flatMap(headsOf).flatMap((head) => ['--head', head])
  const proved = await cli(['verify', '--heads', ...heads])
  expect(proved).toMatchObject({ exitCode: 0, errors: '' })
  const lines = proved.output.split('\n')
  const [end = ''] = lines.filter((line) => line.startsWith(projectId))
  expect(end).not.toBe('')
  if (isLong) expect(await cli(['verify', '--head', end])).toMatchObject({ exitCode: 0, errors: '' })
  expect(lines.filter((line) => line !== end).join('\n')).toMatch(
    /^Rows that admit somebody, and MACs of wallets: all \d+ are as the service wrote them\.\nCounts of wrong PINs, policies, wallets and keyrings: all rows are as the service wrote them\.\nAudit rows of APIs, workers and commands: all \d+ are as they were written\.\nUnchained tail: 0 rows\.\nThe audit holds: \d+ rows in 1 chains\.\n$/,
  )
}, 60_000)

longTest(
  'a vault that is killed while it chains leaves no gap and nothing twice',
  async () => {
    for (let kill = 0; kill < (isLong ? 3 : 1); kill += 1) {
      await using release = await holdTable(sql, 'audit_chain')
      await newWallets(3)
      await untilWaiting(sql, 2)
      expect(await unchained()).toBeGreaterThanOrEqual(3)
      expect((await cli(['verify'])).output).toMatch(/^Unchained tail: \d rows, the oldest of \d{4}-.*Z\.$/m)
      await vaults[0]?.kill()
      await release()
      await until(async () => (await unchained()) === 0)
      expect((await cli(['verify'])).exitCode).toBe(0)
      vaults = [await startVault('one'), ...vaults.slice(1)]
    }
    await vaults[1]?.kill()
    await newWallets(2)
    await until(async () => (await unchained()) === 0)
    const heads = vaults.flatMap(headsOf).flatMap((head) => ['--head', head])
    expect(heads.length).toBeGreaterThan(0)
    expect(await cli(['verify', ...heads], { VAULT_SOCKET: socketOf('one') })).toMatchObject({ exitCode: 0 })
    vaults = [...vaults.slice(0, 1), await startVault('two')]
  },
  60_000,
)

describe('audit verify', () => {
  test('names the first broken row and exits with 1', async () => {
    const [row] = await sql<{ id: string; chain: string; actor: string }[]>`
      select a.id, c.chain, a.actor from audit_chain c join audit a on a.id = c.audit_id where c.position = 3`
    await tamper(`update audit set actor = 'nobody' where id = ${row?.id}`)
    const broken = await cli(['verify'])
    expect(broken).toMatchObject({ exitCode: 1, errors: '' })
    const sentence = `BROKEN: chain ${row?.chain}, position 3, audit row ${row?.id}: its audit row is not as it was written.`
    expect(broken.output.split('\n')[0]).toBe(sentence)
    expect(broken.output.trim().split('\n').at(-1)).toBe('The audit does not hold.')
    const json = await cli(['verify', '--json', '--project', row?.chain ?? ''])
    expect(json.exitCode).toBe(1)
    expect(JSON.parse(json.output)).toEqual({
      ok: false,
      catalogue: [],
      failure: null,
      broken: [
        {
          chain: row?.chain,
          position: '3',
          audit_id: row?.id,
          trouble: 'its audit row is not as it was written',
        },
      ],
      chains: { rows: expect.any(Number), heads: [], unchained: { rows: 0, oldest: null } },
      service: { rows: expect.any(Number) },
      callers: { rows: expect.any(Number), forged: [] },
      custody: { forged: [], unfinished: [] },
      archive: null,
    })
    await tamper(`update audit set actor = '${row?.actor}' where id = ${row?.id}`)
  })

  longTest('says what it did not check, without the vault or without a key', async () => {
    const asApi = { VAULT_SOCKET: '' }
    const { exitCode, output } = await cli(['verify', '--json'], asApi)
    expect(exitCode).toBe(0)
    const checked = { service: { rows: expect.any(Number) }, callers: { rows: expect.any(Number), forged: [] } }
    expect(JSON.parse(output)).toEqual({
      ok: true,
      catalogue: [],
      failure: null,
      broken: [],
      chains: null,
      custody: null,
      archive: null,
      ...checked,
    })
    expect((await cli(['verify'], asApi)).output).toMatch(
      /^Rows that admit somebody, and MACs of wallets: all \d+ .*\nCounts .* not checked: .*\nAudit rows of APIs, .*: all \d+ are as they were written\.\nThe chains, the audit rows of vaults and the archive were not checked: that needs VAULT_SOCKET\.\nWhat was checked holds\.\n$/,
    )
    const ofVault = await cli(['verify'], { DATABASE_URL: database.vaultUrl, SERVICE_KEY: '', IDENTITY_KEY: '' })
    expect(ofVault).toMatchObject({ exitCode: 0, errors: '' })
    expect(ofVault.output).toContain(
      'Audit rows of APIs, workers and commands were not checked: that needs IDENTITY_KEY and SERVICE_KEY.\n',
    )
    expect(ofVault.output).toMatch(/The audit holds: \d+ rows in 1 chains\.\n$/)
    const neither = await cli(['verify'], { ...asApi, IDENTITY_KEY: '' })
    expect(neither).toMatchObject({ exitCode: 2, output: '' })
    expect(neither.errors).toContain('VAULT_SOCKET must be set, or IDENTITY_KEY and SERVICE_KEY')
    for (const option of [['--heads'], ['--archive', '.'], ['--head', `deployment:1:${'0'.repeat(64)}`]]) {
      const { exitCode, output, errors } = await cli(['verify', ...option], { VAULT_SOCKET: '' })
      expect({ exitCode, output }).toEqual({ exitCode: 2, output: '' })
      expect(errors).toContain('--head, --heads and --archive need VAULT_SOCKET')
    }
  })

  test('fails with another service key', async () => {
    const other = await cli(['verify'], {
      SERVICE_KEY: service.variables.IDENTITY_KEY ?? '',
      IDENTITY_KEY: service.variables.SERVICE_KEY ?? '',
    })
    expect(other).toMatchObject({ exitCode: 1, output: '' })
    expect(other.errors).toContain('The service key does not fit this database')
  })

  test.each([
    ['x'],
    ['deployment:0:00'],
    [`deployment:1:${'g'.repeat(64)}`],
    [`:1:${'0'.repeat(64)}`],
    ['deployment:1:'],
  ])('refuses the head %p', async (head) => {
    const { exitCode, output, errors } = await cli(['verify', '--head', head])
    expect({ exitCode, output }).toEqual({ exitCode: 2, output: '' })
    expect(errors).toContain('It must be CHAIN:POSITION:HEX')
  })
})

describe('audit list', () => {
  test('prints the newest rows of a project', async () => {
    const project = service.project.projectId
    const { exitCode, output } = await cli(['list', '--project', project, '--limit', '2', '--json'])
    expect(exitCode).toBe(0)
    const rows = JSON.parse(output)
    expect(rows).toHaveLength(2)
    expect(rows[0]).toEqual({
      id: expect.stringMatching(/^\d+$/),
      at: expect.stringMatching(/Z$/),
      actor: expect.stringMatching(/^api_key:/),
      action: 'wallet_created',
      subject: expect.any(String),
      details: expect.any(Object),
    })
    expect(BigInt(rows[0].id)).toBeGreaterThan(BigInt(rows[1].id))
    // Other files may have made a hundred wallets with this project.
    const text = await cli(['list', '--project', project, '--limit', '1000'])
    expect(text.output).toContain('project_created')
    expect(text.output.trim().split('\n').length).toBeGreaterThan(5)
  })

  test('refuses an unknown project', async () => {
    const { exitCode, output, errors } = await cli(['list', '--project', randomUUID()])
    expect({ exitCode, output, errors }).toEqual({
      exitCode: 1,
      output: '',
      errors: 'There is no such project.\n',
    })
  })
})

longTest('audit verify with the vault names each count of wrong PINs that somebody has edited or deleted', async () => {
  const { projectId } = service.project
  const [edited, deleted] = [randomUUID(), randomUUID()]
  for (const ownerId of [edited, deleted]) await service.newWallet({ network: 'Ethereum', ownerId, pin: '846201' })
  const intact = await cli(['verify'])
  expect(intact).toMatchObject({ exitCode: 0, errors: '' })
  expect(intact.output).toContain(
    'Counts of wrong PINs, policies, wallets and keyrings: all rows are as the service wrote them.\n',
  )
  await sql`update pin_guesses set total = 7 where owner_id = ${edited}`
  await sql`delete from pin_guesses where owner_id = ${deleted}`
  const found = await cli(['verify'])
  expect(found).toMatchObject({ exitCode: 1, errors: '' })
  expect(found.output).toContain(
    `FORGED: table pin_guesses, row ${edited}, project ${projectId}: it is not as it was written.\n`,
  )
  expect(found.output).toContain(`FORGED: table pin_guesses, row ${deleted}, project ${projectId}: it is gone.\n`)
  expect(found.output).toContain('The audit does not hold.')
  const json = JSON.parse((await cli(['verify', '--json'])).output)
  expect(json).toMatchObject({ ok: false, broken: [] })
  expect(json.custody.forged).toHaveLength(2)
  for (const ownerId of [edited, deleted]) {
    const unlocked = await runCli(['owner', 'unlock', '--project', projectId, '--owner', ownerId], service.variables)
    expect(unlocked.exitCode).toBe(0)
  }
  expect((await cli(['verify'])).exitCode).toBe(0)
})

/** Rows of the deployment as a vault wrote them so long ago, which the vaults then chain. */
const writeOldRows = async ({ days, count }: { readonly days: number; readonly count: number }): Promise<void> => {
  const db = openDb({ url: database.vaultUrl, maxConnections: 1, applicationName: 'test' })
  const [row] = await sql`select wrapped from deployment_key`
  const deploymentKey = await openDeploymentKey(await openRootKey(rootKey.spec), row?.wrapped)
  const audit = createVaultAudit({ db, deploymentKey, now: () => new Date(Date.now() - days * 86_400_000) })
  for (let written = 0; written < count; written += 1) {
    const act = {
      projectId: null,
      actor: 'system',
      action: 'vault_connection_refused',
      subject: 'vault',
      details: {},
    } as const
    await audit.commit(act)
    await until(async () => (await unchained()) === 0)
  }
  await db.close({ timeoutSeconds: 5 })
}

longTest(
  'audit archive moves old rows to a folder, and audit verify checks them there',
  async () => {
    await writeOldRows({ days: 100, count: 4 })
    const before = (days: number) => [
      '--before',
      new Date(Date.now() - days * 86_400_000).toISOString(),
      '--to',
      folder,
    ]
    const late = await cli(['archive', ...before(29)])
    expect(late).toMatchObject({ exitCode: 1, output: '' })
    expect(late.errors).toContain('Rows of the last 30 days stay')
    const done = await cli(['archive', ...before(50)])
    expect(done).toMatchObject({ exitCode: 0, errors: '' })
    expect(done.output).toBe(
      'deployment-1-3.jsonl.gz: chain deployment, positions 1 to 3; 2 rows were deleted.\n' +
        'Keep these files (1): "audit verify --archive" needs them.\n',
    )
    expect((await cli(['archive', ...before(50)])).output).toBe('Nothing is to be archived.\n')
    const without = await cli(['verify'])
    expect(without).toMatchObject({ exitCode: 0, errors: '' })
    expect(without.output).toContain('The archive was not checked: that needs --archive.\n')
    const verified = await cli(['verify', '--archive', folder])
    expect(verified).toMatchObject({ exitCode: 0, errors: '' })
    expect(verified.output).toContain('The archive holds: 3 rows in 1 files.\n')
    expect(JSON.parse((await cli(['verify', '--archive', folder, '--json'])).output).archive).toEqual({
      files: 1,
      rows: 3,
    })
    await rename(join(folder, 'deployment-1-3.jsonl.gz'), join(folder, 'elsewhere'))
    const missing = await cli(['verify', '--archive', folder])
    expect(missing.exitCode).toBe(1)
    expect(missing.output).toContain(
      'BROKEN: chain deployment, position 1: the archive deployment-1-3.jsonl.gz is missing.\n',
    )
  },
  60_000,
)
