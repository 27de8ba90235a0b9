// What all of the operator's commands have in common.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { addOrigins } from '../../src/identity/projects/settings.ts'
import { createProject, showProject } from '../../src/operators/projects.ts'
import { runCli, runCliProcess } from '../support/cli.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Program, programPath } from '../support/programs.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const NOWHERE = 'http://127.0.0.1:1'

const service = await shared(startService({ rpcUrls: { Ethereum: NOWHERE, Base: NOWHERE } }))

/** For commands that only need the service key, and for those that need none. */
const lacking = (...names: readonly string[]): Variables => ({
  ...service.variables,
  ...Object.fromEntries(names.map((name) => [name, ''])),
})

const audited = async (projectId: string, action: string) => {
  const sql = postgres(service.database.url, { max: 1 })
  try {
    return [
      ...(await sql`select actor, details from audit where project_id = ${projectId} and action = ${action} order by id`),
    ]
  } finally {
    await sql.end()
  }
}

type Variables = Readonly<Record<string, string>>

/** Runs a server that cannot start. */
const refused = async (program: Program, variables: Variables) => {
  const env = { PATH: process.env.PATH ?? '', ...variables }
  const child = Bun.spawn(['bun', '--no-env-file', programPath(program)], { env, stdout: 'inherit', stderr: 'pipe' })
  const errors = await new Response(child.stderr).text()
  return { exitCode: await child.exited, errors }
}

const cli = (args: readonly string[], variables: Variables = service.variables) => runCli(args, variables)

describe('a command as a process of its own', () => {
  test('ends with 0, and its standard output is its result', async () => {
    const { exitCode, output, errors } = await runCliProcess(['project', 'list', '--json'], service.variables)
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' })
    expect(JSON.parse(output)).toMatchObject([{ name: 'Test' }])
  })

  longTest(
    'ends with 1 if it fails, and with 2 if it is called wrongly, with one sentence at standard error',
    async () => {
      expect(await runCliProcess(['project', 'show', randomUUID()], service.variables)).toEqual({
        exitCode: 1,
        output: '',
        errors: 'There is no such project.\n',
      })
      expect(await runCliProcess(['project', 'create'], {})).toEqual({
        exitCode: 2,
        output: '',
        errors: "error: required option '--name <name>' not specified\n",
      })
    },
  )

  longTest('reads a secret from standard input', async () => {
    const refused = await runCliProcess(['project', 'activate', service.project.projectId], service.variables, 'a\nb\n')
    expect(refused).toEqual({
      exitCode: 1,
      output: '',
      errors: 'Standard input must have one line each for: developer secret.\n',
    })
  })

  longTest('prints help and version without any environment variable', async () => {
    const { version } = await Bun.file(new URL('../../package.json', import.meta.url)).json()
    expect(await runCliProcess(['--version'], {})).toEqual({ exitCode: 0, output: `${version}\n`, errors: '' })
    const { exitCode, output, errors } = await runCliProcess(['--help'], {})
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' })
    expect(output).toMatch(/^Usage: strongroom/)
  })
})

describe('project create', () => {
  test('prints, with --json, only the id and the key of a project that works at once', async () => {
    const { exitCode, output, errors } = await cli(['project', 'create', '--name', 'Made by hand', '--json'])
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' })
    const project = JSON.parse(output)
    expect(Object.keys(project).sort()).toEqual(['api_key', 'project_id'])
    expect(output.trim().split('\n')).toHaveLength(1)
    const client = service.as({ projectId: project.project_id, apiKey: project.api_key })
    const wallets = await client.get('/wallets', { network: 'Base' })
    expect(wallets.json).toHaveLength(1)
    expect(wallets.json[0].owner_id).toBe(project.project_id)
  })

  longTest('prints the same for people without --json', async () => {
    const { exitCode, output } = await cli(['project', 'create', '--name', 'Made by hand'])
    expect(exitCode).toBe(0)
    expect(output).toMatch(/^project id: [0-9a-f-]{36}\napi key: {4}sk_[A-Za-z0-9_-]{43}\n/)
  })

  test('refuses an invalid name and creates nothing', async () => {
    const sql = postgres(service.database.url, { max: 1 })
    const count = async () => (await sql`select count(*) from projects`)[0]
    const before = await count()
    const { exitCode, output, errors } = await cli(['project', 'create', '--name', ' '])
    expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' })
    expect(errors).toContain('1 to 256 characters')
    expect(await count()).toEqual(before)
    await sql.end()
  })
})

