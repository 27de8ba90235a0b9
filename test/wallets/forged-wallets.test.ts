// What somebody can do with the rows of wallets who owns the database, but has no credential of the other side.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { runCli } from '../support/cli.ts'
import { type Service, startService } from '../support/service.ts'

const PIN = '493817'
const OTHER = 'the audit tells of another owner, network, control mode or keyring'

let service: Service
let sql: Sql

beforeAll(async () => {
  service = await startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1', Base: 'http://127.0.0.1:1' } })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await sql.end()
  await service.close()
})

type Wallet = { readonly id: string; readonly address: string; readonly owner_id: string; readonly network: string }

const secret = { developer_secret: 'testnet-secret' }
const pin = { user_pin: PIN }

/** Both control modes of one owner, who shares one keyring. */
const sharedWallets = async (): Promise<readonly [theirs: Wallet, ours: Wallet]> => {
  const theirs = await service.newWallet({ network: 'Ethereum', pin: PIN })
  const shared = { network: 'Base', name: 'S', owner_id: theirs.owner_id, control_mode: 'developer' }
  const { status, json, text } = await service.post('/wallets', { ...shared, ...secret, ...pin })
  if (status !== 200) throw new Error(text)
  return [{ ...theirs, network: 'Ethereum' }, json]
}

/** Every field is given, so that no node is asked. */
const FULL = { to: `0x${'ab'.repeat(20)}`, nonce: '0', gasLimit: '21000', maxFeePerGas: '1', maxPriorityFeePerGas: '1' }

const sign = async ({ address, network }: Wallet, credentials: object) => {
  const body = {
    signer_wallet_address: address,
    network,
    unsigned_transaction: { ...FULL, value: '1' },
    ...credentials,
  }
  const { json, status } = await service.post('/transactions/sign', body)
  return [status, json.code]
}

const verified = async (id: string, table = 'wallets'): Promise<readonly string[]> => {
  const { exitCode, output } = await runCli(['audit', 'verify', '--json'], service.variables)
  const { ok, custody } = JSON.parse(output)
  const forged: readonly { table: string; id: string; trouble: string }[] = custody.forged
  expect([ok, exitCode]).toEqual(forged.length === 0 ? [true, 0] : [false, 1])
  return forged.filter((row) => row.table === table && row.id === id).map(({ trouble }) => trouble)
}

const events = async (id: string): Promise<number> => {
  await service.ctx.securityEvents.flush()
  return (await sql`select from audit where action = 'wallet_forged' and subject = ${id}`).length
}

test('a wallet whose control mode somebody flipped opens with neither credential, is told and is named', async () => {
  const [theirs] = await sharedWallets()
  expect(await verified(theirs.id)).toEqual([])
  await sql`update wallets set control_mode = 'developer' where id = ${theirs.id}`
  expect(await sign(theirs, secret)).toEqual([500, 'internal'])
  expect(await sign(theirs, pin)).toEqual([400, 'credential_required'])
  expect([await events(theirs.id), await verified(theirs.id)]).toEqual([1, [OTHER]])
  await sql`update wallets set control_mode = 'user' where id = ${theirs.id}`
  expect(await verified(theirs.id)).toEqual([])
})

test('a wallet that somebody moved to another network, owner or keyring opens nothing, is told and is named', async () => {
  const [wallet, stranger] = [
    await service.newWallet({ network: 'Base' }),
    await service.newWallet({ network: 'Base' }),
  ]
  const [was] = await sql`select network, owner_id, keyring_id from wallets where id = ${wallet.id}`
  const [other] = await sql`select keyring_id from wallets where id = ${stranger.id}`
  let told = 0
  for (const change of [{ network: 'Ethereum' }, { keyring_id: other?.keyring_id }]) {
    await sql`update wallets set ${sql(change)} where id = ${wallet.id}`
    expect(await sign({ ...wallet, ...change }, secret)).toEqual([500, 'internal'])
    told += 1
    expect([await events(wallet.id), await verified(wallet.id)]).toEqual([told, [OTHER]])
    await sql`update wallets set ${sql(was as never)} where id = ${wallet.id}`
  }
  await sql`update wallets set owner_id = ${randomUUID()} where id = ${wallet.id}`
  expect(await verified(wallet.id)).toEqual([OTHER])
  await sql`update wallets set ${sql(was as never)} where id = ${wallet.id}`
  expect(await verified(wallet.id)).toEqual([])
})

test('a wallet that somebody inserted, and one that somebody deleted, are named', async () => {
  const wallet = await service.newWallet({ network: 'Ethereum' })
  const [row] = await sql`select * from wallets where id = ${wallet.id}`
  const id = randomUUID()
  await sql`insert into wallets ${sql({ ...row, id, owner_id: id, address: `0x${'cd'.repeat(20)}` } as never)}`
  expect(await verified(id)).toEqual(['the audit does not tell of it'])
  await sql`delete from wallets where id = ${id}`
  const [key] = await sql`delete from wallet_keys where wallet_id = ${wallet.id} returning *`
  expect(await sign(wallet, secret)).toEqual([500, 'internal'])
  expect(await events(wallet.id)).toBe(1)
  await sql`delete from wallets where id = ${wallet.id}`
  expect(await verified(wallet.id)).toEqual(['the audit tells of it, and it is gone'])
  await sql`insert into wallets ${sql(row as never)}`
  await sql`insert into wallet_keys ${sql(key as never)}`
  expect(await verified(wallet.id)).toEqual([])
  // It was used, so somebody knew it.
  await sql`delete from wallets where id = ${wallet.id}`
  expect(await verified(wallet.id)).toEqual(['the audit tells of it, and it is gone'])
  await sql`insert into wallets ${sql(row as never)}`
})

