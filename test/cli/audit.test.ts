// The API writes audit rows, a worker process chains them, and the command verifies them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { runCli } from '../support/cli.ts'
import { programPath } from '../support/programs.ts'
import { type Service, startService } from '../support/service.ts'

let service: Service
let sql: Sql

beforeAll(async () => {
  service = await startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await sql.end()
  await service.close()
})

const cli = (args: readonly string[], variables: Record<string, string> = {}) =>
  runCli(['audit', ...args], { ...service.variables, VAULT_SOCKET: '', ...variables })

/** A worker whose log we read: `heads` collects the heads that it publishes. */
const startWorker = () => {
  const heads: string[] = []
  const worker = Bun.spawn(['bun', '--no-env-file', programPath('jobs/worker')], {
    env: {
      PATH: process.env.PATH ?? '',
      ...service.variables,
      VAULT_SOCKET: '',
      DATABASE_URL: service.database.workerUrl,
      LOG_LEVEL: 'info',
    },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const reading = (async () => {
    let rest = ''
    for await (const chunk of worker.stdout) {
      const lines = (rest + Buffer.from(chunk).toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const { msg, head } = JSON.parse(line)
        if (msg === 'audit head') heads.push(head)
      }
    }
  })()
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    worker.kill(signal)
    await worker.exited
    await reading
  }
  return { heads, end }
}

const until = async (condition: () => Promise<boolean> | boolean, timeoutMs = 20_000) => {
  const deadline = Date.now() + timeoutMs
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('it did not come about')
    await sleep(50)
  }
}

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

test('a worker chains audit rows and publishes heads that the command verifies; another worker replaces a killed one', async () => {
  const { projectId } = service.project
  const first = startWorker()
  await until(async () => (await unchained()) === 0)
  await until(() => first.heads.some((head) => head.startsWith(projectId)))
  for (let count = 0; count < 5; count += 1) await service.newWallet({ network: 'Ethereum', ownerId: randomUUID() })
  await until(async () => (await unchained()) === 0)
  await first.end('SIGKILL')

  await service.newWallet({ network: 'Ethereum' })
  expect(await unchained()).toBe(1)
  const verified = await cli(['verify', '--heads'])
  expect(verified).toMatchObject({ exitCode: 0, errors: '' })
  expect(verified.output).toMatch(/^Unchained tail: 1 rows, the oldest of \d{4}-.*Z\.$/m)
  const [end = ''] = verified.output.split('\n').filter((line) => line.startsWith(projectId))

  const second = startWorker()
  await until(async () => (await unchained()) === 0)
  await until(() => second.heads.includes(end) || second.heads.length > 0)
  await second.end('SIGTERM')
  const heads = [...first.heads, ...second.heads, end].flatMap((head) => ['--head', head])
  const proved = await cli(['verify', ...heads])
  expect(proved).toMatchObject({ exitCode: 0, errors: '' })
  expect(proved.output).toMatch(
    /^Rows that admit somebody: all 2 are as the service wrote them\.\nCounts of wrong PINs, policies, wallets and keyrings were not checked: that needs VAULT_SOCKET, IDENTITY_KEY and the login of the API\.\nUnchained tail: 0 rows\.\nThe audit holds: \d+ rows in 1 chains\.\n$/,
  )
}, 60_000)

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
      rows: expect.any(Number),
      broken: [
        {
          chain: row?.chain,
          position: '3',
          audit_id: row?.id,
          trouble: 'its audit row is not as it was written',
        },
      ],
      heads: [],
      unchained: { rows: 0, oldest: null },
      callers: { rows: 2, forged: [] },
      custody: null,
    })
    await tamper(`update audit set actor = '${row?.actor}' where id = ${row?.id}`)
  })

  test("works with the worker's database login, and fails with another service key", async () => {
    const asWorker = { DATABASE_URL: service.database.workerUrl, IDENTITY_KEY: '' }
    const { exitCode, output } = await cli(['verify', '--json'], asWorker)
    expect(exitCode).toBe(0)
    expect(JSON.parse(output)).toMatchObject({ ok: true, broken: [], callers: null })
    expect((await cli(['verify'], asWorker)).output).toStartWith('Rows that admit somebody were not checked: ')
    const other = await cli(['verify'], { SERVICE_KEY: service.variables.IDENTITY_KEY ?? '', IDENTITY_KEY: '' })
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
    const text = await cli(['list', '--project', project])
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

test('audit verify with the root key names each count of wrong PINs that somebody has edited or deleted', async () => {
  const withKey = { VAULT_SOCKET: service.variables.VAULT_SOCKET ?? '' }
  const { projectId } = service.project
  const [edited, deleted] = [randomUUID(), randomUUID()]
  for (const ownerId of [edited, deleted]) await service.newWallet({ network: 'Ethereum', ownerId, pin: '846201' })
  const intact = await cli(['verify'], withKey)
  expect(intact).toMatchObject({ exitCode: 0, errors: '' })
  expect(intact.output).toContain(
    'Counts of wrong PINs, policies, wallets and keyrings: all rows are as the service wrote them.\n',
  )
  await sql`update pin_guesses set total = 7 where owner_id = ${edited}`
  await sql`delete from pin_guesses where owner_id = ${deleted}`
  const found = await cli(['verify'], withKey)
  expect(found).toMatchObject({ exitCode: 1, errors: '' })
  expect(found.output).toContain(
    `FORGED: table pin_guesses, row ${edited}, project ${projectId}: it is not as it was written.\n`,
  )
  expect(found.output).toContain(`FORGED: table pin_guesses, row ${deleted}, project ${projectId}: it is gone.\n`)
  expect(found.output).toContain('The audit does not hold.')
  const json = JSON.parse((await cli(['verify', '--json'], withKey)).output)
  expect(json).toMatchObject({ ok: false, broken: [] })
  expect(json.custody.forged).toHaveLength(2)
  for (const ownerId of [edited, deleted]) {
    const unlocked = await runCli(['owner', 'unlock', '--project', projectId, '--owner', ownerId], service.variables)
    expect(unlocked.exitCode).toBe(0)
  }
  expect((await cli(['verify'], withKey)).exitCode).toBe(0)
})