describe('project list and origins', () => {
  test('lists projects, oldest first', async () => {
    const { exitCode, output } = await cli(['project', 'list', '--json'])
    expect(exitCode).toBe(0)
    const [first] = JSON.parse(output)
    expect(first).toEqual({
      id: service.project.projectId,
      name: 'Test',
      created_at: expect.any(String),
      activated_at: expect.any(String),
      anonymous_login: true,
    })
  })

  test('allows pages of an origin to call at once', async () => {
    const origin = 'https://app.example.com'
    const call = async () => (await service.call('/wallets?network=Base', { headers: { origin } })).status
    expect(await call()).toBe(403)
    const origins = (...args: string[]) => cli(['project', 'origins', ...args], lacking('VAULT_SOCKET'))
    const { projectId } = service.project
    const { exitCode, output } = await origins('add', projectId, origin)
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: `Allowed now: ${origin}\n` })
    expect(await call()).toBe(200)
    expect((await origins('add', projectId, 'https://b.example.com', origin)).output).toBe(
      `Allowed now: ${origin}, https://b.example.com\n`,
    )
    // What once wiped the list is a usage error now.
    expect(await origins(projectId)).toMatchObject({ exitCode: 2, output: '' })
    expect(await origins('remove', projectId, 'https://c.example.com')).toEqual({
      exitCode: 1,
      output: '',
      errors: 'The project does not allow https://c.example.com: nothing was changed.\n',
    })
    expect(await call()).toBe(200)
    expect((await origins('remove', projectId, origin)).output).toBe('Allowed now: https://b.example.com\n')
    expect(await call()).toBe(403)
    const shown = JSON.parse(
      (await cli(['project', 'show', projectId, '--json'], lacking('VAULT_SOCKET', 'IDENTITY_KEY', 'SERVICE_KEY')))
        .output,
    )
    expect(shown).toMatchObject({ id: projectId, allowed_origins: ['https://b.example.com'], passkey_domain: null })
    expect(
      (await cli(['project', 'origins', 'list', projectId], lacking('VAULT_SOCKET', 'IDENTITY_KEY', 'SERVICE_KEY')))
        .output,
    ).toBe('https://b.example.com\n')
    const acts = await audited(projectId, 'origins_changed')
    expect(acts).toEqual([
      { actor: 'operator', details: { origins: origin, before: '' } },
      { actor: 'operator', details: { origins: `${origin} https://b.example.com`, before: origin } },
      { actor: 'operator', details: { origins: 'https://b.example.com', before: `${origin} https://b.example.com` } },
    ])
  })

  longTest('loses no origin of two that are added at once', async () => {
    const { projectId } = await createProject(service.ctx, { name: 'Two', actor: 'operator' })
    const added = ['https://a.example.com', 'https://b.example.com', 'https://c.example.com', 'https://d.example.com']
    await Promise.all(added.map((origin) => addOrigins(service.ctx, { projectId, origins: [origin] })))
    const { allowed_origins } = await showProject(service.ctx, { projectId })
    expect([...allowed_origins].sort()).toEqual(added)
  })

  test('refuses an unknown project and an invalid origin', async () => {
    const unknown = await cli(['project', 'origins', 'add', randomUUID(), 'https://app.example.com'])
    expect(unknown).toEqual({ exitCode: 1, output: '', errors: 'There is no such project.\n' })
    const path = await cli(['project', 'origins', 'add', service.project.projectId, 'https://app.example.com/x'])
    expect(path.exitCode).toBe(1)
    expect(path.errors).toContain('without a path')
  })
})

describe('help and usage errors', () => {
  test('--help lists the commands and needs no environment variables', async () => {
    const { exitCode, output, errors } = await cli(['--help'], {})
    expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' })
    expect(output).toMatch(/^Usage: strongroom/)
    for (const command of ['project', 'db']) expect(output).toContain(`  ${command} `)
    expect((await cli(['project', '--help'], {})).output).toContain('create')
  })

  test('a usage error goes to standard error, and nothing is done', async () => {
    for (const [args, sentence] of [
      [['frobnicate'], "unknown command 'frobnicate'"],
      [['project', 'create'], "required option '--name <name>'"],
      [['project', 'create', '--name', 'x', '--colour'], "unknown option '--colour'"],
      [['project', 'show'], "missing required argument 'project-id'"],
      [['project', 'origins', 'add', service.project.projectId], "missing required argument 'origins'"],
    ] as const) {
      const { exitCode, output, errors } = await cli(args)
      expect({ exitCode, output }).toEqual({ exitCode: 2, output: '' })
      expect(errors).toContain(sentence)
    }
  })
})

