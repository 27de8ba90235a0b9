// Which new PINs are refused. Obvious PINs from before go on working.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { dictionary } from '@zxcvbn-ts/language-common'
import postgres, { type Sql } from 'postgres'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import { isObviousPin } from '../../src/vault/rooms/credentials/new-secrets.ts'
import { createProjectKeys } from '../../src/vault/rooms/root/project-keys.ts'
import { createRootKeys } from '../../src/vault/rooms/root/root-key.ts'
import { identityOf, openUserKey, sealUserKey } from '../../src/vault/rooms/sealing/hierarchy.ts'
import { stretchPin } from '../../src/vault/rooms/sealing/stretch.ts'
import { withKey } from '../support/keys.ts'
import { longTest } from '../support/long.ts'
import { ACTOR, codeOf, openTestRootKey, openWorld, payloadFor, SECRET, signOne, type VaultWorld } from './support.ts'
import { ANVIL } from './vectors.ts'

const PIN = '493817'
const OBVIOUS = '123456'

describe('a PIN is obvious', () => {
  test.each([
    ['of one digit', ['000000', '777777']],
    ['of two digits', ['121212', '111222', '000007', '100000', '996699']],
    ['that repeats its half', ['123123', '007007', '420420']],
    ['that reads the same backwards', ['123321', '159951', '907709']],
    ['of doubled digits', ['112233', '449977']],
    ['that goes up or down by one step', ['123456', '654321', '567890', '098765', '135791', '864208', '369258']],
    ['with five digits in a run', ['123459', '612345', '987650', '098765']],
    ['of two lines on the keypad', ['789456', '147258', '123654', '963852', '741852', '456123']],
    ['of pairs that go up or down', ['101112', '102030', '010203', '132435', '142536', '192837', '605040']],
    ['that is a date, the day first', ['311299', '290200', '010170', '300425']],
    ['that is a date, the month first', ['123199', '022900', '043025']],
    ['that is a date, the year first', ['991231', '000229', '700101']],
    ['that is a month of a year', ['198512', '121985', '202501', '012025']],
    ['that is popular', ['159753', '134679', '314159', '246810']],
  ])('%s', (_, pins) => {
    expect(pins.filter((pin) => !isObviousPin(pin))).toEqual([])
  })

  test('that is one of the ten most common in a study of six-digit PINs on phones', () => {
    // Markert et al., IEEE S&P 2020.
    const ten = '123456 654321 111111 000000 123123 666666 121212 112233 789456 159753'.split(' ')
    expect(ten.filter((pin) => !isObviousPin(pin))).toEqual([])
  })

  test('that is one of the hundred most common in a list of leaked passwords; of the others, most are obvious too', () => {
    const pins = (dictionary['passwords-common'] ?? []).map(String).filter((text) => /^[0-9]{6}$/.test(text))
    expect(pins.length).toBe(740)
    expect(pins.slice(0, 100).filter((pin) => !isObviousPin(pin))).toEqual([])
    expect(pins.filter(isObviousPin).length).toBe(454)
  })

  longTest('in 93,509 of a million cases, so a random PIN is refused once in eleven times', () => {
    let count = 0
    for (let pin = 0; pin < 1_000_000; pin += 1) if (isObviousPin(String(pin).padStart(6, '0'))) count += 1
    expect(count).toBe(93_509)
  })
})

test.each([PIN, '271828', '604913', '320199', '314699', '311399', '189912', '201399', '583920'])(
  '%s is not obvious',
  (pin) => {
    expect(isObviousPin(pin)).toBe(false)
  },
)

