import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import { keyIdOf } from '../../src/platform/sealing/envelope.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import type { OperatorVault } from '../../src/vault/contract/vault.ts'
import { createProjectKeys } from '../../src/vault/rooms/root/project-keys.ts'
import { createRootKeys } from '../../src/vault/rooms/root/root-key.ts'
import { identityOf } from '../../src/vault/rooms/sealing/hierarchy.ts'
import { withKey, withPolicyKey } from '../support/keys.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import {
  ACTOR,
  codeOf,
  freezing,
  openTestRootKey,
  openWorld,
  SECRET,
  signOne,
  signOneBy,
  type TestWallet,
  tally,
  textsOf,
  type VaultWorld,
} from './support.ts'
import { ANVIL, SR25519 } from './vectors.ts'

const OLD = '493817'
const NEW = '271828'
const secret = { developerSecret: SECRET }

const world = await shared(openWorld())
const other = await world.another()
const { sql } = world
const projectId = await world.project()

const userWallet = (ownerId: string = randomUUID()) =>
  world.wallet({ projectId, ownerId, controlMode: 'user', credentials: { userPin: OLD } })

const change = (
  wallet: WalletRow,
  pins: { readonly oldPin?: string; readonly newPin?: string } = {},
  by?: OperatorVault,
) => (by ?? world.vault).changeUserPin({ wallet, oldPin: OLD, newPin: NEW, actor: ACTOR, ...pins })

const sign = (wallet: WalletRow, credentials: Credentials, by: OperatorVault = world.vault) =>
  withKey(by, { wallet, credentials, actor: ACTOR }, async (key) => signOne(key))

const guesses = async ({ ownerId }: WalletRow) => {
  const [row] = await sql`select fails, total, lease from pin_guesses where owner_id = ${ownerId}`
  return { ...row }
}
const NO_GUESS = { fails: 0, total: 0, lease: null }

const versionOf = async ({ ownerId }: WalletRow) => {
  const [row] = await sql`select version, sealed from user_keys where owner_id = ${ownerId}`
  return { version: row?.version as number, sealed: row?.sealed as Uint8Array }
}

const acts = async (subject: string, action: string) => {
  const rows = await sql`select actor, details from audit where subject = ${subject} and action = ${action}`
  return rows.map((row) => ({ ...row }))
}

describe('`audit verify` names what somebody has set back to an earlier state, with its MAC:', () => {
  // Another vault than the one that wrote the later state, which also knows by itself.
  const troubles = async ({ ownerId }: WalletRow) =>
    (await other.forgedRows({ projectId })).forged.flatMap(({ id, table, trouble }) =>
      id === ownerId ? [`${table}: ${trouble}`] : [],
    )

  test('a PIN that was changed', async () => {
    const wallet = await userWallet()
    const [before] = await sql`select salt, sealed, version from user_keys where owner_id = ${wallet.ownerId}`
    await change(wallet)
    if (isLong) expect(await troubles(wallet)).toEqual([])
    const [after] = await sql`select salt, sealed, version from user_keys where owner_id = ${wallet.ownerId}`
    const put = (row: object) => sql`update user_keys set ${sql({ ...row })} where owner_id = ${wallet.ownerId}`
    await put(before ?? {})
    expect(await troubles(wallet)).toEqual(['user_keys: the audit has a later state of it'])
    for (const number of someOf([{ version: after?.version }, { version: 3 }], 2)) {
      await put({ ...before, ...number })
      expect(await troubles(wallet)).toEqual(['user_keys: it is not as it was made'])
    }
    if (isLong) {
      await put({ ...after, version: 1 })
      const both = ['the audit has a later state of it', 'it is not as it was made']
      expect(await troubles(wallet)).toEqual(both.map((trouble) => `user_keys: ${trouble}`))
    }
    await put(after ?? {})
    expect(await troubles(wallet)).toEqual([])
  })

  longTest('a count of wrong PINs, unless the owner was unlocked since', async () => {
    const wallet = await userWallet()
    const [before] = await sql`
      select fails, total, locked_until, revision, mac from pin_guesses where owner_id = ${wallet.ownerId}`
    expect(await codeOf(sign(wallet, { userPin: NEW }))).toBe('INVALID_SECRET')
    expect(await troubles(wallet)).toEqual([])
    await sql`update pin_guesses set ${sql(before ?? {})} where owner_id = ${wallet.ownerId}`
    expect(await troubles(wallet)).toEqual(['pin_guesses: the audit has more wrong PINs'])
    await world.vault.unlockOwner({ projectId, ownerId: wallet.ownerId, actor: ACTOR })
    expect(await troubles(wallet)).toEqual([])
  })
})

