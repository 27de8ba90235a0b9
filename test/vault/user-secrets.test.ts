// Recovery codes and passkeys that open a user key, in the vault. Over HTTP: test/wallets/user-secrets.test.ts.

import { describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import { keyIdOf } from '../../src/platform/sealing/envelope.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import type { OperatorVault } from '../../src/vault/contract/vault.ts'
import { withKey } from '../support/keys.ts'
import { untilWaiting } from '../support/locks.ts'
import { isLong, longTest } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import {
  ACTOR,
  codeOf,
  freezing,
  hexOf,
  openTestGuesses,
  openWorld,
  SECRET,
  signOne,
  tally,
  textOf,
  textsOf,
} from './support.ts'

const PIN = '493817'
const NEW = '271828'
const WRONG = '604913'
const pin = { userPin: PIN }
const LOCKED = 'TOO_MANY_FAILED_ATTEMPTS'

const world = await shared(openWorld())
const { sql } = world
const projectId = await world.project()

const userWallet = (of: { readonly ownerId?: string; readonly projectId?: string; readonly network?: string } = {}) =>
  world.wallet({ projectId, ownerId: randomUUID(), controlMode: 'user', credentials: pin, ...of })

const sign = (wallet: WalletRow, credentials: Credentials, vault: OperatorVault = world.vault) =>
  withKey(vault, { wallet, credentials, actor: ACTOR }, async (key) => hexOf(await signOne(key)))

const newCode = async (wallet: WalletRow, credentials: Credentials = pin, vault = world.vault) =>
  textOf((await vault.newRecoveryCode({ wallet, credentials, actor: ACTOR })).recoveryCode)

const newPasskeySecret = () => randomBytes(32).toString('base64url')

const addPasskey = async (wallet: WalletRow, passkeyId: string, credentials: Credentials = pin) => {
  const passkeySecret = newPasskeySecret()
  await world.vault.addPasskeySecret({ wallet, passkeyId, passkeySecret, credentials, actor: ACTOR })
  return passkeySecret
}

const removeCode = (wallet: WalletRow, credentials: Credentials) =>
  world.vault.removeUserSecret({ wallet, kind: 'recovery_code', passkeyId: '', credentials, actor: ACTOR })
const removePasskey = (wallet: WalletRow, passkeyId: string, credentials: Credentials) =>
  world.vault.removeUserSecret({ wallet, kind: 'passkey', passkeyId, credentials, actor: ACTOR })

const secretsOf = async ({ ownerId }: WalletRow) => {
  const rows = await world.vault.userSecrets({ projectId, ownerId })
  return rows.map(({ kind, passkeyId }) => (passkeyId === '' ? kind : `${kind} ${passkeyId}`))
}

const acts = async ({ ownerId }: WalletRow, ...actions: readonly string[]) => {
  const rows = await sql`select action, details from audit where subject = ${ownerId} and action = any(${[...actions]})
    order by id`
  return rows.map((row) => ({ ...row }))
}

const guesses = async ({ ownerId }: WalletRow) => {
  const [row] = await sql`select fails, total from pin_guesses where owner_id = ${ownerId}`
  return { ...row }
}

const forged = async (of: string = projectId) =>
  (await world.vault.forgedRows({ projectId: of })).forged
    .filter(({ table }) => table === 'user_key_locks')
    .map(({ id, trouble }) => `${id}: ${trouble}`)

const lockOut = async (wallet: WalletRow) => {
  for (let tries = 0; tries < 5; tries += 1) await codeOf(sign(wallet, { userPin: WRONG }))
  expect(await codeOf(sign(wallet, pin))).toBe(LOCKED)
}

const makeKnown = async () => {
  const wallet = await userWallet()
  return { wallet, code: await newCode(wallet), passkey: await addPasskey(wallet, 'key-1') }
}
let known: ReturnType<typeof makeKnown> | null = null
/** A wallet with both, for tests that change nothing of it. */
const knownWallet = () => {
  known ??= makeKnown()
  return known
}

describe('a recovery code and a passkey', () => {
  test('do all that the PIN does, for all wallets of the owner, in every process', async () => {
    const ownerId = randomUUID()
    const wallets = [await userWallet({ ownerId }), await userWallet({ ownerId, network: 'Polkadot' })]
    const [first] = wallets
    if (first === undefined) throw new Error('there is a first wallet')
    const secrets = [await newCode(first), await addPasskey(first, 'key-1')]
    const other = await world.another()
    const payload = { wallet: first, actor: ACTOR }
    const signature = await sign(first, pin)
    const phrases = textsOf(await other.exportKeyring({ ...payload, credentials: pin }))
    for (const userSecret of secrets) {
      expect(await sign(first, { userSecret }, other)).toBe(signature)
      const exported = await other.exportKeyring({ ...payload, credentials: { userSecret } })
      expect(textsOf(exported)).toEqual(phrases)
      if (isLong) await world.policy(first, { userSecret })
      await world.policy(first, { userSecret, developerSecret: SECRET })
    }
    const further = { projectId, ownerId, controlMode: 'user', network: 'Base' } as const
    const made = await world.wallet({ ...further, credentials: { userSecret: secrets[0] } })
    expect(await sign(made, pin)).toBe(signature)
    expect(await secretsOf(first)).toEqual(['passkey key-1', 'recovery_code'])
  })

  test('open the seed together with the developer secret where control is shared, and not alone', async () => {
    const ownerId = randomUUID()
    const mine = await userWallet({ ownerId })
    const userSecret = await newCode(mine)
    const both = { userSecret, developerSecret: SECRET }
    const theirs = { projectId, ownerId, controlMode: 'developer', network: 'Base' } as const
    expect(await codeOf(world.wallet({ ...theirs, credentials: { developerSecret: SECRET } }))).toBe(
      'credential_required',
    )
    await world.wallet({ ...theirs, credentials: both })
    const exported = (credentials: Credentials) =>
      codeOf(world.vault.exportKeyring({ wallet: mine, credentials, actor: ACTOR }))
    expect([await exported({ userSecret }), await exported(both)]).toEqual(['credential_required', 'resolved'])
  })

  longTest('are not accepted of another owner, of another project, or for another use of the same bytes', async () => {
    const elsewhere = await world.project()
    const ownerId = randomUUID()
    const [mine, theirs, away] = await Promise.all([
      userWallet({ ownerId }),
      userWallet(),
      userWallet({ ownerId, projectId: elsewhere }),
    ])
    const [code] = await Promise.all([newCode(mine), newCode(theirs), newCode(away)])
    for (const userSecret of [code, await addPasskey(mine, 'key-1')]) {
      for (const wallet of [theirs, away]) expect(await codeOf(sign(wallet, { userSecret }))).toBe('INVALID_SECRET')
    }
  })

  test('are wrong without a guess, and the audit has wrong ones as counted rows', async () => {
    const wallet = await userWallet()
    const code = await newCode(wallet)
    const other = await newCode(await userWallet())
    for (let tries = 0; tries < (isLong ? 20 : 2); tries += 1) {
      const userSecret = tries % 2 === 0 ? other : newPasskeySecret()
      expect(await codeOf(sign(wallet, { userSecret, from: '10.0.0.1' }))).toBe('INVALID_SECRET')
    }
    expect(await guesses(wallet)).toEqual({ fails: 0, total: 0 })
    expect((await sign(wallet, { userSecret: code })).length).toBe(130)
    const rows = await acts(wallet, 'wrong_user_secret')
    expect(rows).toEqual([
      { action: 'wrong_user_secret', details: expect.objectContaining({ count: '1', from: '10.0.0.1' }) },
    ])
  })

  test('with a typing error are refused as such, and are in no audit row', async () => {
    const { wallet, code } = await knownWallet()
    const typed = code.replace(/.$/, (last) => (last === 'Q' ? 'P' : 'Q'))
    expect(await codeOf(sign(wallet, { userSecret: typed }))).toBe('invalid_input')
    expect(await codeOf(sign(wallet, { userSecret: PIN }))).toBe('invalid_input')
    expect(await acts(wallet, 'wrong_user_secret')).toEqual([])
    expect((await sign(wallet, { userSecret: code.toLowerCase().replaceAll('-', ' ') })).length).toBe(130)
  })

  test('are refused beside a PIN, and for an owner who has no PIN yet', async () => {
    const { wallet, code: userSecret } = await knownWallet()
    expect(await codeOf(sign(wallet, { ...pin, userSecret }))).toBe('credential_ambiguous')
    const fresh = { projectId, ownerId: randomUUID(), controlMode: 'user' } as const
    expect(await codeOf(world.wallet({ ...fresh, credentials: { userSecret } }))).toBe('credential_required')
  })

  test('open nothing of a frozen owner, and none is made there', async () => {
    const { wallet, code: userSecret } = await knownWallet()
    const release = await freezing(world, wallet, 'owner')
    expect(await codeOf(sign(wallet, { userSecret }))).toBe('frozen')
    expect(await codeOf(newCode(wallet))).toBe('frozen')
    await release()
    expect(await codeOf(sign(wallet, { userSecret }))).toBe('resolved')
  })
})

describe('a lost PIN', () => {
  const lockOutOwner = async () => {
    const wallet = await userWallet()
    const code = await newCode(wallet)
    const signature = await sign(wallet, pin)
    await lockOut(wallet)
    return { wallet, code, signature }
  }
  let made: ReturnType<typeof lockOutOwner> | null = null
  /** One owner, for the refusals and then for the change. */
  const lockedOut = () => {
    made ??= lockOutOwner()
    return made
  }

  test('stays what it was after a wrong code, an obvious new PIN, or both credentials', async () => {
    const { wallet, code: userSecret } = await lockedOut()
    const change = (input: object) =>
      codeOf(world.vault.changeUserPin({ wallet, userSecret, newPin: NEW, actor: ACTOR, ...input }))
    expect(await change({ userSecret: newPasskeySecret() })).toBe('INVALID_SECRET')
    expect(await change({ newPin: '123456' })).toBe('pin_obvious')
    expect(await change({ oldPin: PIN })).toBe('credential_ambiguous')
    expect(await change({ userSecret: undefined })).toBe('credential_required')
    expect(await codeOf(sign(wallet, { userPin: NEW }))).toBe(LOCKED)
    expect(await guesses(wallet)).toEqual({ fails: 5, total: 5 })
  })

  test('is set anew with a code, which also ends a lockout and forgets the wrong PINs', async () => {
    const { wallet, code, signature: before } = await lockedOut()
    expect(await sign(wallet, { userSecret: code })).toBe(before)
    expect(await codeOf(sign(wallet, pin))).toBe(LOCKED)
    const changed = { wallet, userSecret: code, newPin: NEW, actor: ACTOR }
    await world.vault.changeUserPin(changed)
    expect(await guesses(wallet)).toEqual({ fails: 0, total: 0 })
    expect(await sign(wallet, { userPin: NEW })).toBe(before)
    expect(await codeOf(sign(wallet, pin))).toBe('INVALID_SECRET')
    expect(await sign(wallet, { userSecret: code })).toBe(before)
    expect(await acts(wallet, 'user_pin_changed')).toEqual([
      { action: 'user_pin_changed', details: { wallet: wallet.id, key_version: '2', by: 'recovery_code' } },
    ])
    expect((await world.vault.forgedRows({ projectId })).forged).toEqual([])
  })

  longTest(
    'is set anew with a passkey too, even where a hundred wrong PINs have locked the owner for good',
    async () => {
      const wallet = await userWallet()
      const userSecret = await addPasskey(wallet, 'key-1')
      // As the vault writes it after many days.
      await sql`update pin_guesses set total = 100 where owner_id = ${wallet.ownerId}`
      await (await openTestGuesses(world.db)).authenticate(projectId, wallet.ownerId)
      expect(await codeOf(sign(wallet, pin))).toBe(LOCKED)
      await world.vault.changeUserPin({ wallet, userSecret, newPin: NEW, actor: ACTOR })
      expect(await guesses(wallet)).toEqual({ fails: 0, total: 0 })
      expect(await codeOf(sign(wallet, { userPin: NEW }))).toBe('resolved')
      expect(await acts(wallet, 'user_pin_changed')).toEqual([
        {
          action: 'user_pin_changed',
          details: { wallet: wallet.id, key_version: '2', by: 'passkey', passkey_id: 'key-1' },
        },
      ])
    },
  )

  longTest('is set anew although somebody forged the count of wrong PINs', async () => {
    const wallet = await userWallet()
    const userSecret = await newCode(wallet)
    await sql`update pin_guesses set fails = 3 where owner_id = ${wallet.ownerId}`
    expect(await codeOf(sign(wallet, pin))).toBe(LOCKED)
    await world.vault.changeUserPin({ wallet, userSecret, newPin: NEW, actor: ACTOR })
    expect(await codeOf(sign(wallet, { userPin: NEW }))).toBe('resolved')
    expect((await world.vault.forgedRows({ projectId })).forged).toEqual([])
  })

  longTest('a PIN whose check is under way meanwhile takes nothing back', async () => {
    const wallet = await userWallet()
    const userSecret = await newCode(wallet)
    const signing = Promise.withResolvers<string>()
    await sql.begin(async (tx) => {
      await tx`select from pin_guesses where owner_id = ${wallet.ownerId} for update`
      codeOf(sign(wallet, { userPin: WRONG })).then(signing.resolve, signing.reject)
      await untilWaiting(sql)
    })
    await world.vault.changeUserPin({ wallet, userSecret, newPin: NEW, actor: ACTOR })
    expect(['INVALID_SECRET', 'credential_changed', 'busy']).toContain(await signing.promise)
    expect(await codeOf(sign(wallet, { userPin: NEW }))).toBe('resolved')
    expect((await world.vault.forgedRows({ projectId })).forged).toEqual([])
  })
})

describe('making and removing them', () => {
  test('needs a credential of the owner in the request, and a wrong PIN is a guess', async () => {
    const wallet = await userWallet()
    expect(await codeOf(newCode(wallet, {}))).toBe('credential_required')
    expect(await codeOf(newCode(wallet, { developerSecret: SECRET }))).toBe('credential_required')
    expect(await codeOf(newCode(wallet, { userPin: WRONG }))).toBe('INVALID_SECRET')
    expect(await codeOf(addPasskey(wallet, 'key-1', { userSecret: newPasskeySecret() }))).toBe('INVALID_SECRET')
    expect(await guesses(wallet)).toEqual({ fails: 1, total: 1 })
    expect(await secretsOf(wallet)).toEqual([])
  })

  test('another code replaces the earlier one, and may be made with it', async () => {
    const wallet = await userWallet()
    const first = await newCode(wallet)
    const second = await newCode(wallet, { userSecret: first })
    expect(second).not.toBe(first)
    expect(await codeOf(sign(wallet, { userSecret: first }))).toBe('INVALID_SECRET')
    expect(await codeOf(sign(wallet, { userSecret: second }))).toBe('resolved')
    expect(await acts(wallet, 'user_secret_added')).toEqual(
      ['1', '2'].map((lock_version) => ({
        action: 'user_secret_added',
        details: { wallet: wallet.id, kind: 'recovery_code', lock_version },
      })),
    )
  })

  test('several passkeys open the same key; the secret of the same passkey is replaced', async () => {
    const wallet = await userWallet()
    const [first, second] = [await addPasskey(wallet, 'key-1'), await addPasskey(wallet, 'key-2')]
    const again = await addPasskey(wallet, 'key-1', { userSecret: second })
    expect(await codeOf(sign(wallet, { userSecret: first }))).toBe('INVALID_SECRET')
    for (const userSecret of [second, again]) expect(await codeOf(sign(wallet, { userSecret }))).toBe('resolved')
  })

  test('ten passkeys are the most, also with many requests at once', async () => {
    const wallet = await userWallet()
    const userSecret = await newCode(wallet)
    const ids = Array.from({ length: isLong ? 14 : 11 }, (_, number) => `key-${number}`)
    const added = await tally(ids.map((id) => addPasskey(wallet, id, { userSecret })))
    expect(added).toEqual({ resolved: 10, invalid_input: ids.length - 10 })
    const [one = ''] = (await secretsOf(wallet)).map((named) => named.replace('passkey ', ''))
    expect(await codeOf(addPasskey(wallet, one))).toBe('resolved')
    await removePasskey(wallet, one, pin)
    expect(await codeOf(addPasskey(wallet, 'one-more'))).toBe('resolved')
  })

  test('a removed one opens nothing, and may be made again', async () => {
    const wallet = await userWallet()
    const code = await newCode(wallet)
    const passkey = await addPasskey(wallet, 'key-1')
    await removeCode(wallet, { userSecret: passkey })
    await removePasskey(wallet, 'key-1', pin)
    for (const userSecret of [code, passkey]) {
      expect(await codeOf(sign(wallet, { userSecret }))).toBe('INVALID_SECRET')
    }
    expect(await codeOf(removeCode(wallet, pin))).toBe('not_found')
    expect(await codeOf(removePasskey(wallet, 'key-2', pin))).toBe('not_found')
    expect(await secretsOf(wallet)).toEqual([])
    if (isLong) expect(await forged()).toEqual([])
    const next = await newCode(wallet)
    expect(await codeOf(sign(wallet, { userSecret: code }))).toBe('INVALID_SECRET')
    expect(await codeOf(sign(wallet, { userSecret: next }))).toBe('resolved')
    expect(await forged()).toEqual([])
  })

  test('none is removed with itself, so another one is left', async () => {
    const { wallet, code, passkey } = await knownWallet()
    expect(await codeOf(removeCode(wallet, { userSecret: code }))).toBe('invalid_input')
    expect(await codeOf(removePasskey(wallet, 'key-1', { userSecret: passkey }))).toBe('invalid_input')
    expect(await secretsOf(wallet)).toEqual(['passkey key-1', 'recovery_code'])
  })

  longTest('two that remove each other at once leave one', async () => {
    const wallet = await userWallet()
    const [code, passkey] = [await newCode(wallet), await addPasskey(wallet, 'key-1')]
    let removals: readonly Promise<unknown>[] = []
    await sql.begin(async (tx) => {
      await tx`select from user_keys where owner_id = ${wallet.ownerId} for update`
      removals = [removeCode(wallet, { userSecret: passkey }), removePasskey(wallet, 'key-1', { userSecret: code })]
      for (const each of removals) each.catch(() => {})
      const waiting = () =>
        sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      while ((await waiting()).length < 2) await Bun.sleep(5)
    })
    expect(await tally(removals)).toEqual({ resolved: 1, credential_changed: 1 })
    expect(await secretsOf(wallet)).toHaveLength(1)
  })

  longTest('two codes made at once: one is right, and the other request is refused', async () => {
    const wallet = await userWallet()
    const userSecret = await addPasskey(wallet, 'key-1')
    await newCode(wallet)
    const made = await Promise.allSettled([newCode(wallet, { userSecret }), newCode(wallet, { userSecret })])
    const codes = made.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    expect(codes.length).toBeGreaterThan(0)
    const opened = await tally(codes.map((code) => sign(wallet, { userSecret: code })))
    expect(opened.resolved).toBe(1)
    expect(await forged()).toEqual([])
  })
})

describe("a rotation of the project's key", () => {
  longTest('re-seals their rows, and not removed ones; they open as before', async () => {
    const of = await world.project()
    const wallet = await userWallet({ projectId: of })
    const secrets = [await newCode(wallet), await addPasskey(wallet, 'key-1'), await addPasskey(wallet, 'key-2')]
    await removePasskey(wallet, 'key-2', pin)
    const before = await sign(wallet, pin)
    // Developer key, user key, seed lock, owner lock, and two of these.
    const rotated = { version: 2, resealed: 6, broken: { rows: 0, first: [] } }
    expect(await world.vault.rotateProjectKey({ projectId: of, actor: 'operator', resume: false })).toEqual(rotated)
    const rows = await sql`select passkey_id, sealed from user_key_locks where project_id = ${of} order by passkey_id`
    expect(rows.map(({ sealed }) => sealed && keyIdOf(sealed))).toEqual([2, 2, null])
    for (const userSecret of secrets.slice(0, 2)) expect(await sign(wallet, { userSecret })).toBe(before)
    expect(await forged(of)).toEqual([])
  })

  longTest('names a row that does not open, and leaves it', async () => {
    const of = await world.project()
    const wallet = await userWallet({ projectId: of })
    await newCode(wallet)
    const [row] = await sql`update user_key_locks set version = 7 where project_id = ${of} returning id`
    const { broken } = await world.vault.rotateProjectKey({ projectId: of, actor: 'operator', resume: false })
    expect(broken).toEqual({ rows: 1, first: [`user_key_lock ${row?.id}`] })
  })

  longTest(
    'continuous rotations lose no code',
    async () => {
      const of = await world.project()
      const other = await world.another()
      const wallet = await userWallet({ projectId: of })
      let code = await newCode(wallet)
      let isDone = false
      const rotating = (async () => {
        while (!isDone) await other.rotateProjectKey({ projectId: of, actor: 'operator', resume: false })
      })()
      for (let times = 0; times < 10; times += 1) code = await newCode(wallet, { userSecret: code })
      isDone = true
      await rotating
      await other.rotateProjectKey({ projectId: of, actor: 'operator', resume: true })
      expect(await codeOf(sign(wallet, { userSecret: code }))).toBe('resolved')
      expect(await forged(of)).toEqual([])
    },
    30_000,
  )
})

describe('who owns the database', () => {
  /** Rows of two owners, and a way to write one of them by hand. */
  const twoOwners = async () => {
    const [mine, theirs] = [await userWallet(), await userWallet()]
    const [ofMine, ofTheirs] = [await newCode(mine), await newCode(theirs)]
    const sealedOf = async ({ ownerId }: WalletRow) => {
      const [row] = await sql`select sealed, version from user_key_locks where owner_id = ${ownerId}`
      return { sealed: row?.sealed as Uint8Array, version: row?.version as number }
    }
    const write = async ({ ownerId }: WalletRow, change: Record<string, unknown>) =>
      sql`update user_key_locks set ${sql(change as never)} where owner_id = ${ownerId} and kind = 'recovery_code'`
    return { mine, theirs, ofMine, ofTheirs, sealedOf, write }
  }
  const event = (wallet: WalletRow) => acts(wallet, 'user_secret_forged')

  longTest(
    "who swaps two owners' rows opens neither wallet, and `audit verify` names both until they are back",
    async () => {
      const { mine, theirs, ofMine, ofTheirs, sealedOf, write } = await twoOwners()
      const [a, b] = [await sealedOf(mine), await sealedOf(theirs)]
      await write(mine, b)
      await write(theirs, a)
      for (const wallet of [mine, theirs]) {
        for (const userSecret of [ofMine, ofTheirs]) {
          expect(await codeOf(sign(wallet, { userSecret }))).toBe('INVALID_SECRET')
        }
        expect((await event(wallet)).length).toBe(1)
      }
      const trouble = (wallet: WalletRow) => `${wallet.ownerId} recovery_code: it is not as it was made`
      expect((await forged()).sort()).toEqual([trouble(mine), trouble(theirs)].sort())
      await write(mine, a)
      await write(theirs, b)
      expect(await forged()).toEqual([])
      expect(await codeOf(sign(mine, { userSecret: ofMine }))).toBe('resolved')
    },
  )

  test('who edits, deletes or inserts a row is found', async () => {
    const { mine, theirs, ofMine, sealedOf, write } = await twoOwners()
    const lock = `${mine.ownerId} recovery_code`
    const found = async () => {
      const all = await forged()
      return all.filter((each) => each.startsWith(mine.ownerId))
    }
    const row = await sealedOf(mine)
    await write(mine, { version: 2 })
    expect(await codeOf(sign(mine, { userSecret: ofMine }))).toBe('INVALID_SECRET')
    expect(await found()).toEqual([`${lock}: the audit does not name it`, `${lock}: it is not as it was made`])
    await write(mine, { ...row, sealed: null })
    expect(await found()).toEqual([`${lock}: the audit has a later state of it`])
    await write(mine, row)
    const copy = {
      id: randomUUID(),
      project_id: projectId,
      owner_id: mine.ownerId,
      kind: 'passkey',
      passkey_id: 'theirs',
    }
    await sql`insert into user_key_locks ${sql({ ...copy, ...(await sealedOf(theirs)) })}`
    const passkey = `${mine.ownerId} passkey theirs`
    expect((await found()).sort()).toEqual(
      [`${passkey}: it is not as it was made`, `${passkey}: the audit does not name it`].sort(),
    )
    // It disturbs no other secret of the owner.
    expect(await codeOf(sign(mine, { userSecret: ofMine }))).toBe('resolved')
    expect(await codeOf(sign(mine, { userSecret: newPasskeySecret() }))).toBe('INVALID_SECRET')
    await sql`delete from user_key_locks where id = ${copy.id}`
    const [kept] = await sql`delete from user_key_locks where owner_id = ${mine.ownerId} returning *`
    expect(await found()).toEqual([`${lock}: the audit names it, and it is gone`])
    await sql`insert into user_key_locks ${sql(kept as never)}`
    expect(await forged()).toEqual([])
  })

  longTest('who writes a replaced or a removed code back is named', async () => {
    const { mine, sealedOf, write } = await twoOwners()
    const lock = `${mine.ownerId} recovery_code`
    const first = await sealedOf(mine)
    await newCode(mine)
    const second = await sealedOf(mine)
    await write(mine, first)
    expect(await forged()).toEqual([`${lock}: the audit has a later state of it`])
    await write(mine, second)
    await removeCode(mine, pin)
    await write(mine, second)
    expect(await forged()).toEqual([`${lock}: the audit has a later state of it`])
    await write(mine, { sealed: null, version: 3 })
    expect(await forged()).toEqual([])
  })
})
