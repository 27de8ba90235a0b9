import { beforeEach, describe, expect, test } from 'bun:test'
import { openDb } from '../../db/client.ts'
import { checkDeployment } from '../../src/platform/deployment.ts'
import type { Sealer } from '../../src/platform/sealing/sealer.ts'
import { bindDeployment } from '../../src/vault/rooms/root/bind-deployment.ts'
import { createDatabase } from '../support/postgres.ts'
import { afterTests, shared } from '../support/shared.ts'
import { openTestIdentity, openTestRootKey, openTestSealer } from './support.ts'

const ETHEREUM = { name: 'Ethereum', family: 'evm', chainId: 11155111 } as const
const POLYGON = { name: 'Polygon', family: 'evm', chainId: 80002 } as const
const VARA = { name: 'Vara', family: 'substrate', chainId: null } as const
const LINEA = { name: 'Linea', family: 'evm', chainId: 59141 } as const
const networks = [ETHEREUM, POLYGON, VARA]

type OfVault = Parameters<typeof bindDeployment>[0]
type OfOthers = Parameters<typeof checkDeployment>[0]

const database = await shared(createDatabase())
const superuser = openDb({ url: database.url, maxConnections: 1, applicationName: 'superuser' })
const vaultDb = openDb({ url: database.vaultUrl, maxConnections: 5, applicationName: 'vault' })
const apiDb = openDb({ url: database.apiUrl, maxConnections: 5, applicationName: 'api' })
const workerDb = openDb({ url: database.workerUrl, maxConnections: 1, applicationName: 'worker' })
const ofVault: OfVault = { db: vaultDb, environment: 'testnet', networks, rootKey: await openTestRootKey() }
const [sealer, identity] = [await openTestSealer(), await openTestIdentity()]
const ofApi: OfOthers = { db: apiDb, environment: 'testnet', networks, sealer, identity }
afterTests(async () => {
  for (const pool of [superuser, vaultDb, apiDb, workerDb]) await pool.close({ timeoutSeconds: 5 })
})
const forget = async () => {
  for (const table of ['deployment', 'deployment_key', 'networks']) await superuser.execute(`delete from ${table}`)
}
beforeEach(forget)

const outcome = (checking: Promise<unknown>): Promise<string> =>
  checking.then(
    () => 'fits',
    (error: unknown) => String(error),
  )

/** A vault. */
const bind = (change: Partial<OfVault> = {}) => outcome(bindDeployment({ ...ofVault, ...change }))
/** An API. */
const check = (change: Partial<OfOthers> = {}) => outcome(checkDeployment({ ...ofApi, ...change }))
/** A worker. */
const checkWorker = (change: Partial<OfOthers> = {}) => check({ db: workerDb, identity: null, ...change })

const rowsOf = async (text: string) => (await superuser.execute(text)).rows

