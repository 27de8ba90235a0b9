// How control of a keyring begins to be shared, and what each credential opens from then on. tables.test.ts computes by
// hand what the stored bytes lead to.

import { beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { ControlMode, Network } from '../../db/words.ts'
import { withKey } from '../support/keys.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import {
  ACTOR,
  codeOf,
  hexOf,
  openWorld,
  payloadFor,
  publicKeyOfPhrase,
  SECRET,
  signOne,
  type TestWallet,
  textsOf,
  type WalletInput,
  whileGuessing,
} from './support.ts'

const PIN = '493817'
const CREDENTIALS = { developer: { developerSecret: SECRET }, user: { userPin: PIN } } as const
const BOTH = { developerSecret: SECRET, userPin: PIN }
const ROTATIONS = 12
const otherOf = (mode: ControlMode): ControlMode => (mode === 'user' ? 'developer' : 'user')

let projectId: string

const world = await shared(openWorld())
const { sql } = world
beforeEach(async () => {
  projectId = await world.project()
})

/** The first wallet of a new owner. */
const alone = (controlMode: ControlMode): Promise<TestWallet> =>
  world.wallet({ projectId, ownerId: randomUUID(), controlMode, credentials: CREDENTIALS[controlMode] })

/** The first wallet in the other mode. */
const share = ({ ownerId, controlMode }: TestWallet, changes: Partial<WalletInput> = {}): Promise<TestWallet> =>
  world.wallet({
    ...{ projectId, ownerId, controlMode: otherOf(controlMode), credentials: BOTH, network: 'Base' },
    ...changes,
  })

const exported = (wallet: TestWallet, credentials: object = BOTH) =>
  world.vault.exportKeyring({ wallet, credentials, actor: ACTOR })

const sign = (wallet: TestWallet) =>
  withKey(world.vault, { wallet, credentials: CREDENTIALS[wallet.controlMode], actor: ACTOR }, async (key) =>
    signOne(key, payloadFor(wallet)),
  )

/** What is sealed of an owner's keyring, and the audit of sharing. */
const stateOf = async ({ ownerId, keyringId }: TestWallet) => {
  const keyrings = await sql`select id, sealed from keyrings where owner_id = ${ownerId} order by id`
  const locks =
    await sql`select id, control_mode, sealed, family_keys from owner_locks where keyring_id = ${keyringId} order by id`
  const told = await sql`select from audit where action = 'control_shared' and details->>'keyring_id' = ${keyringId}`
  const wallets = await sql`select wallet_id from wallet_keys where keyring_id = ${keyringId} order by 1`
  return { keyrings: [...keyrings], locks: [...locks], told: told.length, wallets: [...wallets] }
}

const shape = async (wallet: TestWallet) => {
  const { keyrings, locks, told, wallets } = await stateOf(wallet)
  return [keyrings.length, locks.length, told, wallets.length]
}

