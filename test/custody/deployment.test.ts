import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Db, openDb } from '../../db/client.ts'
import { checkDeployment } from '../../src/custody/deployment.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { openTestIdentity, openTestRootKey, openTestSealer } from './support.ts'

/** The settings that the worker does not have. */
const OF_WORKER = { rootKey: null, identity: null }
const ETHEREUM = { name: 'Ethereum', family: 'evm', chainId: 11155111 } as const
const POLYGON = { name: 'Polygon', family: 'evm', chainId: 80002 } as const
const VARA = { name: 'Vara', family: 'substrate', chainId: null } as const
const LINEA = { name: 'Linea', family: 'evm', chainId: 59141 } as const
const networks = [ETHEREUM, POLYGON, VARA]

let database: TestDatabase
let superuser: Db
let db: Db
let vaultDb: Db
let apiDb: Db
let workerDb: Db
type Input = Parameters<typeof checkDeployment>[0]
let fitting: Input

beforeAll(async () => {
  database = await createDatabase()
  superuser = openDb({ url: database.url, maxConnections: 1, applicationName: 'superuser' })
  db = openDb({ url: database.url, maxConnections: 5, applicationName: 'owner' })
  vaultDb = openDb({ url: database.vaultUrl, maxConnections: 1, applicationName: 'vault' })
  apiDb = openDb({ url: database.apiUrl, maxConnections: 1, applicationName: 'api' })
  workerDb = openDb({ url: database.workerUrl, maxConnections: 1, applicationName: 'worker' })
  const [rootKey, sealer] = [await openTestRootKey(), await openTestSealer()]
  fitting = { db, environment: 'testnet', networks, rootKey, sealer, identity: await openTestIdentity() }
})
afterAll(async () => {
  for (const pool of [superuser, db, vaultDb, apiDb, workerDb]) await pool.close({ timeoutSeconds: 5 })
  await database.close()
})
beforeEach(async () => {
  await superuser.execute('delete from deployment')
  await superuser.execute('delete from networks')
})

const check = (change: Partial<Input> = {}): Promise<string> =>
  checkDeployment({ ...fitting, ...change }).then(
    () => 'fits',
    (error: unknown) => String(error),
  )

describe('the check row', () => {
  test('is written by the first process and accepted by later ones with the same settings', async () => {
    expect(await check()).toBe('fits')
    expect(await check()).toBe('fits')
    expect(await check({ networks: networks.toReversed() })).toBe('fits')
    expect(await check({ ...OF_WORKER, db: workerDb })).toBe('fits')
  })

  test('is written once if many processes start together', async () => {
    expect(await Promise.all(Array.from({ length: 8 }, () => check()))).toEqual(Array(8).fill('fits'))
    const { rows } = await superuser.execute('select id from deployment')
    expect(rows.length).toBe(1)
  })

  test('is not written by a process without the root key, which says what to do', async () => {
    expect(await check({ ...OF_WORKER, db: workerDb })).toBe(
      'Error: This database is not set up yet: start a process that has the root key first.',
    )
    expect((await superuser.execute('select id from deployment')).rows.length).toBe(0)
  })

  test('refuses another environment', async () => {
    await check()
    expect(await check({ environment: 'mainnet' })).toBe(
      'Error: This database belongs to testnet, and this process is set up for mainnet.',
    )
  })

  test('refuses another root key', async () => {
    await check()
    const rootKey = await openTestRootKey(0x77)
    expect(await check({ rootKey })).toBe(
      `Error: The root key does not fit this database: it is ${rootKey.id}, and should be ${fitting.rootKey?.id}.`,
    )
  })

  test('does not trust the name of a root key', async () => {
    await check()
    const other = await openTestRootKey(0x77)
    expect(await check({ rootKey: { ...other, id: fitting.rootKey?.id ?? '' } })).toBe(
      'Error: The root key does not fit this database: it does not open the check value.',
    )
  })

  test('distinguishes an unavailable root key from a wrong one', async () => {
    await check()
    const { id, wrap } = await openTestRootKey()
    const unwrap = () => Promise.reject(new Error('the service is away'))
    expect(await check({ rootKey: { id, wrap, unwrap } })).toBe('Error: the service is away')
  })

  test('refuses another service key in every process', async () => {
    await check()
    const sealer = await openTestSealer(0x77)
    const sentence = 'Error: The service key does not fit this database: it does not open the check value.'
    expect(await check({ sealer })).toBe(sentence)
    expect(await check({ sealer, ...OF_WORKER, db: workerDb })).toBe(sentence)
  })

  test('refuses another identity key in every process that has one', async () => {
    await check()
    const identity = await openTestIdentity(0x77)
    const sentence = 'Error: The identity key does not fit this database: it does not open the check value.'
    expect(await check({ identity })).toBe(sentence)
    expect(await check({ identity, rootKey: null })).toBe(sentence)
  })

  test('is written by the vault, which has no identity key, and gets that from the first process that has it', async () => {
    const identity = await openTestIdentity(0x77)
    expect(await check({ identity: null, db: vaultDb })).toBe('fits')
    const { rows } = await superuser.execute('select identity_key_check from deployment')
    expect(rows).toEqual([{ identity_key_check: null }])
    const both = [fitting.identity, identity].map((each) => check({ rootKey: null, identity: each, db: apiDb }))
    const refused = 'Error: The identity key does not fit this database: it does not open the check value.'
    expect((await Promise.all(both)).sort()).toEqual([refused, 'fits'])
  })

  test('cannot be changed by the worker', async () => {
    await check()
    const change = async () => workerDb.execute(`update deployment set identity_key_check = ''`)
    await expect(change()).rejects.toMatchObject({ cause: { code: '42501' } })
    expect(await check()).toBe('fits')
  })

  test('is not written if two of the keys are the same', async () => {
    const [rootKey, sealer] = [await openTestRootKey(5), await openTestSealer(5)]
    const identity = await openTestIdentity(5)
    expect(await check({ rootKey, sealer })).toBe('Error: ROOT_KEY and SERVICE_KEY must be two different keys.')
    expect(await check({ rootKey, identity })).toBe('Error: ROOT_KEY and IDENTITY_KEY must be two different keys.')
    expect(await check({ nextRootKey: rootKey, identity })).toBe(
      'Error: ROOT_KEY and IDENTITY_KEY must be two different keys.',
    )
    expect(await check({ sealer, identity })).toBe('Error: IDENTITY_KEY and SERVICE_KEY must be two different keys.')
    expect((await superuser.execute('select id from deployment')).rows.length).toBe(0)
    // The API does not have the root key, and knows its id from the database.
    expect(await check({ rootKey, identity: null })).toBe('fits')
    expect(await check({ rootKey: null, identity })).toBe(
      'Error: ROOT_KEY and IDENTITY_KEY must be two different keys.',
    )
  })
})