test('a wallet whose row somebody deleted before it was used is told', async () => {
  const wallet = await service.newWallet({ network: 'Ethereum' })
  const unfinished = async () => {
    const { exitCode, output } = await runCli(['audit', 'verify'], service.variables)
    return [exitCode, output.split('\n').filter((line) => line.startsWith('UNFINISHED'))]
  }
  expect(await unfinished()).toEqual([0, []])
  const [row] = await sql`delete from wallets where id = ${wallet.id} returning *`
  const { projectId } = service.project
  const sentence = `UNFINISHED: table wallets, row ${wallet.id}, project ${projectId}: it has a key and no row: it was never finished, or somebody deleted its row before it was used.`
  expect(await unfinished()).toEqual([0, [sentence]])
  await sql`insert into wallets ${sql(row as never)}`
  expect(await unfinished()).toEqual([0, []])
})

test('a shared keyring without one of its locks, or with its seed of before, gives no seed and signs no message, and is named', async () => {
  const owner = await service.newWallet({ network: 'Ethereum', pin: PIN })
  const [wallet] = await sql`select keyring_id from wallets where id = ${owner.id}`
  const id = String(wallet?.keyring_id)
  const seedOf = async () => (await sql`select sealed from keyrings where id = ${id}`)[0]?.sealed
  const alone = await seedOf()
  const body = { network: 'Base', name: 'S', owner_id: owner.owner_id, control_mode: 'developer' }
  const ours: Wallet = (await service.post('/wallets', { ...body, ...secret, ...pin })).json
  const both = { ...secret, ...pin }
  const told = async (path: string, of: object) => {
    const { status, json } = await service.post(path, of)
    return [status, json.code]
  }
  const exported = ({ address, network = 'Ethereum' }: Partial<Wallet>, credentials: object) =>
    told('/wallets/export', { network, address, ...credentials })
  const message = { message: 'hello', message_type: 'string' }
  const spoken = ({ address, network = 'Ethereum' }: Partial<Wallet>, credentials: object) =>
    told('/transactions/sign-message', { network, signer_wallet_address: address, ...message, ...credentials })
  const [ok, forged] = [
    [200, undefined],
    [500, 'internal'],
  ]
  expect([await exported(owner, both), await spoken(ours, both)]).toEqual([ok, ok])
  for (const of of [pin, secret]) expect(await exported(owner, of)).toEqual([400, 'credential_required'])
  expect(await verified(id, 'keyrings')).toEqual([])
  const set = 'its seed lock, or the set of its locks, is not as it was made'
  const gone = (of: string) => `the audit tells of its lock of the ${of}, and it is gone`

  // Without the other lock, the seed still needs the other credential, and a message as well. The mode's own wallets go on.
  const shared = await seedOf()
  const [lock] = await sql`delete from owner_locks where keyring_id = ${id} and control_mode = 'user' returning *`
  for (const of of [exported, spoken]) expect(await of(ours, secret)).toEqual(forged)
  expect(await sign(ours, secret)).toEqual(ok)
  expect(await sign({ ...owner, network: 'Ethereum' }, pin)).toEqual(forged)
  expect([await events(ours.id), await events(owner.id)]).toEqual([1, 1])
  expect(await verified(id, 'keyrings')).toEqual([gone('user'), set])
  await sql`insert into owner_locks ${sql(lock as never)}`
  expect(await verified(id, 'keyrings')).toEqual([])

  // Nor does a lock of the other mode open for this one.
  const flip = (from: string, to: string) =>
    sql`update owner_locks set control_mode = ${to} where keyring_id = ${id} and control_mode = ${from}`
  const [developers] =
    await sql`delete from owner_locks where keyring_id = ${id} and control_mode = 'developer' returning *`
  await flip('user', 'developer')
  for (const of of [exported, spoken]) expect(await of(ours, secret)).toEqual(forged)
  expect(await sign(ours, secret)).toEqual(forged)
  expect(await verified(id, 'keyrings')).toEqual([gone('user'), set, 'its lock of the developer is not as it was made'])
  await flip('developer', 'user')
  await sql`insert into owner_locks ${sql(developers as never)}`

  // The seed as it was before control was shared does not open while there are two locks.
  await sql`update keyrings set sealed = ${alone} where id = ${id}`
  for (const of of [exported, spoken]) expect(await of(owner, both)).toEqual(forged)
  for (const of of [pin, secret]) expect(await exported(owner, of)).toEqual([400, 'credential_required'])
  expect(await sign(ours, secret)).toEqual(ok)
  expect(await verified(id, 'keyrings')).toEqual([set])

  // With one lock it was true once: it holds, and the audit tells. It leads to no wallet of the other mode.
  await sql`delete from owner_locks where keyring_id = ${id} and control_mode = 'developer'`
  expect([await exported(owner, pin), await spoken(owner, pin)]).toEqual([ok, ok])
  expect(await sign(ours, secret)).toEqual(forged)
  expect(await verified(id, 'keyrings')).toEqual([gone('developer')])
  await sql`update keyrings set sealed = ${shared} where id = ${id}`
  await sql`insert into owner_locks ${sql(developers as never)}`
  expect([await exported(owner, both), await verified(id, 'keyrings')]).toEqual([ok, []])
})