describe('the row of the deployment', () => {
  test('is written by the first vault, completed by the first API, and accepted by later processes with the same settings', async () => {
    expect(await bind()).toBe('fits')
    expect(await check()).toBe('fits')
    expect(await bind()).toBe('fits')
    expect(await check({ networks: networks.toReversed() })).toBe('fits')
    expect(await checkWorker()).toBe('fits')
  })

  test('is written once if many processes start together', async () => {
    expect(await Promise.all(Array.from({ length: 8 }, () => bind()))).toEqual(Array(8).fill('fits'))
    expect(await rowsOf('select id from deployment')).toHaveLength(1)
    expect(await Promise.all(Array.from({ length: 8 }, () => check()))).toEqual(Array(8).fill('fits'))
  })

  test('is not written by a process without the root key, which says what to do', async () => {
    const sentence = 'Error: This database is not set up yet: start a vault first.'
    expect([await check(), await checkWorker()]).toEqual([sentence, sentence])
    expect(await rowsOf('select id from deployment')).toEqual([])
  })

  test('is not completed by a worker, which says what to do', async () => {
    await bind()
    expect(await checkWorker()).toBe('Error: This database does not know the service key yet: start an API first.')
  })

  test('refuses another environment', async () => {
    await bind()
    const sentence = 'Error: This database belongs to testnet, and this process is set up for mainnet.'
    expect(await bind({ environment: 'mainnet' })).toBe(sentence)
    expect(await check({ environment: 'mainnet' })).toBe(sentence)
  })

  test('refuses another root key', async () => {
    await bind()
    const rootKey = await openTestRootKey(0x77)
    expect(await bind({ rootKey })).toBe(
      `Error: The root key does not fit this database: it is ${rootKey.id}, and should be ${ofVault.rootKey.id}.`,
    )
  })

  test('does not trust the name of a root key', async () => {
    await bind()
    const other = await openTestRootKey(0x77)
    expect(await bind({ rootKey: { ...other, id: ofVault.rootKey.id } })).toBe(
      "Error: The root key does not fit this database: it does not open the deployment's key.",
    )
  })

  test('distinguishes an unavailable root key from a wrong one', async () => {
    await bind()
    const { id, wrap } = await openTestRootKey()
    const unwrap = () => Promise.reject(new Error('the service is away'))
    expect(await bind({ rootKey: { id, wrap, unwrap } })).toBe('Error: the service is away')
  })

  test('refuses another service key or identity key in every process that has one', async () => {
    await bind()
    await check()
    const [sealer, identity] = [await openTestSealer(0x77), await openTestIdentity(0x78)]
    const is = (one: Sealer, other: Sealer | null) => `it is ${one.id}, and should be ${other?.id}.`
    const sentence = `Error: The service key does not fit this database: ${is(sealer, ofApi.sealer)}`
    expect([await check({ sealer }), await checkWorker({ sealer })]).toEqual([sentence, sentence])
    expect(await check({ identity })).toBe(
      `Error: The identity key does not fit this database: ${is(identity, ofApi.identity)}`,
    )
  })

  test('gets the keys of one API if two with different keys start together', async () => {
    await bind()
    const [sealer, identity] = [await openTestSealer(0x77), await openTestIdentity(0x78)]
    const answers = (await Promise.all([check(), check({ sealer, identity })])).toSorted()
    expect(answers).toEqual([expect.stringContaining('The service key does not fit this database'), 'fits'])
  })

  test('ends an API that finds no row after it has bound its keys', async () => {
    await bind()
    await superuser.execute(`create rule lost as on update to deployment do instead delete from deployment`)
    try {
      expect(await check()).toBe('Error: This database is not set up yet: start a vault first.')
    } finally {
      await superuser.execute('drop rule lost on deployment')
    }
  })

  test('cannot be changed by the worker', async () => {
    await bind()
    await check()
    const change = async () => workerDb.execute(`update deployment set identity_key_id = ''`)
    await expect(change()).rejects.toMatchObject({ cause: { code: '42501' } })
  })

  test('is not written if two of the keys are the same', async () => {
    const [rootKey, sealer, identity] = [await openTestRootKey(5), await openTestSealer(5), await openTestIdentity(5)]
    await bind()
    expect(await check({ sealer, identity })).toBe('Error: IDENTITY_KEY and SERVICE_KEY must be two different keys.')
    expect(await rowsOf('select service_key_id, identity_key_id from deployment')).toEqual([
      { service_key_id: null, identity_key_id: null },
    ])
    await forget()
    await bind({ rootKey })
    expect(await check({ sealer })).toBe('Error: ROOT_KEY and SERVICE_KEY must be two different keys.')
    expect(await check({ identity })).toBe('Error: ROOT_KEY and IDENTITY_KEY must be two different keys.')
  })

  test('lets no vault start whose next root key is a key of the API', async () => {
    await bind()
    await check({ sealer: await openTestSealer(5), identity: await openTestIdentity(6) })
    expect(await bind({ nextRootKey: await openTestRootKey(5) })).toBe(
      'Error: ROOT_KEY and SERVICE_KEY must be two different keys.',
    )
    expect(await bind({ nextRootKey: await openTestRootKey(6) })).toBe(
      'Error: ROOT_KEY and IDENTITY_KEY must be two different keys.',
    )
  })
})

