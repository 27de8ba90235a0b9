// Values in the first version of every format, sealed by another implementation: Python's `cryptography`, written from the
// descriptions in src/custody. They must always open. A change that fails here must add a new version instead.

import { describe, expect, test } from 'bun:test'
import type { PolicyTerms, Spending } from '../../db/queries/custody/policies.ts'
import { CONTROL_MODES, type ControlMode } from '../../db/words.ts'
import { openRootKey } from '../../src/custody/root/root-key.ts'
import { openSealer } from '../../src/custody/sealer.ts'
import { open } from '../../src/custody/sealing/envelope.ts'
import {
  identityOf,
  openDeveloperKey,
  openKeyring,
  openLock,
  openPolicyLock,
  openUserKey,
  openWalletKey,
  openWalletKeyBy,
} from '../../src/custody/sealing/hierarchy.ts'
import { stretchPin } from '../../src/custody/sealing/kdf.ts'
import { openRowMacs } from '../../src/custody/sealing/row-mac.ts'
import { boundSpending } from '../../src/custody/wallets/policy-spending.ts'
import { boundTerms } from '../../src/custody/wallets/policy-terms.ts'
import golden from './golden-1.json'
import { bytesOf, hexOf, keyFile } from './support.ts'

const { projectId, keyringId, walletId, ownerId } = golden
const walletOf = { projectId, keyringId, walletId, network: golden.network, controlMode: 'user' } as const
const projectKey = bytesOf(golden.projectKey)

/** As the driver reads them. */
const policyTerms = {
  ...golden.policyTerms,
  argumentRules: golden.policyTerms.argumentRules as PolicyTerms['argumentRules'],
  expiresAt: new Date(golden.policyTerms.expiresAt),
  maxTotalValue: BigInt(golden.policyTerms.maxTotalValue),
  maxTotalFee: BigInt(golden.policyTerms.maxTotalFee),
}

const opened = async <Key>(hex: string, openKey: (spec: string) => Promise<Key>): Promise<Key> => {
  const file = keyFile(hex)
  try {
    return await openKey(file.spec)
  } finally {
    file.remove()
  }
}

const peel = (identity: ReturnType<typeof identityOf.developerKey>, sealed: string) =>
  open({ key: projectKey, keyId: 1, identity, sealed: bytesOf(sealed) })

const developerKey = () => {
  const sealed = peel(identityOf.developerKey({ projectId }), golden.developerKey)
  return openDeveloperKey({ projectId, secret: golden.secret, sealed }) ?? new Uint8Array()
}

const userKey = async (pin = golden.pin) => {
  const sealed = peel(identityOf.userKey({ projectId, ownerId }), golden.userKey)
  const stretched = await stretchPin({ pin, salt: bytesOf(golden.salt) })
  return openUserKey({ projectId, ownerId, stretched, sealed })
}

const keyringKeyBy = (
  lockId: string,
  sealed: string,
  credentialKey: Uint8Array,
  controlModes: readonly ControlMode[] = CONTROL_MODES,
) => {
  const controlMode = lockId === golden.userLockId ? 'user' : 'developer'
  const of = { projectId, keyringId, lockId, controlMode, controlModes } as const
  return openLock({ ...of, credentialKey, sealed: peel(identityOf.ownerLock(of), sealed) })
}