const forged = ({ projectId, ownerId: subject }: WalletRow) => ({
  code: 'internal',
  event: { kind: 'user_secret_forged', projectId, actor: ACTOR, subject },
})

describe('a changed PIN that somebody puts back', () => {
  test('opens nothing as bytes beside the later number, by any vault, and no guess is charged', async () => {
    const of = await world.project()
    const ownerId = randomUUID()
    const wallet = await world.wallet({ projectId: of, ownerId, controlMode: 'user', credentials: { userPin: OLD } })
    const [before] = await sql`select salt, sealed from user_keys where owner_id = ${ownerId}`
    await change(wallet)
    await sql`update user_keys set ${sql(before ?? {})} where owner_id = ${ownerId}`
    for (const by of someOf([other, world.vault], 2)) {
      for (const userPin of someOf([OLD, NEW], 2))
        await expect(sign(wallet, { userPin }, by)).rejects.toMatchObject(forged(wallet))
    }
    await expect(change(wallet)).rejects.toMatchObject(forged(wallet))
    expect(await guesses(wallet)).toEqual(NO_GUESS)
    if (!isLong) return
    const { broken } = await other.rotateProjectKey({ projectId: of, actor: 'operator', resume: false })
    expect(broken).toEqual({ rows: 1, first: [`user_key ${ownerId}`] })
  })

  longTest('opens nothing as a whole row, by the vault that changed it', async () => {
    const wallet = await userWallet()
    const [before] = await sql`select salt, sealed, version from user_keys where owner_id = ${wallet.ownerId}`
    await change(wallet)
    await sql`update user_keys set ${sql(before ?? {})} where owner_id = ${wallet.ownerId}`
    await expect(sign(wallet, { userPin: OLD })).rejects.toMatchObject({ event: { kind: 'guess_count_forged' } })
  })
})

