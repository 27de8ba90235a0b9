// A policy lock opens one wallet's key with the developer's secret, as long as its row exists. It does not open the
// seed or another wallet, even for somebody who has the stored bytes and all keys of the developer.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { verify as verifySr25519 } from '@scure/sr25519'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import type { PolicyRow, PolicyTerms } from '../../db/queries/vault/policies.ts'
import { open } from '../../src/platform/sealing/envelope.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import type { OperatorVault } from '../../src/vault/contract/vault.ts'
import { traceSignature } from '../../src/vault/rooms/keys/facts.ts'
import {
  identityOf,
  openControlKey,
  openDeveloperKey,
  openFamilyKeys,
  openPolicyLock,
  openSeed,
  openWalletKey,
  openWalletKeyBy,
} from '../../src/vault/rooms/sealing/hierarchy.ts'
import { boundTerms } from '../../src/vault/rooms/wallets/policy-terms.ts'
import { withKey, withPolicyKey } from '../support/keys.ts'
import { isLong, longTest } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import {
  ACTOR,
  bytesOf,
  codeOf,
  EVM_DIGEST,
  EVM_FACTS,
  EVM_PAYLOAD,
  freezing,
  hexOf,
  newTerms,
  openTestRootKey,
  openWorld,
  payloadFor,
  SECRET,
  SUBSTRATE_BYTES,
  signOne,
  signOneBy,
  type TestWallet,
  whileGuessing,
} from './support.ts'

const PIN = '493817'
const secret = { developerSecret: SECRET }
const pin = { userPin: PIN }
const both = { ...secret, ...pin }

const world = await shared(openWorld())
const other = await world.another()
const { sql } = world
const projectId = await world.project()

const userWallet = (ownerId: string = randomUUID(), network: 'Ethereum' | 'Base' = 'Ethereum') =>
  world.wallet({ projectId, ownerId, network, controlMode: 'user', credentials: pin })

const sign = (
  wallet: WalletRow,
  use: { readonly credentials: Credentials; readonly terms?: PolicyTerms; readonly vault?: OperatorVault },
) => {
  const { credentials, terms, vault = world.vault } = use
  const request = { wallet, credentials, actor: ACTOR }
  return terms === undefined
    ? withKey(vault, request, async (key) => hexOf(await signOne(key, payloadFor(wallet))))
    : withPolicyKey(vault, { ...request, terms }, async (key) => hexOf(await signOneBy(key, {}, payloadFor(wallet))))
}

const revoke = (wallet: TestWallet, { id: policyId }: PolicyTerms, credentials: Credentials = secret) =>
  world.vault.revokePolicy({ wallet, credentials, actor: ACTOR, policyId })

const make = (
  wallet: TestWallet,
  terms: PolicyTerms,
  use: { credentials?: Credentials; vault?: OperatorVault } = {},
) => {
  const { credentials = both, vault = world.vault } = use
  return vault.newPolicy({ wallet, credentials, actor: ACTOR, name: '', terms })
}

const guesses = async ({ ownerId }: WalletRow) => {
  const [row] = await sql`select fails, total from pin_guesses where owner_id = ${ownerId}`
  return { ...row }
}

