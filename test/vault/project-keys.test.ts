import { beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDb } from '../../db/client.ts'
import { insertProject } from '../../db/queries/projects.ts'
import { insertProjectKey } from '../../db/queries/vault/project-keys.ts'
import { EnvelopeError, keyIdOf } from '../../src/platform/sealing/envelope.ts'
import { createProjectKeys } from '../../src/vault/rooms/root/project-keys.ts'
import { createRootKeys, type RootKey } from '../../src/vault/rooms/root/root-key.ts'
import { identityOf } from '../../src/vault/rooms/sealing/hierarchy.ts'
import { createDatabase } from '../support/postgres.ts'
import { afterTests, shared } from '../support/shared.ts'
import { hexOf, openTestRootKey } from './support.ts'

let rootKey: RootKey
let unwraps: number
/** Runs while the root key unwraps; may fail. */
let during: () => Promise<void>
let projectId: string

const inner = new Uint8Array(64).fill(5)

const addVersion = async (version: number) => {
  const key = new Uint8Array(32).fill(version)
  const wrapped = await rootKey.wrap({ key, identity: identityOf.projectKey({ projectId, version }) })
  await insertProjectKey(db, { projectId, version, rootKeyId: rootKey.id, wrapped })
}

const database = await shared(createDatabase())
// Only one connection: code that held it during a call to the root key would wait for itself.
const db = openDb({ url: database.vaultUrl, maxConnections: 1, applicationName: 'project keys' })
const api = openDb({ url: database.apiUrl, maxConnections: 1, applicationName: 'api' })
afterTests(async () => {
  for (const pool of [db, api]) await pool.close({ timeoutSeconds: 5 })
})
beforeEach(async () => {
  const real = await openTestRootKey()
  unwraps = 0
  during = async () => {}
  rootKey = {
    ...real,
    unwrap: async (input) => {
      unwraps += 1
      await during()
      return real.unwrap(input)
    },
  }
  projectId = randomUUID()
  await insertProject(api, { id: projectId, name: 'Test', activatedAt: null })
  await addVersion(1)
})

describe('a project key', () => {
  const identity = () => identityOf.developerKey({ projectId, version: 1 })

  test('adds an outer layer under its version, and removes it', async () => {
    const keys = createProjectKeys({ db, rootKeys: createRootKeys({ db, rootKey }) })
    const sealed = await keys.sealOuter({ version: 1, identity: identity(), inner })
    expect(keyIdOf(sealed)).toBe(1)
    expect(hexOf(await keys.openOuter({ identity: identity(), sealed }))).toBe(hexOf(inner))
  })

  test('of every version opens its own layers, so that rotation needs no pause', async () => {
    await addVersion(2)
    const keys = createProjectKeys({ db, rootKeys: createRootKeys({ db, rootKey }) })
    const old = await keys.sealOuter({ version: 1, identity: identity(), inner })
    const young = await keys.sealOuter({ version: 2, identity: identity(), inner })
    expect([keyIdOf(old), keyIdOf(young)]).toEqual([1, 2])
    for (const sealed of [old, young]) {
      expect(hexOf(await keys.openOuter({ identity: identity(), sealed }))).toBe(hexOf(inner))
    }
    const relabelled = Uint8Array.from(old)
    relabelled[5] = 2
    await expect(keys.openOuter({ identity: identity(), sealed: relabelled })).rejects.toThrow(EnvelopeError)
  })

  test('is unwrapped once for many simultaneous requests, and remembered', async () => {
    during = () => sleep(30)
    const keys = createProjectKeys({ db, rootKeys: createRootKeys({ db, rootKey }) })
    const layers = Array.from({ length: 50 }, () => keys.sealOuter({ version: 1, identity: identity(), inner }))
    await Promise.all(layers)
    await keys.sealOuter({ version: 1, identity: identity(), inner })
    expect(unwraps).toBe(1)
  })

  test('is unwrapped again after a failure, which is not remembered', async () => {
    during = () => Promise.reject(new Error('the service is away'))
    const keys = createProjectKeys({ db, rootKeys: createRootKeys({ db, rootKey }) })
    const add = () => keys.sealOuter({ version: 1, identity: identity(), inner })
    const failed = await Promise.allSettled([add(), add(), add()])
    expect(failed.map((each) => each.status === 'rejected' && String(each.reason))).toEqual(
      Array(3).fill('Error: the service is away'),
    )
    during = async () => {}
    expect(keyIdOf(await add())).toBe(1)
  })

  test('is unwrapped while no database connection is held', async () => {
    during = async () => {
      await db.execute('select 1')
    }
    const keys = createProjectKeys({ db, rootKeys: createRootKeys({ db, rootKey }) })
    expect(keyIdOf(await keys.sealOuter({ version: 1, identity: identity(), inner }))).toBe(1)
  })

  test('that another root key wrapped is reported as a mistake in the settings, without calling the root key', async () => {
    const keys = createProjectKeys({ db, rootKeys: createRootKeys({ db, rootKey: { ...rootKey, id: 'key:another' } }) })
    const add = keys.sealOuter({ version: 1, identity: identity(), inner })
    await expect(add).rejects.toThrow('The root key was changed: the vault must be restarted with the present one')
    await add.catch(() => {})
    expect(unwraps).toBe(0)
  })

  test('of an unknown version or project is an internal error', async () => {
    const keys = createProjectKeys({ db, rootKeys: createRootKeys({ db, rootKey }) })
    await expect(keys.sealOuter({ version: 9, identity: identity(), inner })).rejects.toThrow('unknown key')
    const other = identityOf.developerKey({ projectId: randomUUID(), version: 1 })
    await expect(keys.sealOuter({ version: 1, identity: other, inner })).rejects.toThrow('unknown key')
  })

  test('from the row of another version does not unwrap', async () => {
    const row = await rootKey.wrap({
      key: inner.subarray(32),
      identity: identityOf.projectKey({ projectId, version: 1 }),
    })
    await insertProjectKey(db, { projectId, version: 3, rootKeyId: rootKey.id, wrapped: row })
    const keys = createProjectKeys({ db, rootKeys: createRootKeys({ db, rootKey }) })
    await expect(keys.sealOuter({ version: 3, identity: identity(), inner })).rejects.toThrow(EnvelopeError)
  })
})