describe('a change of the PIN', () => {
  test('holds for all of the owner’s wallets, including imported ones, on every network and in every process', async () => {
    const ownerId = randomUUID()
    const input = { projectId, ownerId, controlMode: 'user', credentials: { userPin: OLD } } as const
    const all = [
      {},
      { network: 'Base' },
      { network: 'Polygon', imported: { privateKey: ANVIL.privateKey } },
      { network: 'Avalanche', imported: { mnemonicPhrase: ANVIL.phrase } },
    ] as const
    const wallets: TestWallet[] = []
    for (const of of someOf(all, 2)) wallets.push(await world.wallet({ ...input, ...of }))
    const imported = wallets.find(({ network }) => network === 'Polygon')
    if (imported === undefined) throw new Error('there is an imported wallet')
    await change(imported)
    for (const wallet of wallets) {
      expect((await sign(wallet, { userPin: NEW }, other)).length).toBe(65)
      expect(await codeOf(sign(wallet, { userPin: OLD }))).toBe('INVALID_SECRET')
    }
    expect(await acts(ownerId, 'user_pin_changed')).toEqual([
      { actor: ACTOR, details: { wallet: imported.id, key_version: '2' } },
    ])
  })

  test('rewrites one row of the owner and nothing else', async () => {
    const wallet = await userWallet()
    const content = async () => ({
      locks: await sql`select * from owner_locks where keyring_id = ${wallet.keyringId}`,
      keyrings: await sql`select * from keyrings where owner_id = ${wallet.ownerId}`,
      keys: await sql`select * from wallet_keys where wallet_id = ${wallet.id}`,
      wallets: await sql`select * from wallets where owner_id = ${wallet.ownerId}`,
    })
    const [before, was] = [await content(), await versionOf(wallet)]
    await change(wallet)
    expect(await content()).toEqual(before)
    const now = await versionOf(wallet)
    expect([was.version, now.version]).toEqual([1, 2])
    expect(Buffer.compare(was.sealed, now.sealed)).not.toBe(0)
  })

  longTest('does not change the PIN of another owner, or of an owner of that name in another project', async () => {
    const ownerId = randomUUID()
    const elsewhere = await world.project()
    const input = { ownerId, controlMode: 'user', credentials: { userPin: OLD } } as const
    const [mine, theirs] = [await userWallet(ownerId), await world.wallet({ ...input, projectId: elsewhere })]
    await change(mine)
    expect((await sign(theirs, { userPin: OLD })).length).toBe(65)
  })

  longTest('leaves the developer’s wallets of the owner as they are', async () => {
    const ownerId = randomUUID()
    const input = { projectId, ownerId } as const
    const theirs = await world.wallet({ ...input, controlMode: 'developer', credentials: secret })
    const both = { ...secret, userPin: OLD }
    const mine = await world.wallet({ ...input, controlMode: 'user', credentials: both, network: 'Base' })
    await change(mine)
    expect((await sign(theirs, secret)).length).toBe(65)
    expect((await sign(mine, { userPin: NEW })).length).toBe(65)
  })

  test('with a wrong old PIN is refused and charged once', async () => {
    const wallet = await userWallet()
    expect(await codeOf(change(wallet, { oldPin: '000000' }))).toBe('INVALID_SECRET')
    expect(await guesses(wallet)).toEqual({ fails: 1, total: 1, lease: null })
    expect((await sign(wallet, { userPin: OLD })).length).toBe(65)
    expect(await acts(wallet.ownerId, 'user_pin_changed')).toEqual([])
  })

  longTest('counts as a guess together with those of signing, and five wrong ones lock the owner', async () => {
    const wallet = await userWallet()
    for (const oldPin of ['000000', '000001', '000002']) await codeOf(change(wallet, { oldPin }))
    for (const userPin of ['000003', '000004']) await codeOf(sign(wallet, { userPin }))
    expect(await codeOf(change(wallet))).toBe('TOO_MANY_FAILED_ATTEMPTS')
    expect((await versionOf(wallet)).version).toBe(1)
  })

  longTest('can be undone by a second change', async () => {
    const wallet = await userWallet()
    await change(wallet)
    await change(wallet, { oldPin: NEW, newPin: OLD })
    expect((await sign(wallet, { userPin: OLD })).length).toBe(65)
    expect((await versionOf(wallet)).version).toBe(3)
    expect(await guesses(wallet)).toEqual(NO_GUESS)
  })

  test('of a frozen owner is refused and not charged', async () => {
    const wallet = await userWallet()
    await freezing(world, wallet, 'owner')
    expect(await codeOf(change(wallet, { oldPin: '000000' }))).toBe('frozen')
    expect(await guesses(wallet)).toEqual(NO_GUESS)
  })
})

/** Locks a row until this many changes have read it and wait to write it, then releases it. */
const meeting = async <T>(
  by: Sql,
  at: { readonly table: 'user_keys' | 'developer_keys'; readonly where: string; readonly count: number },
  start: () => Promise<T>,
): Promise<T> => {
  let started: Promise<T> | undefined
  await by.begin(async (tx) => {
    await tx.unsafe(`select 1 from ${at.table} where ${at.where} for update`)
    started = start()
    // Outside of the transaction, in which the view would not change.
    const waiting = () => by`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like ${`%update "${at.table}"%`}`
    for (let tries = 0; (await waiting()).length < at.count; tries += 1) {
      if (tries > 1000) throw new Error('they do not come to their statement together')
      await sleep(10)
    }
  })
  if (started === undefined) throw new Error('nothing was started')
  return started
}