describe("the deployment's key", () => {
  const derived = async (change: Partial<OfVault> = {}) =>
    Buffer.from((await bindDeployment({ ...ofVault, ...change })).derive('journal')).toString('hex')

  test('is the same for every vault, also for those that make it together', async () => {
    const first = await Promise.all(Array.from({ length: 8 }, () => derived()))
    expect(new Set([...first, await derived()]).size).toBe(1)
    expect(await rowsOf('select wrapped from deployment_key')).toHaveLength(1)
  })

  test('is another one in another database', async () => {
    const one = await derived()
    await forget()
    expect(await derived()).not.toBe(one)
  })

  test('is not made anew where it is gone', async () => {
    await bind()
    await superuser.execute('delete from deployment_key')
    expect(await bind()).toBe('Error: The table deployment_key has lost its row: put it back from a backup.')
  })

  test('does not open if it is edited', async () => {
    await bind()
    await superuser.execute('update deployment_key set wrapped = set_byte(wrapped, 29, get_byte(wrapped, 29) # 1)')
    expect(await bind()).toBe("Error: The root key does not fit this database: it does not open the deployment's key.")
  })
})

describe('the networks of a database', () => {
  const bound = async () =>
    (await superuser.execute<{ name: string }>('select name from networks order by name')).rows.map(({ name }) => name)

  test('are bound at their first use; processes without a new network keep running', async () => {
    await bind()
    expect(await bound()).toEqual(['Ethereum', 'Polygon', 'Vara'])
    expect(await bind({ networks: [...networks, LINEA] })).toBe('fits')
    expect(await bound()).toEqual(['Ethereum', 'Linea', 'Polygon', 'Vara'])
    expect(await bind()).toBe('fits')
    expect([await check(), await checkWorker()]).toEqual(['fits', 'fits'])
    expect(await checkWorker({ networks: [LINEA] })).toBe('fits')
  })

  test('are bound once if processes with different networks start together', async () => {
    const others = [networks, [...networks, LINEA], [LINEA]]
    const starts = Array.from({ length: 9 }, (_, index) => bind({ networks: others[index % 3] ?? [] }))
    expect(await Promise.all(starts)).toEqual(Array(9).fill('fits'))
    expect(await bound()).toEqual(['Ethereum', 'Linea', 'Polygon', 'Vara'])
  })

  test('are not bound by a process without the root key, which says what to do', async () => {
    await bind()
    await check()
    expect(await checkWorker({ networks: [...networks, LINEA] })).toBe(
      'Error: This database does not know Linea yet: start a vault with these networks first.',
    )
    const add = async () => workerDb.execute(`insert into networks (name, family) values ('Linea', 'evm')`)
    await expect(add()).rejects.toMatchObject({ cause: { code: '42501' } })
  })

  test('keep their chains: another chain id is refused, and so is another name', async () => {
    await bind()
    expect(await bind({ networks: [{ ...ETHEREUM, chainId: 1 }, POLYGON] })).toBe(
      'Error: Ethereum is the chain with id 1 in this process, and the chain with id 11155111 in this database.',
    )
    expect(await bind({ networks: [{ ...VARA, family: 'evm', chainId: 5 }] })).toBe(
      'Error: Vara is the chain with id 5 in this process, and a network of the family substrate in this database.',
    )
    expect(await bind({ networks: [{ ...ETHEREUM, name: 'Sepolia' }] })).toBe(
      'Error: Sepolia is the chain with id 11155111 in this process; in this database that chain is named Ethereum.',
    )
    expect(await bound()).toEqual(['Ethereum', 'Polygon', 'Vara'])
  })

  test('cannot be changed by a process that runs', async () => {
    await bind()
    for (const each of [vaultDb, apiDb, workerDb]) {
      const change = async () => each.execute('update networks set chain_id = 1')
      await expect(change()).rejects.toMatchObject({ cause: { code: '42501' } })
    }
  })
})
