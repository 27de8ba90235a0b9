// Wallets under policies: the developer secret opens them only by a policy, and only an operator takes that back.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import type { OperatorVault } from '../../src/vault/contract/vault.ts'
import { messageSigner, signerOnce, withKey, withPolicyKey } from '../support/keys.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import {
  ACTOR,
  codeOf,
  hexOf,
  newTerms,
  openWorld,
  payloadFor,
  SECRET,
  signOne,
  signOneBy,
  type TestWallet,
  tally,
} from './support.ts'

const PIN = '493817'
const secret = { developerSecret: SECRET }
const both = { ...secret, userPin: PIN }
const REFUSED = 'under_policies'

const world = await shared(openWorld())
const other = await world.another()
const { sql } = world
const projectId = await world.project()

const newWallet = (ownerId: string = randomUUID(), network: 'Ethereum' | 'Base' = 'Ethereum') =>
  world.wallet({ projectId, ownerId, network, controlMode: 'developer', credentials: secret })

const put = (wallet: WalletRow, credentials: Credentials = secret, vault: OperatorVault = world.vault) =>
  vault.putUnderPolicies({ wallet, credentials, actor: ACTOR })

const release = (ownerId: string) => world.vault.releaseFromPolicies({ projectId, ownerId, actor: 'operator' })

const sign = (wallet: WalletRow, vault: OperatorVault = world.vault) =>
  withKey(vault, { wallet, credentials: secret, actor: ACTOR }, async (key) =>
    hexOf(await signOne(key, payloadFor(wallet))),
  )

/** What an API may ask of the vault for this wallet, apart from a use by a policy. */
const uses = (wallet: TestWallet, credentials: Credentials = secret): Record<string, () => Promise<unknown>> => {
  const { vault } = world
  const request = { wallet, credentials, actor: ACTOR }
  const further = { projectId, ownerId: wallet.ownerId, network: 'Polygon', credentials } as const
  return {
    openKey: () => sign(wallet),
    signOnce: () => signOne(signerOnce(vault, { ...request, credentials: secret }), payloadFor(wallet)),
    signMessage: () => messageSigner(vault, request).sign({ action: 'message_signed', details: {}, payloads: [] }),
    exportKeyring: () => vault.exportKeyring(request),
    newPolicy: () => vault.newPolicy({ ...request, credentials: secret, name: '', terms: newTerms(wallet) }),
    newWallet: () => world.wallet({ ...further, credentials: secret, controlMode: 'developer' }),
    'newWallet of the user': () => world.wallet({ ...further, credentials: both, controlMode: 'user' }),
  }
}

const stateOf = async ({ keyringId }: WalletRow) => {
  const [row] = await sql`select policies_only, version, sealed from owner_locks
    where keyring_id = ${keyringId} and control_mode = 'developer'`
  return { ...row }
}

const troubles = async ({ keyringId }: WalletRow) =>
  (await world.vault.forgedRows({ projectId })).forged
    .filter(({ id }) => id === keyringId)
    .map(({ trouble }) => trouble)

