// What each connection of each process may do for how long: PostgreSQL itself records the settings of every session at
// its login.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { sumHoldings } from '../../db/holdings.ts'
import { migrate } from '../../db/migrate.ts'
import { startApiProcess } from '../support/api.ts'
import { runCli } from '../support/cli.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { type Service, startService } from '../support/service.ts'
import { startVaultProcess } from '../support/vault.ts'
import { startWorkerHere } from '../support/worker-here.ts'

let database: TestDatabase
let service: Service
let sql: Sql

beforeAll(async () => {
  database = await createDatabase({ isByTcp: true })
  service = await startService({ database })
  sql = postgres(database.url, { max: 1, onnotice: () => {} })
  await sql`create table logins (name text, settings jsonb)`
  await sql.unsafe(`
    create function record_login() returns event_trigger language plpgsql security definer as $$
    begin
      insert into public.logins select current_setting('application_name'), jsonb_object_agg(name, setting)
      from pg_settings where name ~ '^(lock|statement|idle_in_transaction_session)_timeout$|^tcp_|^plan_cache_mode$';
    end $$`)
  await sql`create event trigger record_login on login execute function record_login()`
})
afterAll(async () => {
  await sql`drop event trigger record_login`
  await sql.end()
  await service.close()
})

/** The settings with which sessions of each name logged in. */
const logins = () => sql<{ name: string; settings: Record<string, string> }[]>`
  select distinct regexp_replace(name, '-[0-9a-f]{8}-.*', '') as name, settings from logins order by name`

test("every session of a process has limits, and only the owner's commands have none for a statement", async () => {
  const socket = `${service.variables.VAULT_SOCKET}.own`
  const vault = await startVaultProcess({ ...service.vaultVariables, VAULT_SOCKET: socket })
  const api = await startApiProcess({ ...service.variables, VAULT_SOCKET: socket })
  const worker = await startWorkerHere(service)
  const client = service.as(service.project, api.url)
  const body = { network: 'Polkadot', name: 'W', control_mode: 'developer', developer_secret: 'testnet-secret' }
  // A vault makes no key while there is a trigger that it does not know.
  expect((await client.post('/wallets', body)).json.code).toBe('unavailable')
  await runCli(['project', 'list'], service.variables)
  // A migration of the queue's tables, too.
  await sql`drop schema graphile_worker cascade`
  await migrate(database.url)
  await sumHoldings(database.url)
  await worker.stop()
  await api.stop()
  await vault.stop()
  const owners = ['strongroom-db-migrate', 'strongroom-db-sum-holdings']
  const processes = ['strongroom-api', 'strongroom-cli', 'strongroom-jobs', 'strongroom-vault', 'strongroom-worker']
  // Others are the test's own.
  const seen = (await logins()).filter(({ name }) => [...owners, ...processes].includes(name))
  expect([...new Set(seen.map(({ name }) => name))].sort()).toEqual([...owners, ...processes].sort())
  expect(new Set(seen.map(({ settings }) => settings.plan_cache_mode)).size).toBe(2)
  for (const { name, settings } of seen) {
    const isOwner = owners.includes(name)
    const { plan_cache_mode: _, ...limits } = settings
    expect({ name, limits }).toEqual({
      name,
      limits: {
        lock_timeout: name === 'strongroom-db-migrate' ? '2000' : '10000',
        statement_timeout: isOwner ? '0' : '30000',
        idle_in_transaction_session_timeout: '8000',
        tcp_keepalives_idle: '10',
        tcp_keepalives_interval: '5',
        tcp_keepalives_count: '3',
        tcp_user_timeout: '25000',
      },
    })
  }
})