describe('an obvious PIN', () => {
  let world: VaultWorld
  let sql: Sql
  let projectId: string

  beforeAll(async () => {
    world = await openWorld()
    sql = postgres(world.url, { max: 1, onnotice: () => {} })
    projectId = await world.project()
  })
  afterAll(async () => {
    await sql?.end()
    await world?.close()
  })

  const ofUser = (ownerId: string, userPin: string, rest: object = {}) =>
    ({ projectId, ownerId, controlMode: 'user', credentials: { userPin }, ...rest }) as const
  const rowsOf = async (ownerId: string) => {
    const [row] = await sql`select (select count(*)::int from keyrings where owner_id = ${ownerId}) as keyrings,
      (select count(*)::int from user_keys where owner_id = ${ownerId}) as user_keys`
    return { ...row }
  }
  const guesses = async (ownerId: string) => {
    const [row] = await sql`select fails, total from pin_guesses where owner_id = ${ownerId}`
    return { ...row }
  }
  const sign = (wallet: WalletRow, credentials: Credentials) =>
    withKey(world.vault, { wallet, credentials, actor: ACTOR }, async (key) => signOne(key, payloadFor(wallet)))

  /** Gives an owner a PIN as an earlier version of the service did, which took every one. */
  const giveObviousPin = async (wallet: WalletRow) => {
    const { ownerId } = wallet
    const of = { projectId, ownerId, version: 1 }
    const rootKeys = createRootKeys({ db: world.db, rootKey: await openTestRootKey() })
    const projectKeys = createProjectKeys({ db: world.db, rootKeys })
    const [row] = await sql`select salt, sealed from user_keys where owner_id = ${ownerId}`
    const [salt, sealed] = [row?.salt as Uint8Array, row?.sealed as Uint8Array]
    const identity = identityOf.userKey(of)
    const inner = await projectKeys.openOuter({ identity, sealed })
    const userKey = openUserKey({ ...of, stretched: await stretchPin({ pin: PIN, salt }), sealed: inner })
    if (userKey === null) throw new Error('the PIN is another')
    const again = sealUserKey({ ...of, stretched: await stretchPin({ pin: OBVIOUS, salt }), userKey })
    const [key] = await sql`select max(version) as version from project_keys where project_id = ${projectId}`
    const outer = await projectKeys.sealOuter({ version: key?.version, identity, inner: again })
    await sql`update user_keys set sealed = ${Buffer.from(outer)} where owner_id = ${ownerId}`
  }

  test.each([
    ['a first wallet', {}],
    ['an import', { imported: { privateKey: ANVIL.privateKey } }],
  ])('is refused for %s, and nothing is made', async (_, rest) => {
    const ownerId = randomUUID()
    expect(await codeOf(world.wallet(ofUser(ownerId, OBVIOUS, rest)))).toBe('pin_obvious')
    expect(await rowsOf(ownerId)).toEqual({ keyrings: 0, user_keys: 0 })
  })

  test('is refused for an owner who has a developer’s wallet and no PIN, before the secret is checked', async () => {
    const ownerId = randomUUID()
    await world.wallet({ projectId, ownerId, controlMode: 'developer', credentials: { developerSecret: SECRET } })
    const credentials = { userPin: OBVIOUS, developerSecret: 'wrong' }
    const second = world.wallet({ ...ofUser(ownerId, OBVIOUS), network: 'Base', credentials })
    expect(await codeOf(second)).toBe('pin_obvious')
    expect(await rowsOf(ownerId)).toEqual({ keyrings: 1, user_keys: 0 })
  })

  test('is refused as a new PIN, before the old one is checked', async () => {
    const wallet = await world.wallet(ofUser(randomUUID(), PIN))
    for (const oldPin of [PIN, '000001']) {
      const change = world.vault.changeUserPin({ wallet, oldPin, newPin: '311299', actor: ACTOR })
      expect(await codeOf(change)).toBe('pin_obvious')
    }
    expect(await guesses(wallet.ownerId)).toEqual({ fails: 0, total: 0 })
    expect((await sign(wallet, { userPin: PIN })).length).toBe(65)
  })

  test('is refused with an error that says what would be right and does not repeat the PIN', async () => {
    const wallet = await world.wallet(ofUser(randomUUID(), PIN))
    const refused = [
      world.wallet(ofUser(randomUUID(), '311299')),
      world.vault.changeUserPin({ wallet, oldPin: PIN, newPin: '311299', actor: ACTOR }),
    ]
    const sentences = await Promise.all(
      refused.map((each) =>
        each.then(
          () => '',
          (error: Error) => error.message,
        ),
      ),
    )
    expect(sentences.map((sentence) => sentence.split(' must be ')[0])).toEqual([
      'Field "user_pin"',
      'Field "new_user_pin"',
    ])
    for (const sentence of sentences) {
      expect(sentence).toContain('a PIN that is hard to guess')
      expect(sentence).not.toMatch(/[0-9]/)
    }
  })

  test('that an owner already has opens wallets, creates further ones, and can be changed', async () => {
    const ownerId = randomUUID()
    const wallet = await world.wallet(ofUser(ownerId, PIN))
    await giveObviousPin(wallet)
    expect(await codeOf(sign(wallet, { userPin: PIN }))).toBe('INVALID_SECRET')
    expect((await sign(wallet, { userPin: OBVIOUS })).length).toBe(65)
    const second = await world.wallet({ ...ofUser(ownerId, OBVIOUS), network: 'Base' })
    expect((await sign(second, { userPin: OBVIOUS })).length).toBe(65)
    await world.vault.changeUserPin({ wallet, oldPin: OBVIOUS, newPin: '271828', actor: ACTOR })
    expect((await sign(second, { userPin: '271828' })).length).toBe(65)
  })
})
