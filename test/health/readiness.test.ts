// What /readyz says when the database changes under a running API.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import postgres, { type Sql } from 'postgres'
import { startBeingSeen } from '../../src/health/being-seen.ts'
import { keyFile } from '../custody/support.ts'
import { runCli } from '../support/cli.ts'
import { programPath } from '../support/programs.ts'
import { type Service, startService } from '../support/service.ts'

let service: Service
let sql: Sql
let nextRootKey: ReturnType<typeof keyFile>

beforeAll(async () => {
  service = await startService()
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  nextRootKey = keyFile(randomBytes(32))
})
afterAll(async () => {
  await sql.end()
  await service.close()
  nextRootKey.remove()
})

const readyz = async ({ get }: Pick<Service, 'get'> = service) => {
  const { status, json } = await get('/readyz')
  return { status, ...json }
}
const READY = { status: 'ready', networks: {} }
const OTHER_SCHEMA = {
  status: 503,
  error: 'The database does not have the schema of this version: migrate it, or start the version that fits.',
  code: 'unavailable',
}

test.each([
  [
    'a column',
    'alter table mails rename column failure to failures',
    'alter table mails rename column failures to failure',
  ],
  ['a table', 'alter table followed_networks rename to followed', 'alter table followed rename to followed_networks'],
])('an API is not ready while the database lacks %s of its version', async (_what, lose, restore) => {
  expect(await readyz()).toEqual(READY)
  await sql.unsafe(lose)
  expect(await readyz()).toEqual(OTHER_SCHEMA)
  await sql.unsafe(restore)
  expect(await readyz()).toEqual(READY)
})

test('an API is ready on the schema of a later version that only adds to it', async () => {
  await sql`alter table mails add column priority int`
  await sql`create table later (id int)`
  expect(await readyz()).toEqual(READY)
})

/** A process of its own, until others can see it. */
const startApi = async () => {
  const env = { PATH: process.env.PATH ?? '', ...service.variables, PORT: '0', SHUTDOWN_GRACE_SECONDS: '0' }
  const child = Bun.spawn(['bun', '--no-env-file', programPath('src/server')], { env, stderr: 'inherit' })
  while ((await sql`select from api_processes where name = ${`${hostname()}:${child.pid}`}`).length === 0) {
    if (child.exitCode !== null) throw new Error('The API ended.')
    await Bun.sleep(20)
  }
  return child
}

test('an API without the new root key is not ready after the rotation, and one with both keys is', async () => {
  const both = { ...service.variables, ROOT_KEY_NEXT: nextRootKey.spec }
  const old = await startApi()
  const prepared = await startService({ database: { ...service.database, close: async () => {} }, variables: both })
  const stopBeingSeen = startBeingSeen(prepared.ctx)
  try {
    const rotate = ['keys', 'rotate-root', '--to', nextRootKey.spec]
    const unasked = await runCli(rotate, service.variables)
    expect(unasked).toMatchObject({ output: '', errors: 'error: confirm the rotation with --yes, or at a terminal\n' })
    expect(await readyz()).toEqual(READY)
    const rotated = await runCli([...rotate, '--yes'], service.variables)
    expect(rotated).toMatchObject({ exitCode: 0 })
    expect(rotated.errors).toStartWith('2 API processes running, 1 without the next root key.\n')
    const lacking = rotated.errors.split('\n').filter((line) => line.includes('ROOT_KEY_NEXT'))
    expect(lacking).toEqual([expect.stringContaining(`:${old.pid}, started `)])
    expect(await readyz()).toEqual({
      status: 503,
      error: 'The root key was changed: this process must be restarted with the present one as ROOT_KEY.',
      code: 'unavailable',
    })
    expect(await readyz(prepared)).toEqual(READY)
    old.kill('SIGTERM')
    await old.exited
    expect((await sql`select name from api_processes`).map(({ name }) => name)).toEqual([
      `${hostname()}:${process.pid}`,
    ])
  } finally {
    await stopBeingSeen()
    await prepared.close()
  }
})