describe('changes of one PIN at once', () => {
  test('over two processes, all with the right PIN: one succeeds, the others get 409, and none is charged', async () => {
    const wallet = await userWallet()
    const count = isLong ? 8 : 2
    const pins = Array.from({ length: count }, (_, index) => `60492${index}`)
    const at = { table: 'user_keys', where: `owner_id = '${wallet.ownerId}'`, count } as const
    const results = await meeting(sql, at, () =>
      Promise.all(pins.map((newPin, index) => codeOf(change(wallet, { newPin }, index % 2 ? other : world.vault)))),
    )
    expect(results.filter((code) => code === 'resolved').length).toBe(1)
    expect(results.filter((code) => code === 'credential_changed').length).toBe(count - 1)
    expect(await guesses(wallet)).toEqual(NO_GUESS)
    expect((await versionOf(wallet)).version).toBe(2)
    const won = pins[results.indexOf('resolved')] ?? ''
    expect((await sign(wallet, { userPin: won })).length).toBe(65)
    expect((await acts(wallet.ownerId, 'user_pin_changed')).length).toBe(1)
  })

  longTest('and signatures: a signature that waits with the old version gets 409 and is not charged', async () => {
    const wallet = await userWallet()
    const lease = randomUUID()
    await sql`update pin_guesses set lease = ${lease}, lease_until = now() + interval '10 seconds'
      where owner_id = ${wallet.ownerId}`
    const signing = tally(Array.from({ length: 30 }, () => sign(wallet, { userPin: OLD })))
    await sleep(500)
    // The state that a change in another process leaves when it gives its lease back.
    await sql`update user_keys set version = version + 1 where owner_id = ${wallet.ownerId}`
    await sql`update pin_guesses set lease = null, lease_until = null where owner_id = ${wallet.ownerId}`
    expect(await signing).toEqual({ credential_changed: 30 })
    expect(await guesses(wallet)).toEqual(NO_GUESS)
  })
})

describe('a change of the PIN and a rotation', () => {
  const reseal = async (wallet: WalletRow) => {
    const projectKeys = createProjectKeys({
      db: world.db,
      rootKeys: createRootKeys({ db: world.db, rootKey: await openTestRootKey() }),
    })
    const { version, sealed } = await versionOf(wallet)
    const identity = identityOf.userKey({ ...wallet, version })
    const inner = await projectKeys.openOuter({ identity, sealed })
    return projectKeys.sealOuter({ version: keyIdOf(sealed), identity, inner })
  }

  longTest('if the rotation re-seals the row first, the change of the PIN is tried again', async () => {
    const wallet = await userWallet()
    const resealed = await reseal(wallet)
    let changing: Promise<string> | undefined
    await sql.begin(async (tx) => {
      await tx`select 1 from user_keys where owner_id = ${wallet.ownerId} for update`
      changing = codeOf(change(wallet))
      const waiting = () => sql`select 1 from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%update "user_keys"%'`
      for (let tries = 0; (await waiting()).length === 0; tries += 1) {
        if (tries > 1000) throw new Error('the change does not come to its statement')
        await sleep(10)
      }
      await tx`update user_keys set sealed = ${Buffer.from(resealed)} where owner_id = ${wallet.ownerId}`
    })
    expect(await changing).toBe('resolved')
    expect((await versionOf(wallet)).version).toBe(2)
    expect((await sign(wallet, { userPin: NEW })).length).toBe(65)
    expect((await acts(wallet.ownerId, 'user_pin_changed')).length).toBe(1)
  })

  longTest(
    'continuous rotations lose no change, and no row stays under an older key',
    async () => {
      const of = await world.project()
      const input = { projectId: of, controlMode: 'user', credentials: { userPin: OLD } } as const
      const wallets = await Promise.all(
        Array.from({ length: 4 }, () => world.wallet({ ...input, ownerId: randomUUID() })),
      )
      let done = false
      const rotating = (async () => {
        while (!done) {
          await other.rotateProjectKey({ projectId: of, actor: 'operator', resume: false })
        }
      })()
      await Promise.all(
        wallets.map(async (wallet) => {
          for (let count = 0; count < 6; count += 1) {
            await change(wallet, count % 2 ? { oldPin: NEW, newPin: OLD } : {})
          }
        }),
      )
      done = true
      await rotating
      await other.rotateProjectKey({ projectId: of, actor: 'operator', resume: true })
      const [newest] = await sql`select max(version) as version from project_keys where project_id = ${of}`
      expect(newest?.version).toBeGreaterThan(1)
      for (const wallet of wallets) {
        const row = await versionOf(wallet)
        expect([row.version, keyIdOf(row.sealed)]).toEqual([7, newest?.version])
        expect((await sign(wallet, { userPin: OLD })).length).toBe(65)
      }
    },
    30_000,
  )
})

