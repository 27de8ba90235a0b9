// A database that answers to the vault's writes and undoes them, by triggers of its owner. Nothing that was decided
// comes back, and nothing leaves the vault that is not in the audit. Over HTTP, and of the API's own rows:
// test/security/undone-writes.test.ts.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { catalogueDifferences } from '../../db/catalogue.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import type { OperatorVault } from '../../src/vault/contract/vault.ts'
import { type Disobedience, disobediencesOf, type Write, whileDisobeying } from '../support/disobedience.ts'
import { withKey, withPolicyKey } from '../support/keys.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { ACTOR, codeOf, freezing, openWorld, signOne, signOneBy, type TestWallet, textOf } from './support.ts'

const [PIN, NEW, WRONG] = ['493817', '271828', '604913']
const SECRET = 'a secret of this project'
const pin = { userPin: PIN }
const secret = { developerSecret: SECRET }
const DELEGATE = `0x${'1c'.repeat(20)}`

// On a testnet no developer secret is changed.
const world = await shared(openWorld('mainnet'))
const { sql } = world
const projectId = await world.project(SECRET)

/** `resolved`, the code of the error, or `failed` by an error of the database. */
const outcome = (act: Promise<unknown>): Promise<string> => codeOf(act).catch((error) => `failed: ${error}`)

type Made = { readonly vault: OperatorVault; readonly wallet: TestWallet }

const sign = ({ vault, wallet }: Made, credentials: Credentials): Promise<string> =>
  outcome(withKey(vault, { wallet, credentials, actor: ACTOR }, signOne))

/** Each act in a fresh process, which has written nothing before. */
const makeUnder = async (controlMode: 'user' | 'developer'): Promise<Made> => {
  const credentials = controlMode === 'user' ? pin : secret
  const wallet = await world.wallet({ projectId, ownerId: randomUUID(), controlMode, credentials })
  return { vault: await world.another({ db: world.db }), wallet }
}

const inPolicy = async (maxUses = 1) => {
  const made = await makeUnder('user')
  const terms = await world.policy(made.wallet, { ...secret, ...pin }, { maxUses })
  const { vault, wallet } = made
  const use = () => outcome(withPolicyKey(vault, { wallet, credentials: secret, actor: ACTOR, terms }, signOneBy))
  return { ...made, terms, use }
}

const withCode = async () => {
  const made = await makeUnder('user')
  const { wallet, vault } = made
  const newCode = async () =>
    textOf((await vault.newRecoveryCode({ wallet, credentials: pin, actor: ACTOR })).recoveryCode)
  return { ...made, newCode, userSecret: await newCode() }
}

type Act = {
  readonly name: string
  readonly writes: readonly (readonly [table: string, write: Write])[]
  /** Prepares everything. @returns the act, which returns what went wrong: nothing may. */
  readonly prepare: () => Promise<() => Promise<readonly string[]>>
}

const wrongIf = (isWrong: boolean, what: string): readonly string[] => (isWrong ? [what] : [])

