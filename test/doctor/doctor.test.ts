// `cli doctor` on real processes: an installation that works, and each thing that can be wrong with one.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Server } from '../../db/queries/server.ts'
import type { Finding } from '../../src/operators/doctor/finding.ts'
import { clockFindings, connectionFindings, journalFinding, serverFindings } from '../../src/operators/doctor/judge.ts'
import { NETWORKS } from '../../src/platform/networks.ts'
import { certificatesIn } from '../support/certificates.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { runCli, runCliProcess } from '../support/cli.ts'
import { longTest } from '../support/long.ts'
import { onServer } from '../support/postgres.ts'
import { programPath } from '../support/programs.ts'
import { type Service, startService } from '../support/service.ts'
import { startSickNode } from '../support/sick-node.ts'
import { startSmtp } from '../support/smtp.ts'
import { startSubstrateChain, type TestSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

let folder: string
let chain: TestChain
let polkadot: TestSubstrateChain
let service: Service
let worker: WorkerHere
let smtp: Awaited<ReturnType<typeof startSmtp>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-doctor-'))
  chain = await startChain('Ethereum')
  polkadot = await startSubstrateChain('Polkadot')
  service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl, Polkadot: polkadot.rpcUrl } })
  smtp = await startSmtp()
  worker = await startWorkerHere(service)
})

afterAll(async () => {
  await worker.stop()
  await smtp.close()
  await service.close()
  await Promise.all([chain.stop(), polkadot.stop()])
  await rm(folder, { recursive: true, force: true })
})

const examine = async (changes: Record<string, string> = {}) => {
  const { exitCode, output, errors } = await runCli(['doctor', '--json'], { ...service.variables, ...changes })
  const findings: Finding[] = JSON.parse(output)
  return { exitCode, errors, findings, failed: findings.filter(({ state }) => state === 'failed') }
}

const stateOf = (findings: readonly Finding[], check: string) =>
  findings.filter((finding) => finding.check === check).map(({ state, found }) => ({ state, found }))

const troubles = (findings: readonly Finding[]) =>
  findings.filter(({ state }) => state !== 'ok').map(({ check, state, found, advice }) => [check, state, found, advice])

const MAINNET = { environment: 'mainnet', devnet: false } as const

/** As `readServer` finds it. The tests' server cannot be brought to all that can be wrong with one. */
const GOOD_SERVER: Server = {
  version: 150_004,
  isEncrypted: true,
  isOnThisMachine: false,
  user: 'somebody',
  isSuperuser: false,
  ownsDatabase: false,
  hasRole: true,
  unsafeSettings: [],
  archives: true,
  hasOnlyAsyncReplicas: false,
}

test('an installation that works has no failure, and each part of it was checked', async () => {
  const { exitCode, errors, findings, failed } = await examine({
    MAIL_URL: smtp.url,
    PUBLIC_BASE_URL: 'https://wallets.example.com',
  })
  expect({ exitCode, errors, failed }).toEqual({ exitCode: 0, errors: '', failed: [] })
  const checked = (state: Finding['state']) => [
    ...new Set(findings.filter((each) => each.state === state).map(({ check }) => check)),
  ]
  expect(checked('ok')).toEqual([
    ...['variables', 'PUBLIC_BASE_URL', 'database session', 'database version', 'database TLS', 'database user'],
    ...['database schema', 'database catalogue', 'database connections', 'database space', 'clock', 'keys'],
    `vault ${service.variables.VAULT_SOCKET}`,
    ...['workers', 'return addresses', 'node Ethereum 1 (127.0.0.1)', 'node Polkadot 1 (127.0.0.1)', 'mail'],
  ])
  // The tests' server writes to memory.
  expect(stateOf(findings, 'database settings')).toEqual([
    { state: 'warning', found: 'fsync and full_page_writes and synchronous_commit off' },
  ])
  expect(checked('unchecked')).toEqual([
    'audit archive',
    ...NETWORKS.filter((network) => !['Ethereum', 'Polkadot'].includes(network)).map((network) => `node ${network}`),
  ])
})