describe('a wallet under policies', () => {
  test('is opened only by its policies, in every process, and so are the other wallets of its owner', async () => {
    const wallet = await newWallet()
    const sibling = await newWallet(wallet.ownerId, 'Base')
    const terms = await world.policy(wallet, secret)
    const signature = await sign(wallet)
    await put(wallet)
    for (const vault of isLong ? [world.vault, other] : [other]) {
      for (const each of [wallet, sibling]) expect(await codeOf(sign(each, vault))).toBe(REFUSED)
      const request = { wallet, credentials: secret, actor: ACTOR, terms }
      expect(
        await withPolicyKey(vault, request, async (key) => hexOf(await signOneBy(key, {}, payloadFor(wallet)))),
      ).toBe(signature)
    }
    expect(await troubles(wallet)).toEqual([])
  })

  test('nothing else opens its keyring or adds to it', async () => {
    const wallet = await newWallet()
    await put(wallet)
    for (const [name, use] of Object.entries(uses(wallet))) expect([name, await codeOf(use())]).toEqual([name, REFUSED])
    expect((await sql`select from audit where subject = ${wallet.id}`).length).toBe(2)
  })

  test('of a shared keyring: no message and no export with both credentials, but the PIN signs with its own wallets', async () => {
    const wallet = await newWallet()
    const { ownerId } = wallet
    const mine = await world.wallet({ projectId, ownerId, network: 'Base', controlMode: 'user', credentials: both })
    await put(wallet)
    for (const each of [wallet, mine]) {
      const { signMessage, exportKeyring } = uses(each, both)
      expect(await tally([signMessage?.(), exportKeyring?.()].map(async (use) => use))).toEqual({ [REFUSED]: 2 })
    }
    const request = { wallet: mine, credentials: { userPin: PIN }, actor: ACTOR }
    expect(await codeOf(signOne(signerOnce(world.vault, request), payloadFor(mine)))).toBe('resolved')
  })

  const begun = [
    ['a policy', 'policies', 'newPolicy'],
    ['a wallet', 'wallet_keys', 'newWallet'],
    ["a wallet of the user's mode", 'wallet_keys', 'newWallet of the user'],
  ] as const

  test.each(someOf(begun, 2))('makes the vault refuse %s that began before', async (_name, table, name) => {
    const wallet = await newWallet()
    await using release = await holdTable(sql, table)
    const making = codeOf(uses(wallet)[name]?.() ?? Promise.resolve())
    await untilWaiting(sql)
    await put(wallet, secret, other)
    await release()
    expect(await making).toBe(REFUSED)
  })

  test('needs the right secret, and a developer-controlled wallet', async () => {
    const wallet = await newWallet()
    expect(await codeOf(put(wallet, {}))).toBe('credential_required')
    expect(await codeOf(put(wallet, { developerSecret: 'wrong' }))).toBe('INVALID_SECRET')
    const controlMode = 'user' as const
    const mine = await world.wallet({ projectId, ownerId: randomUUID(), controlMode, credentials: { userPin: PIN } })
    expect(await codeOf(put(mine, { userPin: PIN }))).toBe('invalid_input')
    expect(await codeOf(sign(wallet))).toBe('resolved')
  })

  test('is put there once by several requests from several processes', async () => {
    const wallet = await newWallet()
    await Promise.all([world.vault, other, world.vault, other].map((vault) => put(wallet, secret, vault)))
    await put(wallet)
    expect(await stateOf(wallet)).toMatchObject({ policies_only: true, version: 2 })
    expect((await sql`select from audit where action = 'put_under_policies' and subject = ${wallet.id}`).length).toBe(1)
  })

  longTest('stays so when the project key is rotated', async () => {
    const wallet = await newWallet()
    await put(wallet)
    const { sealed } = await stateOf(wallet)
    const { broken } = await world.vault.rotateProjectKey({ projectId, actor: 'operator', resume: false })
    expect([broken.rows, (await stateOf(wallet)).sealed.equals(sealed)]).toEqual([0, false])
    expect(await codeOf(sign(wallet))).toBe(REFUSED)
    expect(await troubles(wallet)).toEqual([])
  })

  test('is released by an operator, and can be put there again', async () => {
    const wallet = await newWallet()
    const { ownerId } = wallet
    expect(await codeOf(release(ownerId))).toBe('not_found')
    await put(wallet)
    await release(ownerId)
    expect(await codeOf(sign(wallet))).toBe('resolved')
    expect(await codeOf(release(ownerId))).toBe('not_found')
    await put(wallet)
    expect(await codeOf(sign(wallet))).toBe(REFUSED)
    expect(await stateOf(wallet)).toMatchObject({ policies_only: true, version: 4 })
    expect(await troubles(wallet)).toEqual([])
    const told = await sql`select action, actor, details->>'lock_version' as version from audit
      where details->>'lock_version' is not null and details->>'keyring_id' = ${wallet.keyringId} order by id`
    expect(told.map((row) => Object.values(row))).toEqual([
      ['put_under_policies', ACTOR, '2'],
      ['released_from_policies', 'operator', '3'],
      ['put_under_policies', ACTOR, '4'],
    ])
  })
})

describe('the owner of the database', () => {
  const NOT_AS_MADE = 'its lock of the developer is not as it was made'

  const edits = [
    ['clears the mark', { policies_only: false }],
    ['clears it with its version', { policies_only: false, version: 1 }],
    ['claims a later state', { policies_only: false, version: 3 }],
  ] as const

  test.each(someOf(edits, 3))('%s: nothing opens, and audit verify names it', async (_name, edit) => {
    const wallet = await newWallet()
    await put(wallet)
    const asPut = await stateOf(wallet)
    await sql`update owner_locks set ${sql(edit as Record<string, unknown>)} where keyring_id = ${wallet.keyringId}`
    for (const [name, use] of Object.entries(uses(wallet))) {
      expect([name, await codeOf(use())]).toEqual([name, 'internal'])
    }
    expect(await troubles(wallet)).toContain(NOT_AS_MADE)
    await sql`update owner_locks set ${sql(asPut as Record<string, unknown>)} where keyring_id = ${wallet.keyringId}`
    expect(await troubles(wallet)).toEqual([])
  })

  test('restores the earlier lock: audit verify names it', async () => {
    const wallet = await newWallet()
    const before = await stateOf(wallet)
    await put(wallet)
    await sql`update owner_locks set ${sql(before as Record<string, unknown>)} where keyring_id = ${wallet.keyringId}`
    expect(await troubles(wallet)).toEqual(['the audit says that it was put under policies'])
  })
})
