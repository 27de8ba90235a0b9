import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { insertProject } from '../../db/queries/projects.ts'
import type { OperatorVault } from '../../src/vault/contract/vault.ts'
import { createChainer } from '../../src/vault/rooms/chain/chain.ts'
import { bindDeployment } from '../../src/vault/rooms/root/bind-deployment.ts'
import type { RootKey } from '../../src/vault/rooms/root/root-key.ts'
import { disobediencesOf, whileDisobeying } from '../support/disobedience.ts'
import { withKey, withPolicyKey } from '../support/keys.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import {
  ACTOR,
  bytesOf,
  codeOf,
  hexOf,
  openTestRootKey,
  openWorld,
  SECRET,
  signOne,
  signOneBy,
  type TestWallet,
  type VaultWorld,
} from './support.ts'

let world: VaultWorld
let sql: Sql
let from: RootKey
let to: RootKey
let rotating: OperatorVault

const begin = async () => {
  world = await openWorld()
  sql = postgres(world.url, { max: 3, onnotice: () => {} })
  from = await openTestRootKey()
  to = await openTestRootKey(0x83)
  rotating = await world.another({ nextRootKey: to })
}
const end = async () => {
  await sql.end()
  await world.close()
}

const rotate = (vault: OperatorVault = rotating) => vault.rotateRootKey({ actor: 'operator' })

const starts = async (keys: { readonly rootKey: RootKey; readonly nextRootKey?: RootKey }): Promise<boolean> =>
  bindDeployment({ db: world.db, environment: 'testnet', networks: [], ...keys }).then(
    () => true,
    () => false,
  )

const newWallet = (projectId: string, vault: OperatorVault = world.vault) =>
  world.wallet({
    vault,
    projectId,
    ownerId: randomUUID(),
    controlMode: 'developer',
    credentials: { developerSecret: SECRET },
  })

const sign = (wallet: TestWallet, vault: OperatorVault) =>
  withKey(vault, { wallet, credentials: { developerSecret: SECRET }, actor: ACTOR }, async (key) =>
    hexOf(await signOne(key)),
  )

const state = async () => {
  const [row] = await sql<{ id: string }[]>`select root_key_id as id from deployment`
  const keys = await sql<{ id: string; keys: number }[]>`
    select root_key_id as id, count(*)::int as keys from project_keys group by 1 order by 1`
  return { deployment: row?.id, keys: Object.fromEntries(keys.map((each) => [each.id, each.keys])) }
}

const newProject = async (vault: OperatorVault): Promise<string> => {
  const projectId = randomUUID()
  await insertProject(world.api, { id: projectId, name: 'Test', activatedAt: null })
  await vault.newProject({ projectId, developerSecret: null, actor: 'operator' })
  return projectId
}

