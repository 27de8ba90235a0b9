import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { type PostgresServer, startPostgres } from '../../devnet/postgres.ts'
import { isRunning } from '../../devnet/process-info.ts'
import { longTest } from '../support/long.ts'

let folder = ''
/** The cluster of every test that needs none of its own, because making one takes more than a second of CPU. */
let shared = ''
const started: PostgresServer[] = []

beforeAll(async () => {
  shared = join(await mkdtemp(join(tmpdir(), 'strongroom-postgres-')), 'data')
})
afterAll(() => rm(dirname(shared), { recursive: true, force: true }))

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-postgres-'))
})

afterEach(async () => {
  for (const server of started.splice(0)) await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const start = async (dataDirectory: string, options: { durable?: boolean; port?: number } = {}) => {
  const server = await startPostgres({ dataDirectory, durable: false, ...options })
  started.push(server)
  return server
}

const query = async (url: string, text: string) => {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    return await sql.unsafe(text)
  } finally {
    await sql.end()
  }
}

longTest('a new server uses UTF-8 and UTC, and keeps its data for the next start', async () => {
  const data = join(folder, 'data')
  const first = await start(data, { durable: true })
  expect(await query(first.url, 'show server_encoding')).toMatchObject([{ server_encoding: 'UTF8' }])
  expect(await query(first.url, 'show timezone')).toMatchObject([{ TimeZone: 'UTC' }])
  expect(await query(first.url, 'show fsync')).toMatchObject([{ fsync: 'on' }])
  await query(first.url, 'create table kept (n int); insert into kept values (7)')
  await first.stop()
  const second = await start(data)
  expect(await query(second.url, 'select n from kept')).toMatchObject([{ n: 7 }])
  expect(await query(second.url, 'show fsync')).toMatchObject([{ fsync: 'off' }])
})

longTest('a connection without the password is refused', async () => {
  const server = await start(shared)
  const url = new URL(server.url)
  url.password = 'postgres'
  await expect(query(url.href, 'select 1')).rejects.toThrow('password authentication failed')
})

longTest('a killed server restarts with its committed data', async () => {
  const first = await start(shared, { durable: true })
  await query(first.url, 'create table kept (n int); insert into kept values (7)')
  process.kill(first.process.pid, 'SIGKILL')
  expect(await first.process.exited).toBe('SIGKILL')
  const second = await start(shared, { durable: true })
  expect(await query(second.url, 'select n from kept')).toMatchObject([{ n: 7 }])
})

longTest('a pid file whose number now belongs to another program does not prevent a start', async () => {
  await (await start(shared)).stop()
  await writeFile(join(shared, 'postmaster.pid'), `${process.pid}\n${shared}\n1\n5432\n`)
  const server = await start(shared)
  expect(await query(server.url, 'select 1 as one')).toMatchObject([{ one: 1 }])
})

longTest('it runs below a folder that only its owner may enter', async () => {
  const closed = join(folder, 'closed')
  await mkdir(closed)
  await chmod(closed, 0o700)
  const server = await start(join(closed, 'below', 'data'))
  expect(await query(server.url, 'select 1 as one')).toMatchObject([{ one: 1 }])
})

longTest('a port in use is an error', async () => {
  const first = await start(shared)
  await expect(
    startPostgres({ dataDirectory: join(folder, 'data'), durable: false, port: first.port }),
  ).rejects.toThrow('Address already in use')
})

test('it ends when the process that started it is killed', async () => {
  const module = new URL('../../devnet/postgres.ts', import.meta.url).href
  const script = `
    const { startPostgres } = await import(${JSON.stringify(module)})
    const server = await startPostgres({ dataDirectory: ${JSON.stringify(shared)}, durable: false })
    console.log(server.process.pid)
    setInterval(() => {}, 1000)`
  const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(parent.stdout, 'data')
  const pid = Number(String(line))
  expect(isRunning(pid)).toBe(true)
  parent.kill('SIGKILL')
  for (let tries = 0; tries < 100 && isRunning(pid); tries += 1) await sleep(50)
  expect(isRunning(pid)).toBe(false)
})