const ACTS: readonly Act[] = [
  {
    name: 'wrong PINs',
    writes: [['pin_guesses', 'update']],
    prepare: async () => {
      const made = await makeUnder('user')
      return async () => {
        const codes: string[] = []
        for (let guess = 0; guess < (isLong ? 7 : 3); guess += 1) codes.push(await sign(made, { userPin: WRONG }))
        const checked = codes.filter((code) => code === 'INVALID_SECRET').length
        const opens = (await sign(made, pin)) === 'resolved'
        return [...wrongIf(checked > 1, `${checked} PINs were checked`), ...wrongIf(opens, 'the right PIN opens')]
      }
    },
  },
  {
    name: 'uses of a policy',
    writes: [['policies', 'update']],
    prepare: async () => {
      const { use } = await inPolicy()
      return async () => {
        const codes = await Promise.all([use(), use(), use(), use(), use()])
        codes.push(await use())
        return wrongIf(codes.filter((code) => code === 'resolved').length > 1, codes.join(' '))
      }
    },
  },
  {
    name: 'the revocation of a policy',
    writes: [
      ['policies', 'update'],
      ['policy_locks', 'delete'],
    ],
    prepare: async () => {
      const { vault, wallet, terms, use } = await inPolicy()
      return async () => {
        const revoked = await outcome(
          vault.revokePolicy({ wallet, credentials: pin, actor: ACTOR, policyId: terms.id }),
        )
        return wrongIf(revoked === 'resolved' && (await use()) === 'resolved', 'a revoked policy signs')
      }
    },
  },
  {
    name: 'a changed PIN',
    writes: [['user_keys', 'update']],
    prepare: async () => {
      const made = await makeUnder('user')
      const { vault, wallet } = made
      return async () => {
        const changed = await outcome(vault.changeUserPin({ wallet, oldPin: PIN, newPin: NEW, actor: ACTOR }))
        return wrongIf(changed === 'resolved' && (await sign(made, pin)) === 'resolved', 'the earlier PIN opens')
      }
    },
  },
  {
    name: 'a changed developer secret',
    writes: [['developer_keys', 'update']],
    prepare: async () => {
      const of = await world.project(SECRET)
      const ownerId = randomUUID()
      const wallet = await world.wallet({ projectId: of, ownerId, controlMode: 'developer', credentials: secret })
      const made = { vault: await world.another({ db: world.db }), wallet }
      return async () => {
        const [oldSecret, newSecret] = [SECRET, 'another secret of this project']
        const changed = await outcome(
          made.vault.changeDeveloperSecret({ projectId: of, oldSecret, newSecret, actor: ACTOR }),
        )
        return wrongIf(
          changed === 'resolved' && (await sign(made, secret)) === 'resolved',
          'the earlier developer secret opens',
        )
      }
    },
  },
  {
    name: 'a first recovery code',
    writes: [['user_key_locks', 'insert']],
    prepare: async () => {
      const { vault, wallet } = await makeUnder('user')
      return async () => {
        const made = await outcome(vault.newRecoveryCode({ wallet, credentials: pin, actor: ACTOR }))
        return wrongIf(made === 'resolved', 'a code was handed out that is not there')
      }
    },
  },
  {
    name: 'a recovery code in place of another one',
    writes: [['user_key_locks', 'update']],
    prepare: async () => {
      const { newCode, userSecret, ...parts } = await withCode()
      return async () => {
        const made = await outcome(newCode())
        return wrongIf(
          made === 'resolved' && (await sign(parts, { userSecret })) === 'resolved',
          'the earlier code opens',
        )
      }
    },
  },
  {
    name: 'a removed recovery code',
    writes: [['user_key_locks', 'update']],
    prepare: async () => {
      const { userSecret, ...made } = await withCode()
      const { vault, wallet } = made
      return async () => {
        const of = { wallet, kind: 'recovery_code', passkeyId: '', credentials: pin, actor: ACTOR } as const
        const removed = await outcome(vault.removeUserSecret(of))
        return wrongIf(removed === 'resolved' && (await sign(made, { userSecret })) === 'resolved', 'the code opens')
      }
    },
  },
  {
    name: 'wallets put under policies',
    writes: [['owner_locks', 'update']],
    prepare: async () => {
      const made = await makeUnder('developer')
      const { vault, wallet } = made
      return async () => {
        const put = await outcome(vault.putUnderPolicies({ wallet, credentials: secret, actor: ACTOR }))
        return wrongIf(put === 'resolved' && (await sign(made, secret)) === 'resolved', 'the secret alone signs')
      }
    },
  },
  {
    name: 'a delegate that is no more allowed',
    writes: [['delegate_lists', 'update']],
    prepare: async () => {
      const vault = await world.another({ db: world.db })
      const of = { projectId: await world.project(SECRET), network: 'Ethereum', address: DELEGATE, actor: ACTOR }
      await vault.changeDelegates({ ...of, change: 'add' })
      return async () => {
        const removed = await outcome(vault.changeDelegates({ ...of, change: 'remove' }))
        const listed = await vault.listDelegates(of).catch(() => [])
        return wrongIf(removed === 'resolved' && listed.length > 0, 'the delegate is allowed')
      }
    },
  },
  {
    name: 'an owner who is unlocked',
    writes: [['pin_guesses', 'update']],
    prepare: async () => {
      const made = await makeUnder('user')
      const { vault, wallet } = made
      await sign(made, { userPin: WRONG })
      return async () => {
        const unlocked = await outcome(vault.unlockOwner({ projectId, ownerId: wallet.ownerId, actor: ACTOR }))
        return wrongIf(unlocked === 'resolved', 'the owner is said to be unlocked')
      }
    },
  },
  {
    name: 'a new wallet',
    writes: [
      ['keyrings', 'insert'],
      ['owner_locks', 'insert'],
      ['wallet_keys', 'insert'],
      ['user_keys', 'insert'],
      ['pin_guesses', 'insert'],
    ],
    prepare: async () => async () => wrongIf((await outcome(newWallet())) === 'resolved', 'an address was handed out'),
  },
  {
    name: 'a new policy',
    writes: [
      ['policies', 'insert'],
      ['policy_locks', 'insert'],
    ],
    prepare: async () => {
      const { wallet } = await makeUnder('user')
      return async () =>
        wrongIf((await outcome(world.policy(wallet, { ...secret, ...pin }))) === 'resolved', 'a policy was made')
    },
  },
  {
    name: 'a new project',
    writes: [
      ['project_keys', 'insert'],
      ['developer_keys', 'insert'],
    ],
    prepare: async () => async () => wrongIf((await outcome(world.project(SECRET))) === 'resolved', 'it was made'),
  },
]

