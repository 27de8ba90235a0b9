// A copy of the database takes the place of the one that the vault has used, between two looks of the vault at it. It lacks the
// last record, and the vault notices that.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type PostgresServer, startPostgres } from '../../devnet/postgres.ts'
import { runCli } from '../support/cli.ts'
import { createDatabaseOn, startTestPostgres } from '../support/postgres.ts'
import type { Service } from '../support/service.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import { type Journaled, startJournaled } from './journaled.ts'

const network = 'Ethereum'
/** A port at which nobody listens. */
const NOBODY = 1

let folder: string
let server: PostgresServer
let copy: PostgresServer
let proxy: TcpProxy
let world: Journaled
let api: Service

const at = (name: string) => join(folder, name)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-failover-'))
  await promisify(execFile)('chmod', ['755', folder])
  server = await startTestPostgres(at('one'), { durable: true })
  const database = await createDatabaseOn(server.url)
  const rpcUrls = { [network]: 'http://127.0.0.1:1' }
  proxy = await startTcpProxy(database.vaultUrl)
  world = await startJournaled({ rpcUrls, database, vaults: [{ DATABASE_URL: proxy.url }] })
  api = world.api
})
afterAll(async () => {
  await world.close()
  await proxy.stop()
  await copy.stop()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

const state = async () => {
  const { output } = await runCli(['journal', 'show', '--json'], api.variables)
  return JSON.parse(output || '[]')[0] as { known: number; records: number; is_behind: boolean } | undefined
}

const isSettled = async () => {
  const { known, records } = (await state()) ?? {}
  return known !== undefined && known === records
}

test('a vault whose database is unavailable ends on a signal', async () => {
  await api.newWallet({ network })
  proxy.turnTo(NOBODY)
  proxy.cut()
  expect(await world.stopVaults()).toEqual([0])
  proxy.turnTo(server.port)
  await world.startVaults()
}, 60_000)

test('a late copy that takes the place of the database at once is noticed', async () => {
  await api.newWallet({ network })
  await until(isSettled)
  await server.stop()
  await promisify(execFile)('cp', ['-a', at('one'), at('two')])
  server = await startPostgres({ dataDirectory: at('one'), durable: true, port: server.port })
  copy = await startPostgres({ dataDirectory: at('two'), durable: true })
  await until(isSettled)
  await api.newWallet({ network })
  proxy.turnTo(copy.port)
  proxy.cut()
  await until(async () => (await state())?.is_behind === true)
}, 60_000)