describe.each(someOf(['developer', 'user'] as const, 2))('a keyring that the %s controls', (mode) => {
  const other = otherOf(mode)

  longTest('has the same seed once control is shared, sealed anew; the lock that it had is as before', async () => {
    const first = await alone(mode)
    const phrase = await exported(first, CREDENTIALS[mode])
    const before = await stateOf(first)
    const second = await share(first)
    const after = await stateOf(first)
    expect(await exported(first)).toEqual(phrase)
    expect(await exported(second)).toEqual(phrase)
    for (const of of Object.values(CREDENTIALS)) expect(await codeOf(exported(first, of))).toBe('credential_required')
    expect(after.keyrings).not.toEqual(before.keyrings)
    expect(after.locks).toEqual(expect.arrayContaining(before.locks))
    expect(await shape(first)).toEqual([1, 2, 1, 2])
  })

  test('gives each mode further wallets in both families with its own credential', async () => {
    const first = await alone(mode)
    const second = await share(first)
    const { mnemonicPhrase } = textsOf(await exported(first))
    const ofFamily = {
      evm: await publicKeyOfPhrase('evm', mnemonicPhrase),
      substrate: await publicKeyOfPhrase('substrate', mnemonicPhrase),
    }
    const further = (controlMode: ControlMode, network: Network) =>
      share(first, { controlMode, network, credentials: CREDENTIALS[controlMode] })
    const wallets = [
      [first, 'evm'],
      [second, 'evm'],
      ...(isLong ? [[await further(mode, 'Polygon'), 'evm'] as const] : []),
      [await further(mode, 'Polkadot'), 'substrate'],
      ...(isLong ? [[await further(other, 'Avalanche'), 'evm'] as const] : []),
      [await further(other, 'Vara'), 'substrate'],
    ] as const
    for (const [wallet, family] of wallets) {
      expect(hexOf(wallet.publicKey)).toBe(hexOf(ofFamily[family]))
      expect(await codeOf(sign(wallet))).toBe('resolved')
    }
    expect(await shape(first)).toEqual([1, 2, 1, wallets.length])
  })

  test('is as it was if the last part of sharing cannot be written', async () => {
    const first = await alone(mode)
    const before = await stateOf(first)
    const failing = share(first, { network: 'A network without a row' as Network })
    expect(await failing.catch((error: Error) => String(error.cause))).toContain('wallet_keys_network')
    expect(await stateOf(first)).toEqual(before)
    expect(await codeOf(exported(first, CREDENTIALS[mode]))).toBe('resolved')
    await share(first)
    expect(await codeOf(exported(first))).toBe('resolved')
  })

  longTest('is as it was if the connection is cut while sharing is written', async () => {
    const first = await alone(mode)
    const before = await stateOf(first)
    await using release = await holdTable(sql, 'wallet_keys')
    const failing = share(first).then(
      () => 'made',
      () => 'cut',
    )
    await untilWaiting(sql)
    await sql`select pg_terminate_backend(pid) from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database()`
    await release()
    expect(await failing).toBe('cut')
    expect(await stateOf(first)).toEqual(before)
    expect(await codeOf(exported(first, CREDENTIALS[mode]))).toBe('resolved')
    expect(await codeOf(sign(await share(first)))).toBe('resolved')
  })

  test('is shared once by several requests at once, by two processes, and each makes its wallet', async () => {
    const another = await world.another()
    const first = await alone(mode)
    const phrase = await exported(first, CREDENTIALS[mode])
    const networks = someOf(['Polygon', 'Base', 'Avalanche', 'Polkadot', 'Vara'] as const, 3)
    // All have read the keyring before one of them writes.
    await using release = await holdTable(sql, 'keyrings')
    const making = networks.map((network, index) => share(first, { network, ...(index % 2 ? { vault: another } : {}) }))
    await untilWaiting(sql, networks.length)
    await release()
    const made = await Promise.all(making)
    expect(await shape(first)).toEqual([1, 2, 1, 1 + networks.length])
    for (const wallet of [first, ...made]) expect(await codeOf(sign(wallet))).toBe('resolved')
    expect(await exported(first)).toEqual(phrase)
    expect(await codeOf(exported(first, CREDENTIALS[mode]))).toBe('credential_required')
  })

  longTest('is shared, although a rotation seals its seed anew meanwhile', async () => {
    const first = await alone('user')
    const [old] = await sql`select sealed from keyrings where id = ${first.keyringId}`
    const rotate = (resume: boolean) => world.vault.rotateProjectKey({ projectId, resume, actor: 'operator' })
    await rotate(false)
    // The state that a killed rotation leaves: there is a newer version of the key, and the seed is sealed with the
    // older one.
    await sql`update keyrings set sealed = ${old?.sealed} where id = ${first.keyringId}`
    const second = await whileGuessing(sql, first, { begin: () => share(first), meanwhile: () => rotate(true) })
    expect(await codeOf(exported(second))).toBe('resolved')
    expect(await shape(first)).toEqual([1, 2, 1, 2])
  })

  longTest(
    'is shared while rotations run: all is under the newest version in the end, and opens',
    async () => {
      const another = await world.another()
      const firsts = await Promise.all(Array.from({ length: 8 }, () => alone(mode)))
      const phrases = await Promise.all(firsts.map((first) => exported(first, CREDENTIALS[mode])))
      const rotations = (async () => {
        for (let count = 0; count < ROTATIONS; count += 1) {
          const { broken } = await another.rotateProjectKey({ projectId, resume: false, actor: 'operator' })
          expect(broken.rows).toBe(0)
        }
      })()
      const seconds = await Promise.all(
        firsts.map(async (first) => {
          for (let tries = 0; ; tries += 1) {
            try {
              return await share(first)
            } catch (error) {
              if (!String(error).includes('was changed meanwhile') || tries > 50) throw error
            }
          }
        }),
      )
      await rotations
      const versions =
        await sql`select distinct get_byte(sealed, 5) as version from keyrings where project_id = ${projectId}
      union select distinct get_byte(l.sealed, 5) from owner_locks l join keyrings k on k.id = l.keyring_id
        where k.project_id = ${projectId}`
      expect([...versions]).toEqual([{ version: ROTATIONS + 1 }])
      expect(await Promise.all(seconds.map((second) => exported(second)))).toEqual(phrases)
      for (const wallet of [...firsts, ...seconds]) expect(await codeOf(sign(wallet))).toBe('resolved')
      const { forged } = await world.vault.forgedRows({ projectId })
      expect(forged).toEqual([])
    },
    30_000,
  )
})