describe('a rotation of the root key', () => {
  beforeEach(begin)
  afterEach(end)

  longTest('keeps policies, with what they spent', async () => {
    const credentials = { developerSecret: SECRET, userPin: '493817' }
    const of = { projectId: await world.project(), ownerId: randomUUID(), controlMode: 'user' } as const
    const wallet = await world.wallet({ ...of, credentials: { userPin: '493817' } })
    const terms = await world.policy(wallet, credentials, { maxUses: 2 })
    const use = (vault: OperatorVault) =>
      withPolicyKey(vault, { wallet, credentials: { developerSecret: SECRET }, actor: ACTOR, terms }, (key) =>
        signOneBy(key),
      )
    await use(world.vault)
    await rotate()
    const after = await world.another({ rootKey: to })
    expect(await codeOf(use(after))).toBe('resolved')
    expect(await codeOf(use(after))).toBe('policy_denied')
  })

  test('wraps every project key with the new root key; wallets keep their keys, and new projects use the new one', async () => {
    const [total, told] = isLong ? [230, [100, 200, 230]] : [3, [3]]
    const projects = await Promise.all(Array.from({ length: total }, () => world.project()))
    const wallets = await Promise.all(projects.slice(0, 5).map((projectId) => newWallet(projectId)))
    const before = await Promise.all(wallets.map((wallet) => sign(wallet, world.vault)))
    const progress: unknown[] = []
    const result = await rotating.rotateRootKey({ actor: 'operator' }, (each) => progress.push(each))
    expect(result).toEqual({ rootKeyId: to.id, rewrapped: total, already: false })
    expect(progress).toEqual(told.map((done) => ({ done, total })))
    expect(await state()).toEqual({ deployment: to.id, keys: { [to.id]: total } })
    const after = await world.another({ rootKey: to })
    expect(await Promise.all(wallets.map((wallet) => sign(wallet, after)))).toEqual(before)
    await newProject(after)
    expect(await state()).toEqual({ deployment: to.id, keys: { [to.id]: total + 1 } })
  })

  test.each(someOf(['project_keys', 'deployment', 'deployment_key'], 3))(
    'fails if the database keeps the old row of %s, and can be repeated',
    async (table) => {
      await world.project()
      const [disobedience] = disobediencesOf('update')
      if (disobedience === undefined) throw new Error('there is no such disobedience')
      const failed = await whileDisobeying(sql, { table, write: 'update', disobedience }, () => rotate().catch(String))
      expect(failed).toContain(`did not keep what the vault wrote in ${table}`)
      expect(await state()).toEqual({ deployment: from.id, keys: { [from.id]: 1 } })
      expect(await rotate()).toEqual({ rootKeyId: to.id, rewrapped: 1, already: false })
    },
  )

  longTest('keeps the audit verifiable: what was chained before, and what comes after', async () => {
    const deploymentKeyOf = (rootKey: RootKey) =>
      bindDeployment({ db: world.db, environment: 'testnet', networks: [], rootKey })
    const chain = async (rootKey: RootKey) => {
      const parts = { db: world.db, now: () => new Date(), log: { info: () => {}, error: () => {} } }
      await createChainer({ ...parts, deploymentKey: await deploymentKeyOf(rootKey) }).step()
    }
    await newWallet(await world.project())
    await chain(from)
    const { heads } = await world.vault.verifyAudit({ chain: null, heads: [] })
    const noted = heads.map((head) => {
      const [name = '', position = '', hex = ''] = head.split(':')
      return { chain: name, position: BigInt(position), head: bytesOf(hex) }
    })
    await rotate()
    const after = await world.another({ rootKey: to })
    await newWallet(await newProject(after), after)
    await chain(to)
    const verified = await after.verifyAudit({ chain: null, heads: noted })
    expect(verified).toMatchObject({ broken: [], rows: 5n, unchained: { rows: 0 } })
  })

  longTest('does not affect a running process that has both keys', async () => {
    const [one, other] = [await newWallet(await world.project()), await newWallet(await world.project())]
    const both = await world.another({ nextRootKey: to })
    const signature = await sign(one, both)
    await rotate()
    expect(await sign(one, both)).toBe(signature)
    expect(await codeOf(sign(other, both))).toBe('resolved')
    await newProject(both)
    expect((await state()).keys).toEqual({ [to.id]: 3 })
  })

  longTest(
    'leaves a running process with only the old key the project keys that it remembers; others are unavailable',
    async () => {
      const [one, other] = [await newWallet(await world.project()), await newWallet(await world.project())]
      const old = await world.another()
      const signature = await sign(one, old)
      await rotate()
      expect(await sign(one, old)).toBe(signature)
      expect(await codeOf(sign(other, old))).toBe('unavailable')
      await expect(sign(other, old)).rejects.toThrow('must be restarted with the present one')
      expect(await codeOf(newProject(old))).toBe('unavailable')
    },
  )

  longTest('writes one audit row of the deployment', async () => {
    await world.project()
    await rotate()
    const rows = await sql`select project_id, actor, subject, details from audit where action = 'root_key_rotated'`
    expect([...rows]).toEqual([
      { project_id: null, actor: 'operator', subject: to.id, details: { from: from.id, to: to.id, project_keys: '1' } },
    ])
  })

  longTest('can be undone by a second rotation', async () => {
    const wallet = await newWallet(await world.project())
    const signature = await sign(wallet, world.vault)
    await rotate()
    await rotate(await world.another({ rootKey: to, nextRootKey: from }))
    expect((await state()).deployment).toBe(from.id)
    expect(await sign(wallet, await world.another())).toBe(signature)
  })
})

describe('a rotation of the root key that is over', () => {
  const ends = () => ({ rootKey: from, nextRootKey: to })
  const startsWithEach = async () => [
    await starts({ rootKey: from }),
    await starts({ rootKey: to }),
    await starts(ends()),
  ]
  const derived = async (rootKey: RootKey) => {
    const key = await bindDeployment({ db: world.db, environment: 'testnet', networks: [], rootKey })
    return hexOf(key.derive('audit'))
  }
  let started: readonly boolean[]
  let deploymentKey: string

  beforeAll(async () => {
    await begin()
    await world.project()
    started = await startsWithEach()
    deploymentKey = await derived(from)
    await rotate()
  })
  afterAll(end)

  test("keeps the deployment's key", async () => {
    expect(await derived(to)).toBe(deploymentKey)
  })

  test('lets only processes with the new key start', async () => {
    expect(started).toEqual([true, false, true])
    expect(await startsWithEach()).toEqual([false, true, true])
  })

  test('does nothing if the database uses the new key already, and says so', async () => {
    const before = await sql`select wrapped from project_keys`
    expect(await rotate()).toEqual({ rootKeyId: to.id, rewrapped: 0, already: true })
    expect(await sql`select wrapped from project_keys`).toEqual(before)
    expect(await sql`select from audit where action = 'root_key_rotated'`).toHaveLength(1)
  })
})