longTest('the variables of a worker and of a vault are held against their own roles', async () => {
  const ofWorker = await examine({ IDENTITY_KEY: '', VAULT_SOCKET: '', DATABASE_URL: service.database.workerUrl })
  expect(ofWorker.failed).toEqual([])
  expect(stateOf(ofWorker.findings, 'database user')).toEqual([
    { state: 'ok', found: expect.stringMatching(/ has the role strongroom_worker$/) },
  ])
  const ofVault = await examine({
    ...{ SERVICE_KEY: '', IDENTITY_KEY: '', VAULT_SOCKET: '', ROOT_KEY: `file:${join(folder, 'absent')}` },
    DATABASE_URL: service.database.workerUrl,
  })
  expect(stateOf(ofVault.findings, 'database user')).toEqual([
    { state: 'failed', found: expect.stringMatching(/ does not have the role strongroom_vault$/) },
  ])
})

longTest('for people it prints what to do below each trouble, and ends with 1', async () => {
  const { exitCode, output } = await runCliProcess(['doctor'], { ...service.variables, VAULT_SOCKET: '/nowhere/vault' })
  expect(exitCode).toBe(1)
  expect(output).toMatch(/^FAILED {2}vault \/nowhere\/vault: it does not serve: .*\n {8}Check that it runs/m)
  expect(output).toMatch(/^ok {6}database version: PostgreSQL [0-9]+$/m)
})

longTest('it changes nothing, not even in a database without keys', async () => {
  const fresh = await startService({ rpcUrls: {} })
  try {
    const forget = `update deployment set service_key_id = null, identity_key_id = null returning environment`
    expect(await onServer(fresh.database.url, (sql) => sql.unsafe(forget))).toHaveLength(1)
    const { output } = await runCli(['doctor', '--json'], fresh.variables)
    expect(stateOf(JSON.parse(output), 'keys')).toEqual([
      { state: 'unchecked', found: 'the database has no keys before the first API starts' },
    ])
    const rows = await onServer(fresh.database.url, (sql) => sql`select service_key_id as key from deployment`)
    expect(rows[0]).toEqual({ key: null })
  } finally {
    await fresh.close()
  }
})