describe('a policy lock', () => {
  const newDelegated = async () => {
    const wallet = await userWallet()
    return { wallet, terms: await world.policy(wallet, both) }
  }
  /** For what opens nothing and changes nothing. */
  let refused: ReturnType<typeof newDelegated> | null = null

  longTest(
    'opens the key that the PIN opens, with only the secret, in every process, and only for its policy',
    async () => {
      const wallet = await userWallet()
      const terms = await world.policy(wallet, both)
      const signature = await sign(wallet, { credentials: pin })
      for (const vault of [world.vault, other]) {
        expect(await sign(wallet, { credentials: secret, terms, vault })).toBe(signature)
      }
      expect(await codeOf(sign(wallet, { credentials: secret }))).toBe('credential_required')
      expect(await guesses(wallet)).toEqual({ fails: 0, total: 0 })
    },
  )

  test.each([
    [{}, 'credential_required'],
    [pin, 'credential_required'],
    [both, 'credential_ambiguous'],
    [{ developerSecret: 'wrong' }, 'INVALID_SECRET'],
  ] as const)('does not open with %p: %s', async (credentials, code) => {
    refused ??= newDelegated()
    const { wallet, terms } = await refused
    expect(await codeOf(sign(wallet, { credentials, terms }))).toBe(code)
  })

  test('opens no other wallet, not even one of the same owner with the same private key', async () => {
    const wallet = await userWallet()
    const sibling = await userWallet(wallet.ownerId, 'Base')
    const terms = await world.policy(wallet, both)
    expect(await codeOf(sign(sibling, { credentials: secret, terms }))).toBe('policy_denied')
    // The policy's row is changed in the database to name another wallet.
    await sql`update policies set wallet_id = ${sibling.id} where id = ${terms.id}`
    expect(await codeOf(sign(sibling, { credentials: secret, terms }))).toBe('policy_denied')
  })

  test('of a wallet on a Substrate network opens its sr25519 key, but no EVM wallet of the owner', async () => {
    const input = { projectId, ownerId: randomUUID(), controlMode: 'user', credentials: pin } as const
    const wallet = await world.wallet({ ...input, network: 'Vara' })
    const evm = await userWallet(input.ownerId)
    const terms = await world.policy(wallet, both)
    for (const vault of [world.vault, other]) {
      const signature = await sign(wallet, { credentials: secret, terms, vault })
      expect(verifySr25519(SUBSTRATE_BYTES, bytesOf(signature), wallet.publicKey)).toBe(true)
    }
    expect(await codeOf(sign(wallet, { credentials: secret }))).toBe('credential_required')
    expect(await codeOf(sign(evm, { credentials: secret, terms }))).toBe('policy_denied')
    await sql`update policies set wallet_id = ${evm.id} where id = ${terms.id}`
    expect(await codeOf(sign(evm, { credentials: secret, terms }))).toBe('policy_denied')
    await sql`update policies set wallet_id = ${wallet.id} where id = ${terms.id}`
    for (const table of ['wallets', 'wallet_keys'] as const) {
      const moved = { network: 'Base', public_key: evm.publicKey }
      const name = table === 'wallets' ? 'id' : 'wallet_id'
      await sql`update ${sql(table)} set ${sql(moved)} where ${sql(name)} = ${wallet.id}`
      // With all rows moved, and an API that was deceived, the terms of the policy still name the wallet's own network.
      const deceived = { ...wallet, network: 'Base', publicKey: evm.publicKey } as const
      expect(await codeOf(sign(wallet, { credentials: secret, terms }))).toBe('internal')
      const code = table === 'wallets' ? 'internal' : 'policy_denied'
      expect(await codeOf(sign(deceived, { credentials: secret, terms }))).toBe(code)
    }
    for (const [table, name] of [
      ['wallets', 'id'],
      ['wallet_keys', 'wallet_id'],
    ] as const) {
      const back = { network: wallet.network, public_key: wallet.publicKey }
      await sql`update ${sql(table)} set ${sql(back)} where ${sql(name)} = ${wallet.id}`
    }
    await revoke(wallet, terms)
    expect(await codeOf(sign(wallet, { credentials: secret, terms }))).toBe('policy_denied')
  })

  test('does not open from the row of another policy', async () => {
    const second = await userWallet()
    const two = await world.policy(second, both)
    if (isLong) {
      const wallet = await userWallet()
      const one = await world.policy(wallet, both)
      await sql`update policy_locks set sealed = (select sealed from policy_locks where policy_id = ${two.id}) where policy_id = ${one.id}`
      expect(await codeOf(sign(wallet, { credentials: secret, terms: one }))).toBe('policy_denied')
    }
    const third = await world.policy(second, both)
    await sql`update policy_locks set sealed = (select sealed from policy_locks where policy_id = ${third.id}) where policy_id = ${two.id}`
    expect(await codeOf(sign(second, { credentials: secret, terms: two }))).toBe('policy_denied')
  })

  test('of a frozen wallet opens nothing, but can be revoked', async () => {
    const wallet = await userWallet()
    const terms = await world.policy(wallet, both)
    await freezing(world, wallet)
    expect(await codeOf(sign(wallet, { credentials: secret, terms }))).toBe('frozen')
    expect(await codeOf(world.policy(wallet, both))).toBe('frozen')
    expect(await codeOf(revoke(wallet, terms))).toBe('resolved')
  })
})