describe('a rotation at the same time as other changes', () => {
  beforeEach(begin)
  afterEach(end)

  /** The next root key; `then` runs once, while the first project key is wrapped. */
  const meanwhile = (then: () => Promise<unknown>): RootKey => {
    let ran = false
    return {
      ...to,
      wrap: async (input) => {
        if (!ran) {
          ran = true
          await then()
        }
        return to.wrap(input)
      },
    }
  }

  longTest('includes a project that is created while it runs', async () => {
    await world.project()
    let made = ''
    const next = meanwhile(async () => {
      made = await world.project()
    })
    expect(await rotate(await world.another({ nextRootKey: next }))).toMatchObject({ rewrapped: 2 })
    expect(await state()).toEqual({ deployment: to.id, keys: { [to.id]: 2 } })
    expect(await codeOf(newWallet(made, await world.another({ rootKey: to })))).toBe('resolved')
  })

  longTest('waits for a project that is being written, and includes it', async () => {
    await using release = await holdTable(sql, 'developer_keys')
    const writing = newProject(world.vault)
    await untilWaiting(sql)
    let ended = false
    const rotation = rotate().finally(() => {
      ended = true
    })
    await sleep(150)
    expect(ended).toBe(false)
    await release()
    await writing
    expect(await rotation).toMatchObject({ rewrapped: 1 })
    expect((await state()).keys).toEqual({ [to.id]: 1 })
  })

  test('makes a project that was wrapped before the rotation, but not written, begin again', async () => {
    await world.project()
    await using release = await holdTable(sql, 'project_keys')
    const rotation = rotate()
    await untilWaiting(sql)
    const vaults = [await world.another({ nextRootKey: to }), await world.another()]
    // Its code is taken at once: the second may fail before the rotation has ended.
    const writing = vaults.map((vault) => codeOf(newProject(vault)))
    await untilWaiting(sql, 3)
    await release()
    expect(await rotation).toMatchObject({ rewrapped: 1 })
    expect(await Promise.all(writing)).toEqual(['resolved', 'unavailable'])
    expect(await state()).toEqual({ deployment: to.id, keys: { [to.id]: 2 } })
  })

  longTest('may run twice at the same time to the same key: one run does it', async () => {
    await Promise.all(Array.from({ length: 20 }, () => world.project()))
    const results = await Promise.all([rotate(), rotate(await world.another({ nextRootKey: to })), rotate()])
    expect(results.map(({ already }) => already).sort()).toEqual([false, true, true])
    expect(await state()).toEqual({ deployment: to.id, keys: { [to.id]: 20 } })
    expect(await sql`select from audit where action = 'root_key_rotated'`).toHaveLength(1)
  })

  test('changes nothing if a rotation to a third key was faster', async () => {
    await world.project()
    const third = await openTestRootKey(0x84)
    const next = meanwhile(async () => rotate(await world.another({ nextRootKey: third })))
    await expect(rotate(await world.another({ nextRootKey: next }))).rejects.toThrow('by somebody else meanwhile')
    expect(await state()).toEqual({ deployment: third.id, keys: { [third.id]: 1 } })
  })
})

/** Each leaves the database as it was, for the next one. */
describe('a rotation fails and changes nothing', () => {
  beforeAll(async () => {
    await begin()
    await Promise.all(Array.from({ length: isLong ? 30 : 3 }, () => world.project()))
  })
  afterAll(end)

  const failing: [string, () => Partial<RootKey>, string][] = [
    ['if the next key is unavailable', () => ({ wrap: () => Promise.reject(new Error('away')) }), 'away'],
    ['if the next key does not unwrap', () => ({ unwrap: () => Promise.reject(new Error('refused')) }), 'refused'],
    [
      'if the next key returns another key',
      () => ({ unwrap: async () => new Uint8Array(32).fill(1) }),
      'does not give back what it wrapped',
    ],
    [
      'if the next key returns too few bytes',
      () => ({ unwrap: async () => new Uint8Array(0) }),
      'does not give back what it wrapped',
    ],
  ]
  test.each(someOf(failing, 3))('%s', async (_what, change, sentence) => {
    const wallet = await newWallet(await world.project())
    const before = await state()
    const next = { ...to, ...change() }
    await expect(rotate(await world.another({ nextRootKey: next }))).rejects.toThrow(sentence)
    expect(await state()).toEqual(before)
    expect(before).toEqual({ deployment: from.id, keys: { [from.id]: expect.any(Number) } })
    expect(await codeOf(sign(wallet, await world.another()))).toBe('resolved')
  })

  test('if one of many project keys does not unwrap', async () => {
    const before = await state()
    const spoil = () => sql`update project_keys set wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1)
      where project_id = (select max(project_id::text)::uuid from project_keys)`
    await spoil()
    await expect(rotate()).rejects.toThrow('did not open')
    expect(await state()).toEqual(before)
    await spoil()
  })

  test('if one project key is wrapped by a third root key', async () => {
    const name = (id: string) => sql`update project_keys set root_key_id = ${id}
      where project_id = (select max(project_id::text)::uuid from project_keys)`
    await name('key:other')
    await expect(rotate()).rejects.toThrow('wrapped by key:other, which is not the present root key')
    expect((await state()).deployment).toBe(from.id)
    expect((await state()).keys[to.id]).toBeUndefined()
    await name(from.id)
  })

  test('to the key that is in use is refused', async () => {
    const same = await world.another({ nextRootKey: from })
    expect(await codeOf(rotate(same))).toBe('invalid_input')
  })
})