describe('it finds', () => {
  test('variables that cannot be read', async () => {
    const { exitCode, findings } = await examine({ RATE_LIMIT_PER_SECOND: 'many' })
    expect(exitCode).toBe(1)
    expect(findings).toEqual([
      {
        check: 'variables',
        state: 'failed',
        found: 'RATE_LIMIT_PER_SECOND must be a whole number from 1 to 1000000.',
        advice: 'Correct that, and run it again.',
      },
    ])
  })

  const MISSPELT = { ETHEREUM_RPC_URI: 'http://127.0.0.1:1', RATE_LIMIT_PER_SECONDS: '5' }
  let examined: ReturnType<typeof examine> | undefined
  /** Once for both tests: no variable is set but those that nobody knows. */
  const examineOnce = () => {
    examined ??= examine(MISSPELT)
    return examined
  }

  test('a variable that is misspelt', async () => {
    const { findings } = await examineOnce()
    const misspelt = findings.filter(({ check, state }) => check === 'variables' && state === 'warning')
    expect(misspelt.map(({ found }) => found)).toContain('RATE_LIMIT_PER_SECONDS is not a variable of this service')
  })

  test('a URL of this machine, which no user can reach', async () => {
    const { findings } = await examineOnce()
    expect(findings.find(({ check }) => check === 'PUBLIC_BASE_URL')).toEqual({
      check: 'PUBLIC_BASE_URL',
      state: 'warning',
      found: 'http://localhost:3000 is of this machine or of a private network',
      advice: expect.stringContaining('the URL by which users reach the API'),
    })
  })

  test('a PostgreSQL that is too old, unencrypted from another machine, or whose database the login owns', () => {
    const found = { ...GOOD_SERVER, version: 140_011, isEncrypted: false, isOnThisMachine: false, ownsDatabase: true }
    expect(troubles(serverFindings(found, { config: MAINNET, role: 'strongroom_api' }))).toEqual([
      ['database version', 'failed', 'PostgreSQL 14', 'Upgrade it to PostgreSQL 15 or later.'],
      [
        'database TLS',
        'warning',
        'the connection to another machine is not encrypted',
        expect.stringContaining('?sslmode='),
      ],
      ['database user', 'failed', 'somebody owns the database', expect.stringContaining('the role strongroom_api')],
    ])
    expect(troubles(serverFindings(GOOD_SERVER, { config: MAINNET, role: 'strongroom_api' }))).toEqual([])
  })

  test('a PostgreSQL of a mainnet that could lose what was answered', () => {
    const found = { ...GOOD_SERVER, unsafeSettings: ['fsync'], archives: false, hasOnlyAsyncReplicas: true }
    expect(troubles(serverFindings(found, { config: MAINNET, role: 'strongroom_api' }))).toEqual([
      ['database settings', 'failed', 'fsync off', expect.stringContaining('Switch it on')],
      ['database settings', 'warning', 'archive_mode is off', expect.stringContaining('Archive the write-ahead log')],
      [
        'database settings',
        'warning',
        'no replica is synchronous',
        expect.stringContaining('synchronous_standby_names'),
      ],
    ])
  })

  test('too few connections, a clock that is a little late, and a small disk of a journal', () => {
    expect(troubles(connectionFindings({ usable: 97, free: 44 }))).toEqual([
      ['database connections', 'warning', '44 of 97 are free', expect.stringContaining('raise max_connections')],
    ])
    expect(troubles(clockFindings(1_000))).toEqual([])
    expect(troubles(clockFindings(1_001))).toEqual([
      ['clock', 'warning', expect.any(String), expect.stringContaining('NTP')],
    ])
    expect([10_000, 10_001].map((ms) => clockFindings(ms)[0]?.state)).toEqual(['warning', 'failed'])
    const journal = { path: '/journal', freeBytes: 2 ** 29 }
    expect(troubles([journalFinding(journal)])).toEqual([
      ['journal', 'warning', '0.5 GiB are free beside /journal', expect.stringContaining('Make space')],
    ])
  })

  test('a journal whose folder is not there', async () => {
    const { failed } = await examine({
      ...{ SERVICE_KEY: '', IDENTITY_KEY: '', VAULT_SOCKET: '', ROOT_KEY: `file:${join(folder, 'absent')}` },
      ...{ DATABASE_URL: service.database.vaultUrl, VAULT_JOURNAL: '/nowhere/journal' },
    })
    expect(failed.map(({ check, found }) => [check, found])).toEqual([
      ['journal', 'the folder of /nowhere/journal cannot be read'],
    ])
  })

  longTest('certificates that have ended, or end soon', async () => {
    const { authority, certificate } = certificatesIn(folder)
    authority('ours')
    const { certFile, keyFile, caFile } = await certificate('ended', { days: -1 })
    const { findings } = await examine({
      ...{ VAULT_SOCKET: 'tls://127.0.0.1:1', VAULT_TLS_CERT_FILE: certFile, VAULT_TLS_KEY_FILE: keyFile },
      VAULT_TLS_CA_FILE: caFile,
    })
    expect(troubles(findings.filter(({ check }) => check === 'vault certificate'))).toEqual([
      ['vault certificate', 'failed', expect.stringContaining(certFile), expect.stringContaining('Renew it')],
      ['vault certificate', 'warning', expect.stringContaining(caFile), 'Renew it.'],
    ])
  })

  longTest('a certificate that cannot be read: all else is checked', async () => {
    const file = '/nowhere/file.pem'
    const { findings, failed } = await examine({
      ...{ VAULT_SOCKET: 'tls://127.0.0.1:1', VAULT_TLS_CERT_FILE: file, VAULT_TLS_KEY_FILE: file },
      VAULT_TLS_CA_FILE: file,
    })
    expect(new Set(failed.map(({ check }) => check))).toEqual(new Set(['vault tls://127.0.0.1:1', 'vault certificate']))
    expect(findings.map(({ check }) => check)).toContain('database version')
  })

  test('a database that is away: what needs it is not checked, and all else is', async () => {
    const away = new URL(service.variables.DATABASE_URL ?? '')
    away.port = '1'
    const { exitCode, findings, failed } = await examine({ DATABASE_URL: away.href })
    expect(exitCode).toBe(1)
    expect(failed.map(({ check }) => check)).toEqual(['database'])
    expect(failed[0]?.found).toStartWith('PostgreSQL cannot be reached')
    for (const check of ['keys', 'workers']) {
      expect(stateOf(findings, check)).toEqual([{ state: 'unchecked', found: 'the database cannot be used' }])
    }
    expect(stateOf(findings, 'node Ethereum 1 (127.0.0.1)').at(0)?.state).toBe('ok')
  })

  test('a login that the database refuses, which is said once', async () => {
    const refused = new URL(service.variables.DATABASE_URL ?? '')
    refused.username = 'nobody'
    const { failed } = await examine({ DATABASE_URL: refused.href })
    expect(failed.map(({ check }) => check)).toEqual(['database'])
  })

  test('a login that may do too much, and one of another role', async () => {
    const owner = await examine({ DATABASE_URL: service.database.url })
    expect(stateOf(owner.findings, 'database user')).toEqual([
      { state: 'failed', found: expect.stringMatching(/ is a superuser$/) },
    ])
    const ofWorker = await examine({ DATABASE_URL: service.database.workerUrl })
    expect(stateOf(ofWorker.findings, 'database user')).toEqual([
      { state: 'failed', found: expect.stringMatching(/ does not have the role strongroom_api$/) },
    ])
  })

  test('a key of another installation, and one that others may read', async () => {
    const path = join(folder, 'other.key')
    await writeFile(path, randomBytes(32), { mode: 0o600 })
    const other = await examine({ IDENTITY_KEY: `file:${path}` })
    expect(other.failed.map(({ found }) => found)).toEqual([
      expect.stringMatching(/^The identity key does not fit this database: it is \S+, and should be \S+\.$/),
    ])
    const open = join(folder, 'open.key')
    await writeFile(open, randomBytes(32), { mode: 0o644 })
    const opened = await examine({ SERVICE_KEY: `file:${open}` })
    expect(opened.failed.map(({ check }) => check)).toEqual(['SERVICE_KEY'])
    expect(opened.failed[0]?.advice).toContain('chmod 600')
  })

  longTest('a schema that is older than the code', async () => {
    const older = await startService({ rpcUrls: {} })
    try {
      await onServer(older.database.url, (sql) => sql.unsafe('alter table wallets rename column name to old_name'))
      const { output, exitCode } = await runCli(['doctor', '--json'], older.variables)
      expect(exitCode).toBe(1)
      expect(stateOf(JSON.parse(output), 'database schema')).toEqual([
        { state: 'failed', found: 'it lacks wallets.name' },
      ])
    } finally {
      await older.close()
    }
  })

  longTest('an audit that is archived no longer', async () => {
    const archive = (position: number, days: number) =>
      onServer(service.database.url, async (sql) => {
        const [row] = await sql<{ created: Date }[]>`
          insert into audit_checkpoints
            (chain, position, from_position, before, head, lines_hash, kept_hash, signature, created_at)
          values ('deployment', ${position}, 1, now() - interval '1 day' * ${days + 30}::int, '', '', '', '',
            now() - interval '1 day' * ${days}::int)
          returning created_at as created`
        return `the newest checkpoint is of ${row?.created.toISOString().slice(0, 19)}Z, for rows before `
      })
    const former = await archive(1, 100)
    const found = async () => stateOf((await examine()).findings, 'audit archive')
    expect(await found()).toEqual([{ state: 'warning', found: expect.stringContaining(former) }])
    const newest = await archive(2, 80)
    expect(await found()).toEqual([{ state: 'ok', found: expect.stringContaining(newest) }])
  })

  longTest('that no worker runs', async () => {
    const idle = await startService({ rpcUrls: {} })
    try {
      const { output } = await runCli(['doctor', '--json'], idle.variables)
      expect(stateOf(JSON.parse(output), 'workers')).toEqual([{ state: 'failed', found: 'no worker runs' }])
    } finally {
      await idle.close()
    }
  })

  longTest('a network that nobody follows any longer', async () => {
    await onServer(
      service.database.url,
      (sql) => sql`insert into cursors (network, purpose, block_number, block_hash, stepped_at)
        values ('Polygon', 'track', 1, '0x', now() - interval '31 seconds')`,
    )
    const { findings } = await examine()
    expect(troubles(findings.filter(({ check }) => check === 'workers'))).toEqual([
      [
        'workers',
        'warning',
        'nobody has followed the blocks of Polygon for half a minute',
        expect.stringContaining('Check the node'),
      ],
    ])
  })

  longTest('projects whose users may return to any page of an origin', async () => {
    const { projectId } = service.project
    const cli = (...args: readonly string[]) => runCli(['project', ...args], service.variables)
    const ofAddresses = async () => {
      const { exitCode, findings } = await examine()
      return { exitCode, found: findings.filter(({ check }) => check === 'return addresses') }
    }
    await cli('origins', 'add', projectId, 'https://app.example.com')
    expect(await ofAddresses()).toEqual({
      exitCode: 0,
      found: [
        {
          check: 'return addresses',
          state: 'warning',
          found: `users of ${projectId} may return from the login page to any page of an allowed origin`,
          advice: expect.stringContaining('bun run cli project return-addresses add <project> <address>'),
        },
      ],
    })
    await cli('return-addresses', 'add', projectId, 'https://app.example.com/after')
    expect((await ofAddresses()).found).toEqual([
      expect.objectContaining({ state: 'ok', found: 'each project with allowed origins has some' }),
    ])
  })

  longTest('nodes of another chain, nodes that refuse, and nodes that do not answer', async () => {
    const sick = startSickNode(chain.rpcUrl)
    try {
      await sick.fall('lies')
      const lying = await examine({ ETHEREUM_RPC_URL: sick.url })
      expect(lying.failed.map(({ found }) => found)).toEqual([expect.stringMatching(/^wrong_chain, /)])
      await sick.fall('answers 429')
      const resting = await examine({ ETHEREUM_RPC_URL: sick.url })
      expect(resting.failed.map(({ found, advice }) => [found, advice])).toEqual([
        [expect.stringMatching(/^resting, /), expect.stringContaining('add a second node')],
      ])
      await sick.fall('closes')
      const down = await examine({ ETHEREUM_RPC_URL: sick.url })
      expect(down.failed.map(({ check }) => check)).toEqual(['node Ethereum 1 (127.0.0.1)'])
    } finally {
      await sick.stop()
    }
  })

  longTest('methods that a node does not have: a needed one is a failure, another one a warning', async () => {
    const without = ['eth_getLogs', 'eth_simulateV1', 'trace_block']
    const missing = { code: -32_601, message: 'Method not found' }
    const node = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const body: { id: number; method: string } | { id: number; method: string }[] = await request.json()
        const asked = [body].flat()
        const sent = await fetch(chain.rpcUrl, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(asked),
        })
        const answers: { id: number }[] = await sent.json()
        const replies = answers.map((answer) => {
          const { method = '' } = asked.find(({ id }) => id === answer.id) ?? {}
          return without.includes(method) ? { jsonrpc: '2.0', id: answer.id, error: missing } : answer
        })
        return Response.json(Array.isArray(body) ? replies : replies[0])
      },
    })
    try {
      const { findings } = await examine({ ETHEREUM_RPC_URL: `http://127.0.0.1:${node.port}` })
      const [, ...lacks] = stateOf(findings, 'node Ethereum 1 (127.0.0.1)')
      expect(lacks).toEqual([
        { state: 'failed', found: 'it does not have eth_getLogs, for every request' },
        {
          state: 'warning',
          found: 'it does not have eth_simulateV1, for previews of several transactions that build on each other',
        },
      ])
    } finally {
      await node.stop(true)
    }
  })

  longTest('a mail server that is away', async () => {
    const { failed } = await examine({ MAIL_URL: 'smtp://127.0.0.1:1' })
    expect(failed.map(({ check, found }) => ({ check, found }))).toEqual([
      { check: 'mail', found: expect.stringMatching(/^the server cannot be used \(ESOCKET|ECONNECTION/) },
    ])
  })

  longTest('a clock that differs by an hour', async () => {
    const preloaded = join(folder, 'late.js')
    await writeFile(preloaded, 'const now = Date.now; Date.now = () => now() - 3_600_000')
    const child = Bun.spawn(
      ['bun', '--no-env-file', '--preload', preloaded, programPath('src/main/cli'), 'doctor', '--json'],
      { env: { PATH: process.env.PATH ?? '', ...service.variables }, stdout: 'pipe' },
    )
    const findings: Finding[] = JSON.parse(await new Response(child.stdout).text())
    expect(stateOf(findings, 'clock')).toEqual([
      { state: 'failed', found: expect.stringMatching(/differ by 3[56][0-9][0-9]\.[0-9] s$/) },
    ])
  })
})

test('no finding shows a secret', async () => {
  const away = new URL(service.variables.DATABASE_URL ?? '')
  Object.assign(away, { port: '1', password: 'pass-word-2' })
  const { findings } = await examine({
    DATABASE_URL: away.href,
    MAIL_URL: 'smtp://somebody:pass-word-1@127.0.0.1:1',
    ETHEREUM_RPC_URL: 'http://127.0.0.1:1/v2/provider-key-1',
  })
  for (const secret of ['pass-word-1', 'pass-word-2', 'provider-key-1']) {
    expect(JSON.stringify(findings)).not.toContain(secret)
  }
})