describe('a policy', () => {
  /** Without a policy, for those that are not made. */
  let unmade: Promise<TestWallet> | null = null

  test('is made with the PIN alone, which the developer never sees, and again with the secret', async () => {
    const wallet = await userWallet()
    const terms = await world.policy(wallet, pin)
    expect(await codeOf(make(wallet, terms))).toBe('resolved')
    const signature = await sign(wallet, { credentials: pin })
    for (const vault of [world.vault, other]) {
      expect(await sign(wallet, { credentials: secret, terms, vault })).toBe(signature)
    }
    await revoke(wallet, terms)
    expect(await codeOf(sign(wallet, { credentials: secret, terms }))).toBe('policy_denied')
  })

  test('is not made for the public key of another developer that somebody put into the row', async () => {
    const [of, from] = [await world.project(), await world.project()]
    const wallet = await world.wallet({ projectId: of, ownerId: 'o', controlMode: 'user', credentials: pin })
    const swap = sql`update developer_keys set sealed = (select sealed from developer_keys where project_id = ${from})`
    await sql`${swap} where project_id = ${of}`
    expect(await codeOf(world.policy(wallet, pin))).toBe('internal')
    expect(await sql`select from policies where wallet_id = ${wallet.id}`).toHaveLength(0)
  })

  test.each([
    [{}, 'credential_required', 0],
    [secret, 'credential_required', 0],
    [{ userPin: '000000' }, 'INVALID_SECRET', 1],
    [{ ...pin, developerSecret: 'wrong' }, 'INVALID_SECRET', 0],
    [{ ...secret, userPin: '000000' }, 'INVALID_SECRET', 1],
  ] as const)('is not made with %p: %s', async (credentials, code, fails) => {
    unmade ??= userWallet()
    const wallet = await unmade
    const before = await guesses(wallet)
    expect(await codeOf(world.policy(wallet, credentials))).toBe(code)
    expect(await guesses(wallet)).toEqual({ fails: before.fails + fails, total: before.total + fails })
    expect(await sql`select from policies where wallet_id = ${wallet.id}`).toHaveLength(0)
  })

  test('is revoked with either credential, but not a wrong one; only its own lock is deleted', async () => {
    const wallet = await userWallet()
    const stays = await world.policy(wallet, both)
    for (const right of [secret, pin]) {
      const terms = await world.policy(wallet, both)
      const wrong = [
        [{}, 'credential_required'],
        [both, 'credential_ambiguous'],
        [{ developerSecret: 'wrong' }, 'INVALID_SECRET'],
        [{ userPin: '000000' }, 'INVALID_SECRET'],
      ] as const
      for (const [credentials, code] of isLong || right === secret ? wrong : []) {
        expect(await codeOf(revoke(wallet, terms, credentials))).toBe(code)
      }
      await revoke(wallet, terms, right)
      for (const vault of isLong ? [world.vault, other] : [other]) {
        expect(await codeOf(sign(wallet, { credentials: secret, terms, vault }))).toBe('policy_denied')
        expect(await codeOf(sign(wallet, { credentials: secret, terms: stays, vault }))).toBe('resolved')
      }
      expect(await sql`select from policy_locks where policy_id = ${terms.id}`).toHaveLength(0)
    }
  })

  longTest('that is made while the project’s key is rotated is sealed under the new key', async () => {
    const of = await world.project()
    const wallet = await world.wallet({ projectId: of, ownerId: 'o', controlMode: 'user', credentials: pin })
    const terms = newTerms(wallet)
    const rotation = { projectId: of, resume: false, actor: 'operator' }
    const made = await whileGuessing(sql, wallet, {
      begin: () => make(wallet, terms),
      meanwhile: () => world.vault.rotateProjectKey(rotation),
    })
    expect(made.id).toBe(terms.id)
    const [lock] = await sql`select get_byte(sealed, 5) as version from policy_locks where policy_id = ${terms.id}`
    expect(lock?.version).toBe(2)
    expect(await codeOf(sign(wallet, { credentials: secret, terms }))).toBe('resolved')
  })

  longTest(
    'has the same row if it is made again by its id, with right credentials, one after the other or 20 times at once',
    async () => {
      const wallet = await userWallet()
      const terms = { ...newTerms(wallet), expiresAt: new Date('2099-01-01T00:00:00.123Z'), maxTotalValue: 10n ** 30n }
      const atOnce = Array.from({ length: 20 }, (_, index) =>
        make(wallet, terms, { vault: index % 2 ? other : world.vault }),
      )
      const [first, ...others] = await Promise.all(atOnce)
      for (const each of [...others, await make(wallet, terms)]) expect(each).toEqual(first as PolicyRow)
      expect(await codeOf(make(wallet, terms, { credentials: { ...both, developerSecret: 'wrong' } }))).toBe(
        'INVALID_SECRET',
      )
      expect(await codeOf(make(wallet, terms, { credentials: { ...both, userPin: '000000' } }))).toBe('INVALID_SECRET')
      expect(await sql`select from policies where wallet_id = ${wallet.id}`).toHaveLength(1)
      expect(await sql`select from policy_locks where policy_id = ${terms.id}`).toHaveLength(1)
      expect(await sql`select from audit where subject = ${wallet.id} and action = 'policy_created'`).toHaveLength(1)
      await revoke(wallet, terms)
      expect((await make(wallet, terms)).revokedAt).toBeInstanceOf(Date)
      expect(await codeOf(sign(wallet, { credentials: secret, terms }))).toBe('policy_denied')
    },
  )

  test('is not made again by its id for another wallet or with other terms, and no guess is charged', async () => {
    const [wallet, second] = [await userWallet(), await userWallet()]
    const terms = await world.policy(wallet, both)
    const others: Partial<PolicyTerms>[] = [
      { argumentRules: [] },
      { expiresAt: new Date() },
      { maxTotalValue: 0n },
      { maxUses: 1 },
      { maxTotalFee: 999n },
    ]
    const wrong = { credentials: { ...both, userPin: '000000' } }
    for (const change of others) {
      expect(await codeOf(make(wallet, { ...terms, ...change }, wrong))).toBe('idempotency_mismatch')
    }
    expect(await codeOf(make(second, terms, wrong))).toBe('idempotency_mismatch')
    expect([await guesses(wallet), await guesses(second)]).toEqual(Array(2).fill({ fails: 0, total: 0 }))
  })

  test('is not revoked by the credential of another wallet', async () => {
    const [wallet, second] = [await userWallet(), await userWallet()]
    const terms = await world.policy(wallet, both)
    expect(await codeOf(revoke(second, terms, pin))).toBe('not_found')
    expect(await codeOf(sign(wallet, { credentials: secret, terms }))).toBe('resolved')
  })

  test('has audit rows for its creation, its use and its revocation', async () => {
    const wallet = await userWallet()
    const terms = await world.policy(wallet, both)
    const request = { wallet, credentials: secret, actor: ACTOR, terms }
    const signature = await withPolicyKey(world.vault, request, (key) => signOneBy(key))
    const { hash } = traceSignature({ payload: EVM_PAYLOAD, bytes: EVM_DIGEST, signature, publicKey: wallet.publicKey })
    await revoke(wallet, terms)
    const rows = await sql`select action, details from audit where subject = ${wallet.id} order by id`
    expect(rows.slice(1).map((row) => ({ ...row }))).toEqual([
      {
        action: 'policy_created',
        details: {
          version: '1',
          policy: terms.id,
          network: 'Ethereum',
          rules: '[{"argument":"value","operator":"eq","value":"0"}]',
          max_total_fee: terms.maxTotalFee.toString(),
        },
      },
      { action: 'transaction_signed', details: { ...EVM_FACTS, hash, policy: terms.id, policy_uses: '1' } },
      { action: 'policy_revoked', details: { policy: terms.id, by: 'developer' } },
    ])
  })
})