const newWallet = () => world.wallet({ projectId, ownerId: randomUUID(), controlMode: 'user', credentials: pin })

/** In the suite each write is undone in one way, and the next one in another. */
let planned = 0
const waysOf = (write: Write): readonly Disobedience[] => {
  const ways = disobediencesOf(write)
  planned += 1
  return isLong ? ways : ways.slice((planned - 1) % ways.length).slice(0, 1)
}

for (const [index, { name, writes, prepare }] of ACTS.entries()) {
  // In the suite catalogue.test.ts looks at the other tables.
  const looksAtCatalogue = isLong || index === 0
  describe(`${name}, where`, () => {
    for (const [table, write] of someOf(writes, 3))
      for (const disobedience of waysOf(write))
        for (const isDeferred of isLong && disobedience.when === 'after' ? [false, true] : [false])
          test(`${disobedience.name} after ${write} of ${table}${isDeferred ? ', at the commit' : ''}`, async () => {
            const act = await prepare()
            const outcome = await whileDisobeying(sql, { table, write, disobedience, isDeferred }, async () => ({
              wrong: await act(),
              differences: looksAtCatalogue ? (await catalogueDifferences(world.db)).map(({ found }) => found) : [],
            }))
            expect(outcome).toEqual({
              wrong: [],
              differences: looksAtCatalogue ? [`the trigger disobey on ${table} is not in the migrations`] : [],
            })
          })
  })
}

test('a rotation of a project key fails where the old locks stay, and its repetition seals them anew', async () => {
  const id = await world.project(SECRET)
  const ofOwner = { projectId: id, ownerId: randomUUID(), controlMode: 'developer', credentials: secret } as const
  const made = { vault: world.vault, wallet: await world.wallet(ofOwner) }
  const rotate = (resume: boolean) => world.vault.rotateProjectKey({ projectId: id, actor: ACTOR, resume })
  const [disobedience] = disobediencesOf('update')
  if (disobedience === undefined) throw new Error('there is no such disobedience')
  const planted = { table: 'owner_locks', write: 'update', disobedience } as const
  expect(await whileDisobeying(sql, planted, () => rotate(false).catch(String))).toContain('wrote in owner_locks')
  expect([(await rotate(true)).resealed > 0, await sign(made, secret)]).toEqual([true, 'resolved'])
})

describe('without its audit row', () => {
  const [nothing] = disobediencesOf('insert').filter(({ when }) => when === 'before')
  if (nothing === undefined) throw new Error('there is no such disobedience')
  /** The audit is append-only, but not for the database's owner. */
  const deleted: Disobedience = {
    name: 'the written row is deleted',
    writes: ['insert'],
    when: 'after',
    body: `begin
      perform set_config('session_replication_role', 'replica', true);
      delete from audit where id = new.id;
      perform set_config('session_replication_role', 'origin', true);
      return null; end`,
  }
  const onAudit = { table: 'audit', write: 'insert', condition: "new.action <> 'write_undone'" } as const

  test.each(someOf(['signature', 'export', 'use of a policy', 'change of a PIN'], 2))(
    'no %s leaves the vault',
    async (what) => {
      const { vault, wallet, use } = await inPolicy(2)
      const request = { wallet, credentials: pin, actor: ACTOR }
      const acts: Readonly<Record<string, () => Promise<string>>> = {
        signature: () => sign({ vault, wallet }, pin),
        export: () => outcome(vault.exportKeyring(request)),
        'use of a policy': use,
        'change of a PIN': () => outcome(vault.changeUserPin({ wallet, oldPin: PIN, newPin: NEW, actor: ACTOR })),
      }
      const act = acts[what] as () => Promise<string>
      expect(await whileDisobeying(sql, { ...onAudit, disobedience: nothing }, act)).toBe('internal')
      const rows = await sql`select details from audit where action = 'write_undone' and subject = 'audit'`
      expect(rows.length).toBeGreaterThan(0)
      expect(await act()).toBe('resolved')
    },
  )

  longTest('that is deleted as soon as it is written, a vault opens no key from then on', async () => {
    const made = await makeUnder('developer')
    const condition = `new.subject = '${made.wallet.id}'`
    const others = await makeUnder('developer')
    await whileDisobeying(sql, { ...onAudit, condition, disobedience: deleted }, () => sign(made, secret))
    const deadline = performance.now() + 20_000
    const refused = async () => (await sign({ ...others, vault: made.vault }, secret)) === 'unavailable'
    while (!(await refused()) && performance.now() < deadline) await sql`select pg_sleep(0.2)`
    expect(await refused()).toBe(true)
  })
})