describe('in the first version', () => {
  test('a project key unwraps with the root key of that id', async () => {
    const rootKey = await opened(golden.rootKey, openRootKey)
    expect(rootKey.id).toBe(golden.rootKeyId)
    const identity = identityOf.projectKey({ projectId, version: 1 })
    expect(hexOf(await rootKey.unwrap({ wrapped: bytesOf(golden.wrapped), identity }))).toBe(golden.projectKey)
  })

  test('the developer’s secret leads to the seed and to the private key', () => {
    const keyringKey = keyringKeyBy(golden.developerLockId, golden.developerLock, developerKey())
    const seed = openKeyring({ projectId, keyringId, kind: 'seed', keyringKey, sealed: bytesOf(golden.seed) })
    expect(hexOf(seed)).toBe(golden.entropy)
    const key = openWalletKey({ ...walletOf, keyringKey, sealed: bytesOf(golden.walletKey) })
    expect(hexOf(key)).toBe(golden.privateKey)
  })

  test('a policy lock and the secret lead to the private key without the keyring, only for this lock and wallet', () => {
    const of = { projectId, keyringId, walletId, lockId: golden.policyLockId, terms: boundTerms(policyTerms) }
    const sealed = peel(identityOf.policyLock(of), golden.policyLock)
    const walletKey = openPolicyLock({ ...of, developerKey: developerKey(), sealed })
    expect(hexOf(openWalletKeyBy({ ...walletOf, walletKey, sealed: bytesOf(golden.walletKey) }))).toBe(
      golden.privateKey,
    )
    const moved = { ...of, lockId: golden.userLockId }
    expect(() => openPolicyLock({ ...moved, developerKey: developerKey(), sealed })).toThrow('authentication failed')
  })

  test('both layers of a policy lock open only with all of its terms', () => {
    const of = { projectId, keyringId, walletId, lockId: golden.policyLockId }
    const sealed = peel(identityOf.policyLock({ ...of, terms: boundTerms(policyTerms) }), golden.policyLock)
    const [first] = policyTerms.argumentRules
    for (const edit of [
      { id: golden.userLockId },
      { network: 'Base' },
      { argumentRules: first === undefined ? [] : [first] },
      { argumentRules: policyTerms.argumentRules.toReversed() },
      { argumentRules: policyTerms.argumentRules.map((rule) => ({ ...rule, operator: 'ne' as const })) },
      { expiresAt: null },
      { expiresAt: new Date(policyTerms.expiresAt.getTime() + 1) },
      { expiresAt: new Date(Number.NaN) },
      { maxTotalValue: null },
      { maxTotalValue: policyTerms.maxTotalValue - 1n },
      { maxUses: null },
      { maxUses: 101 },
      { maxTotalFee: policyTerms.maxTotalFee * 10n },
      // As texts these are the same, one after the other.
      { maxUses: null, maxTotalFee: BigInt(`${policyTerms.maxUses}${policyTerms.maxTotalFee}`) },
    ]) {
      const terms = boundTerms({ ...policyTerms, ...edit })
      expect(() => peel(identityOf.policyLock({ ...of, terms }), golden.policyLock)).toThrow('authentication failed')
      expect(() => openPolicyLock({ ...of, terms, developerKey: developerKey(), sealed })).toThrow('authentication')
    }
  })

  test('what a policy has spent has that MAC, and another state has not', () => {
    const { uses, ...amounts } = golden.policySpending
    const spending = { uses, spentValue: BigInt(amounts.spentValue), spentFee: BigInt(amounts.spentFee) }
    const rowOf = (edit: Partial<Spending & { policyId: string }> = {}) =>
      boundSpending({ projectId, policyId: edit.policyId ?? policyTerms.id }, { ...spending, ...edit })
    using macs = openRowMacs({ projectKey, keyId: 1 })
    expect(hexOf(macs.of(rowOf()))).toBe(golden.policyMac)
    const mac = bytesOf(golden.policyMac)
    expect(macs.holds({ row: rowOf(), mac })).toBe(true)
    for (const edit of [{ uses: 2 }, { spentValue: 0n }, { spentFee: 0n }, { policyId: golden.userLockId }]) {
      expect([edit, macs.holds({ row: rowOf(edit), mac })]).toEqual([edit, false])
    }
    using others = openRowMacs({ projectKey, keyId: 2 })
    expect(others.holds({ row: rowOf(), mac })).toBe(false)
  })

  test('the PIN leads to them too, and another PIN does not', async () => {
    const keyringKey = keyringKeyBy(golden.userLockId, golden.userLock, (await userKey()) ?? new Uint8Array())
    const key = openWalletKey({ ...walletOf, keyringKey, sealed: bytesOf(golden.walletKey) })
    expect(hexOf(key)).toBe(golden.privateKey)
    expect(await userKey('013371')).toBeNull()
  })

  test('a private key does not open as that of a wallet on another network, or in another control mode', () => {
    const keyringKey = () => keyringKeyBy(golden.developerLockId, golden.developerLock, developerKey())
    for (const edit of [{ network: 'Base' }, { controlMode: 'developer' as const }]) {
      const of = { ...walletOf, ...edit, keyringKey: keyringKey(), sealed: bytesOf(golden.walletKey) }
      expect(() => openWalletKey(of)).toThrow('authentication failed')
    }
  })

  test('a lock does not open if the keyring has other locks than when it was sealed', () => {
    for (const modes of [['developer'], ['user'], []] as const) {
      const open = () => keyringKeyBy(golden.developerLockId, golden.developerLock, developerKey(), modes)
      expect(open).toThrow('authentication failed')
    }
  })

  test('the service key has that id, derives that audit key and opens what it sealed', async () => {
    const sealer = await opened(golden.serviceKey, (spec) => openSealer({ name: 'SERVICE_KEY', spec }))
    expect(sealer.id).toBe(golden.serviceKeyId)
    expect(hexOf(sealer.derive('audit'))).toBe(golden.auditKey)
    const code = sealer.open({ purpose: 'login code', rowId: '7', sealed: bytesOf(golden.sealedCode) })
    expect(Buffer.from(code).toString()).toBe('a login code')
  })

  test('a wrong secret opens nothing, and a broken row gives another error than a wrong secret', () => {
    const sealed = peel(identityOf.developerKey({ projectId }), golden.developerKey)
    expect(openDeveloperKey({ projectId, secret: 'wrong', sealed })).toBeNull()
    expect(() => openDeveloperKey({ projectId, secret: golden.secret, sealed: sealed.subarray(0, 20) })).toThrow(
      'truncated',
    )
  })

  test('the secret leads to an imported phrase and to an imported key', () => {
    const keyringKey = keyringKeyBy(golden.developerLockId, golden.developerLock, developerKey())
    const of = { projectId, keyringId, keyringKey }
    expect(hexOf(openKeyring({ ...of, kind: 'phrase', sealed: bytesOf(golden.phrase) }))).toBe(golden.phraseEntropy)
    expect(hexOf(openKeyring({ ...of, kind: 'key', sealed: bytesOf(golden.imported) }))).toBe(golden.importedKey)
  })

  test('a keyring does not open as one of another kind', () => {
    const keyringKey = keyringKeyBy(golden.developerLockId, golden.developerLock, developerKey())
    const of = { projectId, keyringId, keyringKey, sealed: bytesOf(golden.seed) }
    expect(() => openKeyring({ ...of, kind: 'key' })).toThrow('authentication failed')
    expect(() => openKeyring({ ...of, kind: 'phrase' })).toThrow('authentication failed')
  })
})