describe('an incomplete environment', () => {
  const MARK = 'hunter2'

  test("is reported by every process with the variable's name and the expected form, without its value", async () => {
    const complete = { ...service.variables, DATABASE_URL: `postgres://user:${MARK}@127.0.0.1:1/${MARK}` }
    const changes = [
      [{ ENVIRONMENT: '' }, 'ENVIRONMENT'],
      [{ ENVIRONMENT: MARK }, 'ENVIRONMENT'],
      [{ DATABASE_URL: '' }, 'DATABASE_URL'],
      [{ DATABASE_URL: MARK }, 'DATABASE_URL'],
      [{ SERVICE_KEY: '' }, 'SERVICE_KEY'],
      [{ PORT: MARK }, 'PORT'],
      [{ BASE_RPC_URL: MARK }, 'BASE_RPC_URL'],
      [{ BASE_RPC_URL: `ftp://${MARK}` }, 'BASE_RPC_URL'],
      [{ VARA_RPC_URL: `ftp://${MARK}` }, 'VARA_RPC_URL'],
      [{ VARA_RPC_URL: 'ws://a.example ws://a.example' }, 'VARA_RPC_URL'],
      [{ POLKADOT_METADATA_PIN: MARK }, 'POLKADOT_METADATA_PIN'],
      [{ POLKADOT_METADATA_PIN: `1:0x${'ab'.repeat(32)},1:0x${'cd'.repeat(32)}` }, 'POLKADOT_METADATA_PIN'],
      [{ LOG_LEVEL: MARK }, 'LOG_LEVEL'],
    ] as const
    for (const [change, name] of someOf<(typeof changes)[number]>(changes, 3)) {
      const { exitCode, output, errors } = await cli(['abi', 'remove', 'x'], { ...complete, ...change })
      expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' })
      expect(errors).toStartWith(`${name} must be `)
      expect(errors.trim().split('\n')).toHaveLength(1)
      expect(errors).not.toContain(MARK)
    }
    const programs = [
      ['src/main/vault', 'The vault cannot start: ENVIRONMENT must be'],
      ['src/main/api', 'The server cannot start: ENVIRONMENT must be'],
      ['src/main/worker', 'The worker cannot start: ENVIRONMENT must be'],
    ] as const
    for (const [program, sentence] of someOf(programs, 3)) {
      const { exitCode, errors } = await refused(program, { ...complete, ENVIRONMENT: '' })
      expect(exitCode).toBe(1)
      expect(errors).toStartWith(sentence)
      expect(errors).not.toContain(MARK)
    }
  })

  longTest(
    'is incomplete for the API and commands without the identity key or the vault, and for the vault without the root key or, on mainnet, the journal',
    async () => {
      const replace = ['sessions', 'replace-keys', '--yes']
      for (const [args, name] of [
        [['project', 'create', '--name', 'x'], 'IDENTITY_KEY'],
        [replace, 'IDENTITY_KEY'],
        [['api-key', 'create', '--project', service.project.projectId, '--name', 'x'], 'IDENTITY_KEY'],
      ] as const) {
        const { exitCode, errors } = await cli(args, { ...service.variables, [name]: '' })
        expect(exitCode).toBe(1)
        expect(errors).toStartWith(`${name} must say where the `)
      }
      const unreached = await cli(['project', 'create', '--name', 'x'], { ...service.variables, VAULT_SOCKET: '' })
      expect(unreached).toMatchObject({ exitCode: 1, output: '' })
      expect(unreached.errors).toStartWith('VAULT_SOCKET must be the path ')
      const vault = await refused('src/main/vault', { ...service.vaultVariables, ROOT_KEY: '' })
      expect(vault.errors).toStartWith('The vault cannot start: ROOT_KEY must say where the ')
      const mainnet = { ENVIRONMENT: 'mainnet', DEVNET: 'false', VAULT_JOURNAL: ' ' }
      const unjournaled = await refused('src/main/vault', { ...service.vaultVariables, ...mainnet })
      expect(unjournaled).toEqual({
        exitCode: 1,
        errors:
          "The vault cannot start: VAULT_JOURNAL must be the path of a file for this vault's journal, outside of the database.\n",
      })
      // With one it gets further.
      const journaled = await refused('src/main/vault', {
        ...service.vaultVariables,
        ...mainnet,
        VAULT_JOURNAL: '/nowhere/journal',
      })
      expect(journaled.errors).toContain('This database belongs to testnet')
      const server = await refused('src/main/api', { ...service.variables, IDENTITY_KEY: '' })
      expect(server.errors).toStartWith('The server cannot start: IDENTITY_KEY must say where the ')
      expect((await cli(replace, { ...service.variables, VAULT_SOCKET: '' })).exitCode).toBe(0)
    },
  )

  const READING = [
    'project list',
    'project show PROJECT',
    'project origins list PROJECT',
    'api-key list --project PROJECT',
    'users list --project PROJECT',
    'sessions list --project PROJECT',
    'freeze list',
    'tx list',
    `tx list --signer 0x${'1'.repeat(40)}`,
    'jobs list',
    'abi list',
    'tokens list',
    'audit list --project PROJECT',
    'audit security',
    'nodes',
  ]

  test.each(someOf(READING, 3))('without any key is enough for a command that only reads: %s', async (line) => {
    const { ENVIRONMENT = '', DATABASE_URL = '' } = service.variables
    const args = line.replace('PROJECT', service.project.projectId).split(' ')
    expect(await cli(args, { ENVIRONMENT, DATABASE_URL })).toMatchObject({ exitCode: 0, errors: '' })
  })

  test('is also reported if it belongs to another database', async () => {
    const mainnet = {
      ...service.variables,
      ...{ ENVIRONMENT: 'mainnet', DEVNET: 'false', PUBLIC_BASE_URL: 'https://custody.example.com' },
    }
    const { exitCode, output, errors } = await cli(['project', 'list'], mainnet)
    expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' })
    expect(errors).toContain('testnet')
  })
})