describe('the networks of a database', () => {
  const bound = async () =>
    (await superuser.execute<{ name: string }>('select name from networks order by name')).rows.map(({ name }) => name)

  test('are bound at their first use; processes without a new network keep running', async () => {
    await check()
    expect(await bound()).toEqual(['Ethereum', 'Polygon', 'Vara'])
    expect(await check({ networks: [...networks, LINEA] })).toBe('fits')
    expect(await bound()).toEqual(['Ethereum', 'Linea', 'Polygon', 'Vara'])
    expect(await check()).toBe('fits')
    expect(await check({ ...OF_WORKER, db: workerDb })).toBe('fits')
    expect(await check({ ...OF_WORKER, db: workerDb, networks: [LINEA] })).toBe('fits')
  })

  test('are bound once if processes with different networks start together', async () => {
    const others = [networks, [...networks, LINEA], [LINEA]]
    const starts = Array.from({ length: 9 }, (_, index) => check({ networks: others[index % 3] ?? [] }))
    expect(await Promise.all(starts)).toEqual(Array(9).fill('fits'))
    expect(await bound()).toEqual(['Ethereum', 'Linea', 'Polygon', 'Vara'])
  })

  test('are not bound by a process without the root key, which says what to do', async () => {
    await check()
    expect(await check({ ...OF_WORKER, db: workerDb, networks: [...networks, LINEA] })).toBe(
      'Error: This database does not know Linea yet: start a process that has the root key and the same networks first.',
    )
    const add = async () => workerDb.execute(`insert into networks (name, family) values ('Linea', 'evm')`)
    await expect(add()).rejects.toMatchObject({ cause: { code: '42501' } })
  })

  test('keep their chains: another chain id is refused, and so is another name', async () => {
    await check()
    expect(await check({ networks: [{ ...ETHEREUM, chainId: 1 }, POLYGON] })).toBe(
      'Error: Ethereum is the chain with id 1 in this process, and the chain with id 11155111 in this database.',
    )
    expect(await check({ networks: [{ ...VARA, family: 'evm', chainId: 5 }] })).toBe(
      'Error: Vara is the chain with id 5 in this process, and a network of the family substrate in this database.',
    )
    expect(await check({ networks: [{ ...ETHEREUM, name: 'Sepolia' }] })).toBe(
      'Error: Sepolia is the chain with id 11155111 in this process; in this database that chain is named Ethereum.',
    )
    expect(await bound()).toEqual(['Ethereum', 'Polygon', 'Vara'])
  })

  test('cannot be changed by a process that runs', async () => {
    await check()
    for (const each of [vaultDb, apiDb, workerDb]) {
      const change = async () => each.execute('update networks set chain_id = 1')
      await expect(change()).rejects.toMatchObject({ cause: { code: '42501' } })
    }
  })
})