describe('by rows of before', () => {
  test('that were archived with their MACs, no count of wrong PINs is lowered', async () => {
    const made = await makeUnder('user')
    const { ownerId } = made.wallet
    const rows: Record<string, unknown>[] = []
    const archive = async () => {
      const [row] =
        await sql`select fails, total, locked_until, revision, mac from pin_guesses where owner_id = ${ownerId}`
      if (row !== undefined) rows.push(row)
    }
    await archive()
    for (let use = 0; use < (isLong ? 5 : 2); use += 1) {
      expect(await sign(made, pin)).toBe('resolved')
      await archive()
    }
    const codes: string[] = []
    for (const row of rows) {
      await sql`update pin_guesses set ${sql(row)} where owner_id = ${ownerId}`
      codes.push(await sign(made, { userPin: WRONG }))
    }
    expect(codes.filter((code) => code === 'INVALID_SECRET').length).toBeLessThan(2)
  })
})

describe('by a list of freezes of before', () => {
  test('that another vault has replaced, nothing is signed that this vault knew to be frozen', async () => {
    const of = await world.project(SECRET)
    const ownerId = randomUUID()
    const wallet = await world.wallet({ projectId: of, ownerId, controlMode: 'developer', credentials: secret })
    const made = { vault: await world.another({ db: world.db }), wallet }
    const read = async () => (await sql`select freezes, version, mac from freeze_lists where id = ${of}`)[0] ?? {}
    const put = (row: object) => sql`update freeze_lists set ${sql({ ...row })} where id = ${of}`
    const before = await read()
    await freezing(world, wallet)
    const after = await read()
    expect(await sign(made, secret)).toBe('frozen')
    await put(before)
    expect(await sign(made, secret)).toBe('internal')
    // Nothing is learned from a row that no vault has written.
    await put({ ...after, version: 2_147_483_647, mac: Buffer.alloc(32) })
    expect(await sign(made, secret)).toBe('internal')
    await put(after)
    expect(await sign(made, secret)).toBe('frozen')
  })
})

describe('by a function of the same name', () => {
  test.each(someOf(['public', 'pg_catalog'], 2))('in %s, no count of wrong PINs is hidden', async (schema) => {
    await sql.unsafe(`set allow_system_table_mods = on; create function ${schema}.to_jsonb(public.pin_guesses) returns jsonb language sql as
      $$ select pg_catalog.row_to_json($1)::jsonb || '{"fails": 0, "total": 0, "revision": 0}' $$`)
    const made = await makeUnder('user')
    const [row] = await sql`select * from pin_guesses where owner_id = ${made.wallet.ownerId}`
    const setBack = () =>
      sql`update pin_guesses set fails = 0, total = 0, revision = ${row?.revision}, mac = ${row?.mac}, locked_until = null
        where owner_id = ${made.wallet.ownerId}`
    const codes: string[] = []
    for (let guess = 0; guess < 2; guess += 1) {
      codes.push(await sign(made, { userPin: WRONG }))
      await setBack()
    }
    const right = await sign(made, pin)
    await sql.unsafe(`set allow_system_table_mods = on; drop function ${schema}.to_jsonb(public.pin_guesses)`)
    expect(codes.filter((code) => code === 'INVALID_SECRET').length).toBeLessThan(2)
    expect(right).not.toBe('resolved')
  })
})

describe('by a false clock', () => {
  const shifted = (ms: number) => world.another({ db: world.db, now: () => new Date(Date.now() + ms) })
  const HOUR_MS = 3_600_000

  const shifts = [
    ['ahead', 60_000],
    ['behind', -60_000],
  ] as const

  test.each(someOf(shifts, 2))('of the database or of the vault, a minute %s, no PIN is checked', async (_, ms) => {
    const { wallet } = await makeUnder('user')
    expect(await sign({ vault: await shifted(ms), wallet }, pin)).toBe('unavailable')
    const [row] = await sql`select total from pin_guesses where owner_id = ${wallet.ownerId}`
    expect(row?.total).toBe(0)
    expect(await sign({ vault: await shifted(5_000), wallet }, pin)).toBe('resolved')
  })

  test('no policy is used that is over by the clock of the vault', async () => {
    const { wallet } = await makeUnder('user')
    const expiresAt = new Date(Date.now() + HOUR_MS)
    const terms = await world.policy(wallet, { ...secret, ...pin }, { expiresAt })
    const use = async (ms: number) =>
      outcome(withPolicyKey(await shifted(ms), { wallet, credentials: secret, actor: ACTOR, terms }, signOneBy))
    expect(await use(2 * HOUR_MS)).toBe('policy_denied')
    expect(await use(0)).toBe('resolved')
  })
})
