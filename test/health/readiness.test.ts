// What /readyz says when the database changes under a running API.

import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { missingColumns } from '../../db/queries/server.ts'
import { createApp } from '../../src/api/app.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { startChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { isLong, longTest } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startSickNode } from '../support/sick-node.ts'
import { startVault, startVaultProcess } from '../support/vault.ts'
import { keyFile } from '../vault/support.ts'

const service = await shared(startService())
const { sql } = service.database
const nextRootKey = keyFile(randomBytes(32))
afterTests(() => nextRootKey.remove())

const readyz = async ({ get }: Pick<Service, 'get'> = service) => {
  const { status, json } = await get('/readyz')
  return { status, ...json }
}
const READY = { status: 'ready', networks: {}, nodes: {} }
const OTHER_SCHEMA = {
  status: 503,
  error: 'The database does not have the schema of this version: migrate it, or start the version that fits.',
  code: 'unavailable',
}

longTest('each failing node is reported by its number, without its address', async () => {
  const chain = await startChain('Ethereum')
  const [first, second] = [startSickNode(chain.rpcUrl), startSickNode(chain.rpcUrl)]
  const other = await startService({ rpcUrls: { Ethereum: `${first.url},${second.url}` } })
  const until = async (nodes: Record<string, string>): Promise<Answer> => {
    const answer = await other.get('/readyz')
    if (Bun.deepEquals(answer.json.nodes, nodes)) return answer
    await Bun.sleep(20)
    return until(nodes)
  }
  try {
    await until({ 'Ethereum#1': 'up', 'Ethereum#2': 'up' })
    await second.fall('answers 500')
    const answer = await until({ 'Ethereum#1': 'up', 'Ethereum#2': 'failing' })
    expect(answer.json).toMatchObject({ status: 'ready', networks: { Ethereum: 'ready' } })
    for (const secret of ['127.0.0.1', new URL(second.url).port]) expect(answer.text).not.toContain(secret)
    await second.fall(null)
    await until({ 'Ethereum#1': 'up', 'Ethereum#2': 'up' })
  } finally {
    await other.close()
    await Promise.all([first.stop(), second.stop()])
    await chain.stop()
  }
})

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

test('API and vault stay with no server that can only be read', async () => {
  // `begin read write` also where the sessions of the test can only read.
  const set = (change: string) =>
    sql.begin('read write', (tx) => tx.unsafe(`alter database ${service.database.name} ${change}`))
  const AWAY = { status: 503, code: 'unavailable' }
  const wallet = { network: 'Polkadot', name: 'W', control_mode: 'developer', developer_secret: 'testnet-secret' }
  const create = async () => {
    const { status, headers, json } = await service.post('/wallets', wallet)
    return { status, code: json.code, retryAfter: headers.get('retry-after') }
  }
  expect(await create()).toMatchObject({ status: 200 })
  await set('set default_transaction_read_only = on')
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'strongroom-test%'`
  // The first attempt may lose the connections of before.
  await create()
  for (let times = 0; times < (isLong ? 3 : 1); times += 1) {
    expect(await create()).toEqual({ ...AWAY, retryAfter: '5' })
    expect(await readyz()).toMatchObject({ ...AWAY, error: 'The database does not answer, or can only be read.' })
    await expect(service.ctx.vault.status()).rejects.toMatchObject({ code: 'unavailable' })
  }
  await set('reset default_transaction_read_only')
  expect(await create()).toMatchObject({ status: 200 })
  expect(await readyz()).toEqual(READY)
})

test('what readiness asks fails where nothing can be written, also if the session was not refused', async () => {
  const asked = service.ctx.db.transaction(missingColumns, { accessMode: 'read only' })
  await expect(asked).rejects.toMatchObject({ code: '25006' })
})

test('an API without a vault says so, and is ready again as soon as there is one', async () => {
  const folder = service.vaultVariables.VAULT_SOCKET?.replace(/[^/]*$/, '') ?? ''
  const own = { ...service.vaultVariables, VAULT_SOCKET: `${folder}own.socket` }
  const first = await startVault(own)
  const variables = { ...service.variables, VAULT_SOCKET: own.VAULT_SOCKET }
  const ctx = await createApiCtx({ config: readConfig(variables), process: 'other' })
  const app = createApp(ctx)
  const readyzThere = async () => {
    const answer = await app.fetch(new Request('http://localhost/readyz'))
    return { status: answer.status, ...(await answer.json()) }
  }
  try {
    expect(await readyzThere()).toEqual(READY)
    await first.close()
    expect(await readyzThere()).toEqual({
      status: 503,
      error: 'No vault can be reached: try again in a few seconds.',
      code: 'unavailable',
    })
    const second = await startVault(own)
    // The question waits until the API has found it.
    expect(await readyzThere()).toEqual(READY)
    await second.close()
  } finally {
    await ctx.close({ timeoutSeconds: 5 })
  }
})

const processes = async () => (await sql`select name from vault_processes order by name`).map(({ name }) => name)

longTest('a vault without the new root key is not ready after the rotation, and one with both keys is', async () => {
  const folder = service.vaultVariables.VAULT_SOCKET?.replace(/[^/]*$/, '') ?? ''
  const old = await startVaultProcess({ ...service.vaultVariables, VAULT_SOCKET: `${folder}old.socket` })
  const both = { ...service.vaultVariables, ROOT_KEY_NEXT: nextRootKey.spec, VAULT_SOCKET: `${folder}both.socket` }
  const prepared = await startVaultProcess(both)
  const other = await startService({
    database: { ...service.database, close: async () => {} },
    variables: { ...service.variables, VAULT_SOCKET: both.VAULT_SOCKET },
    hasVault: false,
  })
  const nameOf = ({ pid }: { readonly pid: number }) => `${hostname()}:${pid}`
  try {
    const variables = { ...service.variables, VAULT_SOCKET: both.VAULT_SOCKET }
    const unasked = await runCli(['keys', 'rotate-root'], variables)
    expect(unasked).toMatchObject({ output: '', errors: 'error: confirm the rotation with --yes, or at a terminal\n' })
    expect(await readyz()).toEqual(READY)
    const rotated = await runCli(['keys', 'rotate-root', '--yes'], variables)
    expect(rotated).toMatchObject({ exitCode: 0 })
    expect(rotated.errors).toStartWith('2 vault processes running, 1 without the next root key.\n')
    const lacking = rotated.errors.split('\n').filter((line) => line.includes('ROOT_KEY_NEXT'))
    expect(lacking).toEqual([expect.stringContaining(`:${old.pid}, started `)])
    expect(await readyz()).toEqual({
      status: 503,
      error: 'The root key was changed: the vault must be restarted with the present one as ROOT_KEY.',
      code: 'unavailable',
    })
    expect(await readyz(other)).toEqual(READY)
    expect(await processes()).toEqual([nameOf(old), nameOf(prepared)].sort())
    await old.stop()
    expect(await processes()).toEqual([nameOf(prepared)])
  } finally {
    await other.close()
    await prepared.stop()
  }
})
