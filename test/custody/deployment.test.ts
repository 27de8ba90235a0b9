import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Db, openDb } from '../../db/client.ts'
import { checkDeployment } from '../../src/custody/deployment.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { openTestIdentity, openTestRootKey, openTestSealer } from './support.ts'

/** What the worker does not have. */
const OF_WORKER = { rootKey: null, identity: null }
const chainIds = { Ethereum: 11155111, Polygon: 80002 }

let database: TestDatabase
let superuser: Db
let db: Db
let workerDb: Db
type Input = Parameters<typeof checkDeployment>[0]
let fitting: Input

beforeAll(async () => {
  database = await createDatabase()
  superuser = openDb({ url: database.url, maxConnections: 1, applicationName: 'superuser' })
  db = openDb({ url: database.apiUrl, maxConnections: 5, applicationName: 'api' })
  workerDb = openDb({ url: database.workerUrl, maxConnections: 1, applicationName: 'worker' })
  const [rootKey, sealer] = [await openTestRootKey(), await openTestSealer()]
  fitting = { db, environment: 'testnet', chainIds, rootKey, sealer, identity: await openTestIdentity() }
})
afterAll(async () => {
  for (const pool of [superuser, db, workerDb]) await pool.close({ timeoutSeconds: 5 })
  await database.close()
})
beforeEach(async () => {
  await superuser.execute('delete from deployment')
})

const check = (change: Partial<Input> = {}): Promise<string> =>
  checkDeployment({ ...fitting, ...change }).then(
    () => 'fits',
    (error: unknown) => String(error),
  )

describe('the check row', () => {
  test('is written by the first process and fits every later one like it', async () => {
    expect(await check()).toBe('fits')
    expect(await check()).toBe('fits')
    expect(await check({ chainIds: { Polygon: 80002, Ethereum: 11155111 } })).toBe('fits')
    expect(await check({ ...OF_WORKER, db: workerDb })).toBe('fits')
  })

  test('is written once where many processes start together', async () => {
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

  test('says that the environment does not fit', async () => {
    await check()
    expect(await check({ environment: 'mainnet' })).toBe(
      'Error: This database belongs to testnet, and this process is set up for mainnet.',
    )
  })

  test.each([
    ['another id', { Ethereum: 1, Polygon: 80002 }, 'Ethereum 1, Polygon 80002'],
    ['one more', { ...chainIds, Base: 84532 }, 'Base 84532, Ethereum 11155111, Polygon 80002'],
    ['one less', { Ethereum: 11155111 }, 'Ethereum 11155111'],
  ])('says that the chain ids do not fit: %s', async (_what, other, said) => {
    await check()
    expect(await check({ chainIds: other })).toBe(
      `Error: This process has the chain ids ${said}; this database belongs to Ethereum 11155111, Polygon 80002.`,
    )
  })

  test('says that the root key does not fit', async () => {
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

  test('does not take a root key that is away for one that does not fit', async () => {
    await check()
    const { id, wrap } = await openTestRootKey()
    const unwrap = () => Promise.reject(new Error('the service is away'))
    expect(await check({ rootKey: { id, wrap, unwrap } })).toBe('Error: the service is away')
  })

  test('says that the service key does not fit, to every process', async () => {
    await check()
    const sealer = await openTestSealer(0x77)
    const sentence = 'Error: The service key does not fit this database: it does not open the check value.'
    expect(await check({ sealer })).toBe(sentence)
    expect(await check({ sealer, ...OF_WORKER, db: workerDb })).toBe(sentence)
  })

  test('says that the identity key does not fit, to every process that has one', async () => {
    await check()
    const identity = await openTestIdentity(0x77)
    const sentence = 'Error: The identity key does not fit this database: it does not open the check value.'
    expect(await check({ identity })).toBe(sentence)
    expect(await check({ identity, rootKey: null })).toBe(sentence)
  })

  test('is not written by a process without the identity key', async () => {
    expect(await check({ identity: null })).toStartWith('Error: This database is not set up yet')
    expect((await superuser.execute('select id from deployment')).rows.length).toBe(0)
  })

  test('cannot be changed by the worker', async () => {
    await check()
    const change = async () => workerDb.execute(`update deployment set identity_key_check = ''`)
    await expect(change()).rejects.toMatchObject({ cause: { code: '42501' } })
    expect(await check()).toBe('fits')
  })

  test('is not even written where two of the keys are one', async () => {
    const [rootKey, sealer] = [await openTestRootKey(5), await openTestSealer(5)]
    const identity = await openTestIdentity(5)
    expect(await check({ rootKey, sealer })).toBe('Error: ROOT_KEY and SERVICE_KEY must be two different keys.')
    expect(await check({ rootKey, identity })).toBe('Error: ROOT_KEY and IDENTITY_KEY must be two different keys.')
    expect(await check({ nextRootKey: rootKey, identity })).toBe(
      'Error: ROOT_KEY and IDENTITY_KEY must be two different keys.',
    )
    expect(await check({ sealer, identity })).toBe('Error: IDENTITY_KEY and SERVICE_KEY must be two different keys.')
    expect((await superuser.execute('select id from deployment')).rows.length).toBe(0)
  })
})
