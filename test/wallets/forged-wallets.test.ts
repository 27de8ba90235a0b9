// What somebody can do with the rows of wallets who owns the database, but has no credential of the other side. Where
// they have IDENTITY_KEY as well, an API takes their rows for its own, and the vault does not.

import { expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { FORGED } from '../auth/forged.ts'
import { runCli } from '../support/cli.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { authenticateWallets } from '../support/wallet-macs.ts'

const PIN = '493817'
const other = (...columns: readonly string[]) => `the audit has another ${columns.join(', ')}`

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1', Base: 'http://127.0.0.1:1' } }))
const { sql } = service.database

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

type Forged = { readonly table: string; readonly id: string; readonly trouble: string }

const allForged = async (): Promise<readonly Forged[]> => {
  const { exitCode, output } = await runCli(['audit', 'verify', '--json'], service.variables)
  const { ok, custody, callers } = JSON.parse(output)
  const forged: readonly Forged[] = [...custody.forged, ...callers.forged]
  expect([ok, exitCode]).toEqual(forged.length === 0 ? [true, 0] : [false, 1])
  return forged
}

/** What the vault, which compares with the audit, and the API, which has the key of the MACs, say of each row. */
const allVerified = async (ids: readonly string[], table = 'wallets'): Promise<readonly (readonly string[])[]> => {
  const forged = await allForged()
  const troublesOf = (id: string) => forged.filter((row) => row.table === table && row.id === id)
  return ids.map((id) => troublesOf(id).map(({ trouble }) => trouble))
}

/** The same of one row. */
const verified = async (id: string, table?: string): Promise<readonly string[]> =>
  (await allVerified([id], table))[0] ?? []

/** Rows that were put back as they were. The last test verifies them all at once. */
const putBack: string[] = []

/** What is said of a row whose MAC is the old one: for each edit in the long run, in the suite for the control mode. */
const expectUnauthenticated = async (ids: readonly string[], column: string): Promise<void> => {
  if (isLong) expect(await allVerified(ids)).toEqual(ids.map(() => [other(column), FORGED]))
}

/** Writes the MAC of a wallet's row as it is now, as somebody with IDENTITY_KEY can. */
const authenticate = (id: string): Promise<void> =>
  authenticateWallets({ url: service.database.url, identity: service.ctx.identity, id })

const change = async (id: string, changes: Readonly<Record<string, string | Uint8Array>>): Promise<void> => {
  await sql`update wallets set ${sql(changes)} where id = ${id}`
}

/** What the audit has of refusals: of the API, which checks the MAC, and of the vault. */
const events = async (id: string): Promise<number> => {
  await service.flushRefusals()
  await service.ctx.securityEvents.flush()
  const [row] = await sql`
    select coalesce(sum((details->>'count')::int)::int, 0) as sum from audit
    where action in ('wallet_forged', 'row_forged') and subject = ${id}`
  return row?.sum
}

test('a wallet whose control mode somebody changed opens with neither credential, and is reported and named', async () => {
  const [theirs] = await sharedWallets()
  await change(theirs.id, { control_mode: 'developer' })
  for (const of of [secret, pin]) expect(await sign(theirs, of)).toEqual([500, 'internal'])
  expect(await events(theirs.id)).toBe(2)
  await expectUnauthenticated([theirs.id], 'control mode')
  await authenticate(theirs.id)
  expect(await sign(theirs, secret)).toEqual([500, 'internal'])
  expect(await sign(theirs, pin)).toEqual([500, 'internal'])
  expect([await events(theirs.id), await verified(theirs.id)]).toEqual([4, [other('control mode')]])
  await change(theirs.id, { control_mode: 'user' })
  await authenticate(theirs.id)
  putBack.push(theirs.id)
})

test('a wallet that somebody moved to another network, owner or keyring opens nothing, and is reported and named', async () => {
  const [wallet, stranger] = [
    await service.newWallet({ network: 'Base' }),
    await service.newWallet({ network: 'Base' }),
  ]
  const [was] = await sql`select network, owner_id, keyring_id from wallets where id = ${wallet.id}`
  const [theirs] = await sql`select keyring_id, owner_id from wallets where id = ${stranger.id}`
  // The stranger's wallet has another owner meanwhile.
  await change(stranger.id, { owner_id: randomUUID() })
  await authenticate(stranger.id)
  let told = 0
  const moves = [
    ['keyring', { keyring_id: theirs?.keyring_id }],
    ['network', { network: 'Ethereum' }],
  ] as const
  for (const [column, moved] of someOf(moves, 2)) {
    await change(wallet.id, moved)
    expect(await sign({ ...wallet, ...moved }, secret)).toEqual([500, 'internal'])
    told += 1
    expect(await events(wallet.id)).toBe(told)
    await expectUnauthenticated([wallet.id], column)
    await authenticate(wallet.id)
    expect(await sign({ ...wallet, ...moved }, secret)).toEqual([500, 'internal'])
    told += 1
    expect(await events(wallet.id)).toBe(told)
    expect(await allVerified([wallet.id, stranger.id])).toEqual([[other(column)], [other('owner')]])
    await sql`update wallets set ${sql(was as never)} where id = ${wallet.id}`
    await authenticate(wallet.id)
  }
  await change(stranger.id, theirs as never)
  await authenticate(stranger.id)
  putBack.push(wallet.id, stranger.id)
})

longTest('a wallet that somebody inserted, and one that somebody deleted, are named', async () => {
  const wallet = await service.newWallet({ network: 'Ethereum' })
  const [row] = await sql`select * from wallets where id = ${wallet.id}`
  const id = randomUUID()
  await sql`insert into wallets ${sql({ ...row, id, owner_id: id, address: `0x${'cd'.repeat(20)}` } as never)}`
  expect(await verified(id)).toEqual(['the audit does not name it', FORGED])
  await sql`delete from wallets where id = ${id}`
  const [key] = await sql`delete from wallet_keys where wallet_id = ${wallet.id} returning *`
  expect(await sign(wallet, secret)).toEqual([500, 'internal'])
  expect(await events(wallet.id)).toBe(1)
  await sql`delete from wallets where id = ${wallet.id}`
  expect(await verified(wallet.id)).toEqual(['the audit names it, and it is gone'])
  await sql`insert into wallets ${sql(row as never)}`
  await sql`insert into wallet_keys ${sql(key as never)}`
  expect(await verified(wallet.id)).toEqual([])
  // It was used, so somebody knew it.
  await sql`delete from wallets where id = ${wallet.id}`
  expect(await verified(wallet.id)).toEqual(['the audit names it, and it is gone'])
  await sql`insert into wallets ${sql(row as never)}`
})

const read = async (path: string, query: Record<string, string>) => {
  const { status, json } = await service.get(`/wallets${path}`, query)
  return [status, json.code ?? json.address]
}

test('a wallet with an edited column under its MAC is neither served nor used, and is reported and named', async () => {
  const wallet = await service.newWallet({ network: 'Ethereum' })
  const stranger = await service.newWallet({ network: 'Ethereum' })
  const [was] = await sql`select address, type, public_key, owner_id from wallets where id = ${wallet.id}`
  const [theirs] = await sql`select public_key from wallets where id = ${stranger.id}`
  const network = 'Ethereum'
  const served = async () => {
    const wallets: readonly Wallet[] = (await service.get('/wallets', { network })).json
    return wallets.filter(({ id }) => id === wallet.id).length
  }
  const [refused, ok] = [
    [500, 'internal'],
    [200, wallet.address],
  ]
  expect([await read('/get-by-id', { network, id: wallet.id }), await served()]).toEqual([ok, 1])
  const changes = {
    address: { address: `0x${'12'.repeat(20)}` },
    type: { type: 'contract' },
    'public key': { public_key: theirs?.public_key },
    owner: { owner_id: randomUUID() },
  }
  for (const [column, changed] of someOf(Object.entries(changes), 4)) {
    await change(wallet.id, changed)
    const { address, owner_id: ownerId }: { address: string; owner_id: string } = { ...wallet, ...was, ...changed }
    const answers = [
      await read('/get-by-id', { network, id: wallet.id }),
      await read('/get-by-address', { network, address }),
      await read('/get-by-owner-id', { network, ownerID: ownerId }),
      await sign({ ...wallet, address, network }, secret),
    ]
    expect([column, answers, await served()]).toEqual([column, Array(4).fill(refused), 0])
    await expectUnauthenticated([wallet.id], column)
    // Whoever makes the MAC anew is named by the vault, whose audit row they cannot make.
    await authenticate(wallet.id)
    expect(await verified(wallet.id)).toEqual([other(column)])
    await change(wallet.id, was as never)
    await authenticate(wallet.id)
  }
  expect(await events(wallet.id)).toBeGreaterThan(0)
  expect([await read('/get-by-id', { network, id: wallet.id }), await served()]).toEqual([ok, 1])
  putBack.push(wallet.id)
})

test.each(someOf(['eoa', 'contract'], 2))(
  'if somebody swaps the addresses of two %s wallets, neither signs for the other',
  async (type) => {
    const network = 'Ethereum'
    const made = async (): Promise<Wallet> =>
      (await service.post('/wallets', { network, name: 'S', control_mode: 'developer', type, ...secret })).json
    const [wallet, stranger] = [await made(), await made()]
    const ids = [wallet.id, stranger.id]
    const swap = async (one: string, another: string) => {
      await change(wallet.id, { address: 'x' })
      await change(stranger.id, { address: another })
      await change(wallet.id, { address: one })
    }
    const told = async (path: string, body: object) => {
      const { status, json } = await service.post(path, { network, ...secret, ...body })
      return [status, json.code]
    }
    const signer = { signer_wallet_address: wallet.address }
    const terms = { argument_rules: [{ argument: 'value', operator: 'eq', value: '1' }], max_total_fee: '1000' }
    const attempts = async () => [
      await told('/wallets/export', { address: wallet.address }),
      await told('/policies', { wallet_address: wallet.address, ...terms }),
      // Those of a contract wallet ask a node.
      ...(type === 'contract'
        ? []
        : [
            await told('/transactions/sign-message', { ...signer, message: 'hello', message_type: 'string' }),
            await told('/transactions/sign', { ...signer, unsigned_transaction: { ...FULL, value: '1' } }),
          ]),
    ]
    const count = (await attempts()).length
    const [ok, refused] = [Array(count).fill([200, undefined]), Array(count).fill([500, 'internal'])]
    if (isLong) expect(await attempts()).toEqual(ok)
    await swap(stranger.address, wallet.address)
    expect(await attempts()).toEqual(refused)
    await expectUnauthenticated(ids, 'address')
    // An API now takes the row for its own, and asks the vault for the stranger's key.
    for (const id of ids) await authenticate(id)
    const before = await events(stranger.id)
    expect([await attempts(), await events(stranger.id)]).toEqual([refused, before + count])
    expect(await allVerified(ids)).toEqual(ids.map(() => [other('address')]))
    await swap(wallet.address, stranger.address)
    for (const id of ids) await authenticate(id)
    expect(await attempts()).toEqual(ok)
    putBack.push(...ids)
  },
)

longTest('a wallet whose row somebody deleted before its first use is reported', async () => {
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

/** A keyring that both control modes share, and ways to use its wallets. */
const sharedKeyring = async () => {
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
  return { id, owner, ours, both, exported, spoken, alone, shared: await seedOf() }
}

const [ok, forged] = [
  [200, undefined],
  [500, 'internal'],
]
const set = 'its seed lock, or the set of its locks, is not as it was made'
const gone = (of: string) => `the audit names its lock of the ${of}, and it is gone`

test('a shared keyring without one of its locks gives no seed, signs no message, and is named', async () => {
  const { id, owner, ours, both, exported, spoken } = await sharedKeyring()
  expect([await exported(owner, both), await spoken(ours, both)]).toEqual([ok, ok])
  for (const of of [pin, secret]) expect(await exported(owner, of)).toEqual([400, 'credential_required'])

  // Without the other lock, the seed still needs the other credential, and a message as well. The mode's own wallets
  // go on.
  const [lock] = await sql`delete from owner_locks where keyring_id = ${id} and control_mode = 'user' returning *`
  for (const of of [exported, spoken]) expect(await of(ours, secret)).toEqual(forged)
  expect(await sign(ours, secret)).toEqual(ok)
  expect(await sign({ ...owner, network: 'Ethereum' }, pin)).toEqual(forged)
  expect([await events(ours.id), await events(owner.id)]).toEqual([2, 1])
  expect(await verified(id, 'keyrings')).toEqual([gone('user'), set])
  await sql`insert into owner_locks ${sql(lock as never)}`
  putBack.push(id)
})

longTest('a shared keyring with a lock of the other mode, or with its earlier seed lock, does not either', async () => {
  const { id, owner, ours, both, exported, spoken, alone, shared } = await sharedKeyring()
  // A lock of the other mode does not open for this one.
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

  // With one lock it was true once. The vault that shared the control knows the present state, and the audit names
  // it.
  await sql`delete from owner_locks where keyring_id = ${id} and control_mode = 'developer'`
  expect([await exported(owner, pin), await spoken(owner, pin)]).toEqual([forged, forged])
  expect(await sign(ours, secret)).toEqual(forged)
  expect(await verified(id, 'keyrings')).toEqual([gone('developer')])
  await sql`update keyrings set sealed = ${shared} where id = ${id}`
  await sql`insert into owner_locks ${sql(developers as never)}`
  expect([await exported(owner, both), await verified(id, 'keyrings')]).toEqual([ok, []])
})

test('rows that were put back as they were are named no longer', async () => {
  expect(putBack.length).toBeGreaterThan(0)
  expect((await allForged()).filter(({ id }) => putBack.includes(id))).toEqual([])
})