describe('the stored bytes', () => {
  test('of a policy lock, with the root key and the developer’s secret, open only one private key', async () => {
    const project = await world.project()
    const input = { projectId: project, ownerId: 'o', controlMode: 'user', credentials: pin } as const
    const wallet = await world.wallet(input)
    const sibling = await world.wallet({ ...input, network: 'Base' })
    const terms = await world.policy(wallet, both)
    const { keyringId } = wallet

    // Everything that a thief of the database, the root key and the secret can open, following the description.
    const [stored] = await sql`
      select p.wrapped, d.sealed as developer, l.id as "lockId", l.sealed as lock, k.sealed as seed, u.sealed as "ownerLock",
        u.id as "ownerLockId", u.family_keys as "familyKeys", mine.sealed as mine, other.sealed as other
      from project_keys p, developer_keys d, policy_locks l, keyrings k, owner_locks u, wallet_keys mine, wallet_keys other
      where p.project_id = ${project} and d.project_id = ${project} and l.policy_id = ${terms.id} and k.id = ${keyringId}
        and u.keyring_id = k.id and mine.wallet_id = ${wallet.id} and other.wallet_id = ${sibling.id}`
    if (stored === undefined) throw new Error('there is no such row')
    const rootKey = await openTestRootKey()
    const projectIdentity = identityOf.projectKey({ projectId: project, version: 1 })
    const projectKey = await rootKey.unwrap({ wrapped: stored.wrapped, identity: projectIdentity })
    const peel = (identity: typeof projectIdentity, sealed: Uint8Array) =>
      open({ key: projectKey, keyId: 1, identity, sealed })
    const ofProject = { projectId: project, version: 1 }
    const developerInner = peel(identityOf.developerKey(ofProject), stored.developer)
    const developerKey = openDeveloperKey({ ...ofProject, secret: SECRET, sealed: developerInner })
    if (developerKey === null) throw new Error('the secret is wrong')
    const of = { ...wallet, walletId: wallet.id, lockId: String(stored.lockId), terms: boundTerms(terms) }
    const inner = peel(identityOf.policyLock(of), stored.lock)
    const walletKey = openPolicyLock({ ...of, developerKey, sealed: inner })
    expect(inner).toHaveLength(32 + 32 + 16)
    expect(walletKey).toHaveLength(32)
    expect(openWalletKeyBy({ ...of, walletKey: Uint8Array.from(walletKey), sealed: stored.mine })).toHaveLength(32)

    const siblingOf = { ...of, walletId: sibling.id, network: sibling.network }
    const keys = { developerKey, walletKey, projectKey }
    for (const key of Object.values(keys)) {
      const fresh = () => Uint8Array.from(key)
      expect(() => openWalletKeyBy({ ...siblingOf, walletKey: fresh(), sealed: stored.other })).toThrow(
        'authentication',
      )
      expect(() => openWalletKeyBy({ ...of, walletKey: fresh(), sealed: stored.other })).toThrow('authentication')
      expect(() => openWalletKey({ ...siblingOf, controlKey: fresh(), sealed: stored.other })).toThrow('authentication')
      const seedOf = { projectId: project, keyringId, kind: 'seed', controlModes: ['user'] } as const
      const sealedSeed = peel(identityOf.seedLock(seedOf), stored.seed)
      const credentialKeyOf = { developer: fresh(), user: fresh() }
      expect(() => openSeed({ ...seedOf, credentialKeyOf, sealed: sealedSeed })).toThrow('authentication')
      const lock = { projectId: project, keyringId, lockId: String(stored.ownerLockId), controlMode: 'user' } as const
      const ownerInner = peel(identityOf.ownerLock(lock), stored.ownerLock)
      expect(() => openControlKey({ ...lock, credentialKey: fresh(), sealed: ownerInner })).toThrow('authentication')
      expect(() => openFamilyKeys({ ...lock, controlKey: fresh(), sealed: stored.familyKeys })).toThrow(
        'authentication',
      )
    }
    // And the lock's own bytes open under no other identity.
    expect(() => openPolicyLock({ ...siblingOf, developerKey, sealed: inner })).toThrow('authentication')
    expect(() => openControlKey({ ...of, credentialKey: developerKey, sealed: inner })).toThrow('did not open')
    expect(() => openPolicyLock({ ...of, developerKey: walletKey, sealed: inner })).toThrow('authentication')
  })
})