describe('a change of the developer secret', () => {
  const FIRST = 'correct horse battery staple'
  const SECOND = 'another secret of this project'
  let mainnet: VaultWorld
  let mainnetSql: Sql
  beforeAll(async () => {
    mainnet = await openWorld('mainnet')
    mainnetSql = postgres(mainnet.url, { max: 2, onnotice: () => {} })
  })
  afterAll(async () => {
    await mainnetSql.end()
    await mainnet.close()
  })

  const swap = (of: string, oldSecret = FIRST, newSecret = SECOND, by = mainnet.vault) =>
    by.changeDeveloperSecret({ projectId: of, oldSecret, newSecret, actor: 'operator' })
  const open = (wallet: WalletRow, developerSecret: string) =>
    withKey(mainnet.vault, { wallet, credentials: { developerSecret }, actor: ACTOR }, async (key) =>
      Buffer.from(await signOne(key)).toString('hex'),
    )
  const developerWallet = (of: string) =>
    mainnet.wallet({
      projectId: of,
      ownerId: randomUUID(),
      controlMode: 'developer',
      credentials: { developerSecret: FIRST },
    })

  test('rewrites one row: every wallet opens with the new secret and signs as before, none with the old one', async () => {
    const of = await mainnet.project(FIRST)
    const wallets = [await developerWallet(of), await developerWallet(of)]
    const before = await Promise.all(wallets.map((wallet) => open(wallet, FIRST)))
    await swap(of)
    expect(await Promise.all(wallets.map((wallet) => open(wallet, SECOND)))).toEqual(before)
    for (const wallet of wallets) expect(await codeOf(open(wallet, FIRST))).toBe('INVALID_SECRET')
    const rows = await mainnetSql`select actor, details from audit where action = 'developer_secret_changed'
      and project_id = ${of} and subject = ${of}`
    expect(rows.map((row) => ({ ...row }))).toEqual([{ actor: 'operator', details: { key_version: '2' } }])
  })

  test('that somebody set back is named by `audit verify`', async () => {
    const of = await mainnet.project(FIRST)
    const [before] = await mainnetSql`select sealed, version from developer_keys where project_id = ${of}`
    await swap(of)
    expect((await mainnet.vault.forgedRows({ projectId: of })).forged).toEqual([])
    const versions = [
      [1, 'the audit has a later state of it'],
      [3, 'it is not as it was made'],
      [2, 'it is not as it was made'],
    ] as const
    for (const [version, trouble] of someOf(versions, 2)) {
      await mainnetSql`update developer_keys set ${mainnetSql({ ...before, version })} where project_id = ${of}`
      for (const asked of someOf([of, null], 2))
        expect((await mainnet.vault.forgedRows({ projectId: asked })).forged.filter(({ id }) => id === of)).toEqual([
          { table: 'developer_keys', projectId: of, id: of, trouble },
        ])
    }
  })

  test('between a request’s reading of the row and its check is told from a row that somebody put back', async () => {
    const of = await mainnet.project(FIRST)
    const wallet = await developerWallet(of)
    let act: (() => Promise<unknown>) | null = null
    const prepared: VaultWorld['db']['prepared'] = async (...statement) => {
      const rows = await mainnet.db.prepared<never>(...statement)
      const next = act
      act = null
      await next?.()
      return rows
    }
    const vault = await mainnet.another({
      db: Object.assign(Object.create(mainnet.db) as VaultWorld['db'], { prepared }),
    })
    const signDuring = async (during: () => Promise<unknown>) => {
      act = during
      return codeOf(sign(wallet, { developerSecret: FIRST }, vault))
    }
    const [before] = await mainnetSql`select sealed, version from developer_keys where project_id = ${of}`
    expect(await signDuring(() => swap(of, FIRST, SECOND, vault))).toBe('credential_changed')
    await mainnetSql`update developer_keys set ${mainnetSql(before ?? {})} where project_id = ${of}`
    await expect(sign(wallet, { developerSecret: FIRST }, vault)).rejects.toMatchObject({
      code: 'internal',
      event: { kind: 'user_secret_forged', projectId: of, subject: of },
    })
  })

  test('puts an end to the old one: its row opens nothing, nor do its bytes beside the later number', async () => {
    const of = await mainnet.project(FIRST)
    const wallet = await developerWallet(of)
    const user = await mainnet.wallet({
      projectId: of,
      ownerId: randomUUID(),
      controlMode: 'user',
      credentials: { userPin: OLD },
    })
    const policy = await mainnet.policy(user, { userPin: OLD })
    const [before] = await mainnetSql`select sealed, version from developer_keys where project_id = ${of}`
    const put = (row: object) => mainnetSql`update developer_keys set ${mainnetSql(row)} where project_id = ${of}`
    await swap(of)
    const [after] = await mainnetSql`select sealed, version from developer_keys where project_id = ${of}`
    const event = { kind: 'user_secret_forged', projectId: of, subject: of }
    const another = await mainnet.another()
    const requests = (developerSecret: string, by: OperatorVault) => {
      const request = { credentials: { developerSecret }, actor: ACTOR }
      return [
        () => sign(wallet, { developerSecret }, by),
        () => by.openPolicies({ ...request, wallet: user, limit: 1 }),
        () => by.putUnderPolicies({ ...request, wallet }),
        () => by.revokePolicy({ ...request, wallet: user, policyId: policy.id }),
        () => swap(of, developerSecret, 'a third secret, longer', by),
      ]
    }
    const rows = [
      [{ ...before, version: after?.version }, [another, mainnet.vault]],
      [{ ...before, version: 3 }, [mainnet.vault, another]],
      [{ ...before }, [mainnet.vault]],
    ] as const
    for (const [row, vaults] of someOf(rows, 3)) {
      await put(row)
      for (const by of someOf(vaults, 2)) {
        for (const request of requests(FIRST, by))
          await expect(request()).rejects.toMatchObject({ code: 'internal', event })
      }
    }
    await put(after ?? {})
    expect((await open(wallet, SECOND)).length).toBe(130)
    expect(await codeOf(open(wallet, FIRST))).toBe('INVALID_SECRET')
    if (!isLong) return
    await mainnet.vault.rotateProjectKey({ projectId: of, actor: 'operator', resume: false })
    expect((await open(wallet, SECOND)).length).toBe(130)
  })

  test('leaves each policy as it is, and so do a change of the PIN and a rotation of the project’s key', async () => {
    const of = await mainnet.project(FIRST)
    const input = { projectId: of, ownerId: 'o', controlMode: 'user', credentials: { userPin: OLD } } as const
    const wallet = await mainnet.wallet(input)
    const terms = await mainnet.policy(wallet, { developerSecret: FIRST, userPin: OLD })
    const { vault } = mainnet
    const by = (developerSecret: string) =>
      withPolicyKey(vault, { wallet, credentials: { developerSecret }, actor: ACTOR, terms }, (key) => signOneBy(key))
    const signature = await by(FIRST)
    await vault.changeUserPin({ wallet, oldPin: OLD, newPin: NEW, actor: ACTOR })
    expect(await by(FIRST)).toEqual(signature)
    await swap(of)
    expect(await codeOf(by(FIRST))).toBe('INVALID_SECRET')
    expect(await by(SECOND)).toEqual(signature)
    // test/vault/rotate-project.test.ts rotates below a policy.
    if (!isLong) return
    await vault.rotateProjectKey({ projectId: of, resume: false, actor: 'operator' })
    expect(await by(SECOND)).toEqual(signature)
  })

  test('with a wrong old secret or a refused new one changes nothing', async () => {
    const of = await mainnet.project(FIRST)
    const wallet = await developerWallet(of)
    expect(await codeOf(swap(of, 'not the secret at all'))).toBe('INVALID_SECRET')
    for (const refused of ['fifteen letters', 'testnet-secret', 'testnet-secret-and-more', 'a'.repeat(257), '']) {
      expect(await codeOf(swap(of, FIRST, refused))).toBe('invalid_input')
    }
    expect(await codeOf(swap(of, FIRST, 'with a line\nend in it'))).toBe('invalid_input')
    expect(await codeOf(swap(of, FIRST, `half a pair \ud800 in it`))).toBe('invalid_input')
    expect((await open(wallet, FIRST)).length).toBe(130)
  })

  test('by several requests at once: one succeeds', async () => {
    const of = await mainnet.project(FIRST)
    const another = await mainnet.another()
    const owner = postgres(mainnet.url, { max: 1, onnotice: () => {} })
    let swaps: Promise<unknown>[] = []
    // Both have read the row and proved the old secret before either can write.
    await owner.begin(async (tx) => {
      await tx`select from developer_keys where project_id = ${of} for update`
      swaps = [swap(of), swap(of, FIRST, 'a third secret, longer', another)]
      for (const each of swaps) each.catch(() => {})
      const waiting = () => mainnetSql`
        select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      while ((await waiting()).length < 2) await Bun.sleep(5)
    })
    await owner.end()
    expect(await tally(swaps)).toEqual({ resolved: 1, credential_changed: 1 })
  })

  test('is refused for a project that has none yet, or that does not exist', async () => {
    expect(await codeOf(swap(await mainnet.project(null)))).toBe('project_not_activated')
    expect(await codeOf(swap(randomUUID()))).toBe('not_found')
  })

  test('is refused on testnet, where the secret is a constant', async () => {
    const by = world.vault
    expect(await codeOf(swap(projectId, SECRET, 'a secret of my own, long', by))).toBe('invalid_input')
  })
})

longTest('a change of the PIN also holds for a wallet of an imported mini-secret', async () => {
  const ownerId = randomUUID()
  const [vector] = SR25519
  const input = { projectId, ownerId, controlMode: 'user', credentials: { userPin: OLD } } as const
  const imported = { privateKey: vector?.miniSecret ?? '' }
  const wallet = await world.wallet({ ...input, network: 'Polkadot', imported })
  await change(wallet)
  const request = { wallet, credentials: { userPin: NEW }, actor: ACTOR }
  expect(textsOf(await world.vault.exportKeyring(request))).toEqual({
    mnemonicPhrase: null,
    privateKey: `0x${vector?.miniSecret}`,
  })
})
