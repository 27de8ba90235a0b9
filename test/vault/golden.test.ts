// Values in the first version of every format, sealed by another implementation: Python's `cryptography`, written from
// the descriptions in src/vault. They must always open. A change that fails here must add a new version instead.

import { describe, expect, test } from 'bun:test'
import type { PolicyTerms, Spending } from '../../db/queries/vault/policies.ts'
import { CONTROL_MODES, type ControlMode, type KeyringKind } from '../../db/words.ts'
import { auditVerifier } from '../../src/platform/audit/audit.ts'
import { createQueue } from '../../src/platform/queue.ts'
import { open } from '../../src/platform/sealing/envelope.ts'
import { openSealer } from '../../src/platform/sealing/sealer.ts'
import { createLinkMaker } from '../../src/vault/rooms/chain/chain.ts'
import { readUserSecret } from '../../src/vault/rooms/credentials/user-secret.ts'
import { deriveFamilyKeys } from '../../src/vault/rooms/keys/derive.ts'
import { openDeploymentKey, openRootKey } from '../../src/vault/rooms/root/root-key.ts'
import {
  type CredentialKeyOf,
  identityOf,
  openControlKey,
  openDeveloperKey,
  openFamilyKeys,
  openPolicyLock,
  openSeed,
  openUserKey,
  openUserKeyLock,
  openWalletKey,
  openWalletKeyBy,
} from '../../src/vault/rooms/sealing/hierarchy.ts'
import { openRowMacs } from '../../src/vault/rooms/sealing/row-mac.ts'
import { stretchPin } from '../../src/vault/rooms/sealing/stretch.ts'
import { boundSpending } from '../../src/vault/rooms/wallets/policy-spending.ts'
import { boundTerms } from '../../src/vault/rooms/wallets/policy-terms.ts'
import golden from './golden-1.json'
import { bytesOf, hexOf, keyFile } from './support.ts'

const { projectId, keyringId, walletId, ownerId } = golden
const walletOf = {
  ...{ projectId, keyringId, walletId, ownerId, network: golden.network },
  ...({ controlMode: 'user', type: 'eoa' } as const),
}
const projectKey = bytesOf(golden.projectKey)

const TOKEN = `0x${'ab'.repeat(20)}`

/** As the driver reads them. */
const policyTerms = {
  ...golden.policyTerms,
  argumentRules: golden.policyTerms.argumentRules as PolicyTerms['argumentRules'],
  expiresAt: new Date(golden.policyTerms.expiresAt),
  maxTotalValue: BigInt(golden.policyTerms.maxTotalValue),
  maxTotalFee: BigInt(golden.policyTerms.maxTotalFee),
  tokenLimits: [],
  rollingLimits: [],
  requireApproval: null,
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
  const of = { projectId, version: 1 }
  const sealed = peel(identityOf.developerKey(of), golden.developerKey)
  return openDeveloperKey({ ...of, secret: golden.secret, sealed }) ?? new Uint8Array()
}

const userKey = async (pin = golden.pin) => {
  const of = { projectId, ownerId, version: 1 }
  const sealed = peel(identityOf.userKey(of), golden.userKey)
  const stretched = await stretchPin({ pin, salt: bytesOf(golden.salt) })
  return openUserKey({ ...of, stretched, sealed })
}

type Mode = { readonly controlMode: ControlMode; readonly sealedFor?: ControlMode }

/** The lock of a mode, opened as the lock of `controlMode`. */
const controlKeyBy = (credentialKey: Uint8Array, { controlMode, sealedFor = controlMode }: Mode) => {
  const [lockId, sealed] =
    sealedFor === 'user' ? [golden.userLockId, golden.userLock] : [golden.developerLockId, golden.developerLock]
  const of = { projectId, keyringId, lockId, controlMode }
  return openControlKey({ ...of, credentialKey, sealed: peel(identityOf.ownerLock(of), sealed) })
}

const bothKeys = async (): Promise<CredentialKeyOf> => ({ developer: developerKey(), user: await userKey() })

const seedBy = (
  credentialKeyOf: CredentialKeyOf,
  { sealed = golden.seed, kind = 'seed' as KeyringKind, controlModes = CONTROL_MODES as readonly ControlMode[] } = {},
) => {
  const of = { projectId, keyringId, kind, controlModes }
  return hexOf(openSeed({ ...of, credentialKeyOf, sealed: peel(identityOf.seedLock(of), sealed) }))
}

describe('in the first version', () => {
  test('a project key unwraps with the root key of that id', async () => {
    const rootKey = await opened(golden.rootKey, openRootKey)
    expect(rootKey.id).toBe(golden.rootKeyId)
    const identity = identityOf.projectKey({ projectId, version: 1 })
    expect(hexOf(await rootKey.unwrap({ wrapped: bytesOf(golden.wrapped), identity }))).toBe(golden.projectKey)
  })

  test('a recovery code and a passkey open the user key that the PIN opens, each by its own lock of its version', async () => {
    const expected = hexOf((await userKey()) ?? new Uint8Array())
    const code = { kind: 'recovery_code', passkeyId: '', version: 1 } as const
    const passkey = { kind: 'passkey', passkeyId: golden.passkeyId, version: 3 } as const
    const [byCode, byPasskey] = [readUserSecret(golden.recoveryCode), readUserSecret(golden.passkeySecret)]
    const cases = [
      { lock: code, secret: byCode, sealed: golden.recoveryCodeLock },
      { lock: passkey, secret: byPasskey, sealed: golden.passkeyLock },
    ]
    for (const { lock, secret, sealed } of cases) {
      const of = { projectId, ownerId, ...lock }
      expect(secret.kind).toBe(lock.kind)
      const inner = peel(identityOf.userKeyLock(of), sealed)
      expect(hexOf(openUserKeyLock({ ...of, secret: secret.bytes, sealed: inner }) ?? new Uint8Array())).toBe(expected)
      for (const other of [{ version: lock.version + 1 }, { ownerId: 'zoe' }, { passkeyId: 'other' }]) {
        const moved = { ...of, ...other }
        expect(() => peel(identityOf.userKeyLock(moved), sealed)).toThrow('authentication failed')
        expect(openUserKeyLock({ ...moved, secret: secret.bytes, sealed: inner })).toBeNull()
      }
      const wrong = Uint8Array.from(secret.bytes, (byte) => byte ^ 1)
      expect(openUserKeyLock({ ...of, secret: wrong, sealed: inner })).toBeNull()
    }
  })

  test('both credentials lead to the seed, in whatever order their modes are named', async () => {
    expect(seedBy(await bothKeys())).toBe(golden.entropy)
    expect(seedBy(await bothKeys(), { controlModes: ['user', 'developer'] })).toBe(golden.entropy)
  })

  test('one credential does not lead to a seed that two control, and needs no other for one that it controls alone', async () => {
    const { developer, user } = await bothKeys()
    expect(seedBy({ developer: null, user }, { sealed: golden.seedOfUser, controlModes: ['user'] })).toBe(
      golden.entropy,
    )
    const inner = peel(
      identityOf.seedLock({ projectId, keyringId, kind: 'seed', controlModes: CONTROL_MODES }),
      golden.seed,
    )
    const of = { projectId, keyringId, kind: 'seed', sealed: inner } as const
    for (const key of [developer, user]) {
      for (const controlModes of [['developer'], ['user'], CONTROL_MODES] as const) {
        const credentialKeyOf = { developer: key, user: key }
        expect(() => openSeed({ ...of, controlModes, credentialKeyOf })).toThrow('authentication failed')
      }
    }
    const swapped = { developer: user, user: developer }
    expect(() => openSeed({ ...of, controlModes: CONTROL_MODES, credentialKeyOf: swapped })).toThrow('authentication')
    expect(() => openSeed({ ...of, controlModes: CONTROL_MODES, credentialKeyOf: { developer, user: null } })).toThrow(
      'needs the credentials of all modes',
    )
  })

  test('each credential leads to the keys of all families, by the lock of its own mode alone', async () => {
    expect(
      hexOf(await deriveFamilyKeys({ argon2: createQueue(), stretching: createQueue() }, bytesOf(golden.entropy))),
    ).toBe(golden.familyKeys)
    const locks = {
      developer: { lockId: golden.developerLockId, sealed: bytesOf(golden.developerFamilyKeys) },
      user: { lockId: golden.userLockId, sealed: bytesOf(golden.userFamilyKeys) },
    }
    const keys = await bothKeys()
    for (const controlMode of CONTROL_MODES) {
      const controlKey = controlKeyBy(keys[controlMode] ?? new Uint8Array(), { controlMode })
      const of = { projectId, keyringId, controlMode, controlKey }
      expect(hexOf(openFamilyKeys({ ...of, ...locks[controlMode] }))).toBe(golden.familyKeys)
      const other = controlMode === 'user' ? 'developer' : 'user'
      expect(() => openFamilyKeys({ ...of, ...locks[other] })).toThrow('authentication failed')
      expect(() => openFamilyKeys({ ...of, controlMode: other, ...locks[other] })).toThrow('authentication failed')
    }
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
      { tokenLimits: [{ contractAddress: TOKEN, maxTotal: '1', perSeconds: null }] },
      { rollingLimits: [{ perSeconds: 60, maxTotalValue: null, maxUses: 1 }] },
      { requireApproval: { of: 1, expiresInSeconds: 60, approvers: [] } },
      // As texts these are the same, one after the other.
      { maxUses: null, maxTotalFee: BigInt(`${policyTerms.maxUses}${policyTerms.maxTotalFee}`) },
    ]) {
      const terms = boundTerms({ ...policyTerms, ...edit })
      expect(() => peel(identityOf.policyLock({ ...of, terms }), golden.policyLock)).toThrow('authentication failed')
      expect(() => openPolicyLock({ ...of, terms, developerKey: developerKey(), sealed })).toThrow('authentication')
    }
  })

  test('the lists of limits and their counts are bound as canonical JSON', () => {
    const terms = boundTerms({
      ...policyTerms,
      tokenLimits: [{ perSeconds: null, maxTotal: '1000', contractAddress: TOKEN }],
      rollingLimits: [{ maxUses: 2, perSeconds: 60, maxTotalValue: null }],
    })
    expect([terms.token_limits, terms.rolling_limits]).toEqual([
      `[{"contractAddress":"${TOKEN}","maxTotal":"1000","perSeconds":null}]`,
      '[{"maxTotalValue":null,"maxUses":2,"perSeconds":60}]',
    ])
    const spending = { uses: 1, spentValue: 0n, spentFee: 0n, limitCounts: [[[0, '999'] as const], []] }
    const { fields } = boundSpending({ projectId, policyId: policyTerms.id }, spending)
    expect(fields.limit_counts).toBe('[[[0,"999"]],[]]')
  })

  test('what a policy has spent has that MAC, and another state has not', () => {
    const { uses, ...amounts } = golden.policySpending
    const spending = {
      uses,
      spentValue: BigInt(amounts.spentValue),
      spentFee: BigInt(amounts.spentFee),
      limitCounts: [],
    }
    const rowOf = (edit: Partial<Spending & { policyId: string }> = {}) =>
      boundSpending({ projectId, policyId: edit.policyId ?? policyTerms.id }, { ...spending, ...edit })
    using macs = openRowMacs({ projectKey, keyId: 1 })
    expect(hexOf(macs.of(rowOf()))).toBe(golden.policyMac)
    const mac = bytesOf(golden.policyMac)
    expect(macs.holds({ row: rowOf(), mac })).toBe(true)
    const edits = [{ uses: 2 }, { spentValue: 0n }, { spentFee: 0n }, { policyId: golden.userLockId }]
    for (const edit of [...edits, { limitCounts: [[[0, '1'] as const]] }]) {
      expect([edit, macs.holds({ row: rowOf(edit), mac })]).toEqual([edit, false])
    }
    using others = openRowMacs({ projectKey, keyId: 2 })
    expect(others.holds({ row: rowOf(), mac })).toBe(false)
  })

  test('the PIN leads to the private key of the user’s wallet, and another PIN does not', async () => {
    const controlKey = controlKeyBy((await userKey()) ?? new Uint8Array(), { controlMode: 'user' })
    const key = openWalletKey({ ...walletOf, controlKey, sealed: bytesOf(golden.walletKey) })
    expect(hexOf(key)).toBe(golden.privateKey)
    expect(await userKey('013371')).toBeNull()
  })

  test('a private key does not open with the control key of another mode, nor for another network, type or owner', async () => {
    const { developer, user } = await bothKeys()
    const keys = {
      developer: controlKeyBy(developer ?? new Uint8Array(), { controlMode: 'developer' }),
      user: controlKeyBy(user ?? new Uint8Array(), { controlMode: 'user' }),
    }
    for (const [by, edit] of [
      ['user', { network: 'Base' }],
      ['user', { type: 'contract' as const }],
      ['user', { ownerId: 'zoe' }],
      ['user', { controlMode: 'developer' as const }],
      ['developer', {}],
      ['developer', { controlMode: 'developer' as const }],
    ] as const) {
      const of = { ...walletOf, ...edit, controlKey: keys[by], sealed: bytesOf(golden.walletKey) }
      expect(() => openWalletKey(of)).toThrow('authentication failed')
    }
  })

  test('a lock does not open for another control mode, nor with the other credential', async () => {
    const { developer, user } = await bothKeys()
    const open = (key: Uint8Array | null, mode: Mode) => () => controlKeyBy(key ?? new Uint8Array(), mode)
    expect(open(user, { controlMode: 'developer', sealedFor: 'user' })).toThrow('authentication failed')
    expect(open(developer, { controlMode: 'developer', sealedFor: 'user' })).toThrow('authentication failed')
    expect(open(developer, { controlMode: 'user', sealedFor: 'user' })).toThrow('authentication failed')
  })

  test('a seed does not open for other control modes than when it was sealed', async () => {
    const keys = await bothKeys()
    for (const [sealed, controlModes] of [
      [golden.seed, ['developer']],
      [golden.seed, ['user']],
      [golden.seed, []],
      [golden.seedOfUser, ['developer']],
      [golden.seedOfUser, CONTROL_MODES],
    ] as const) {
      expect(() => seedBy(keys, { sealed, controlModes })).toThrow('authentication failed')
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
    const of = { projectId, version: 1 }
    const sealed = peel(identityOf.developerKey(of), golden.developerKey)
    expect(openDeveloperKey({ ...of, secret: 'wrong', sealed })).toBeNull()
    expect(() => openDeveloperKey({ ...of, secret: golden.secret, sealed: sealed.subarray(0, 20) })).toThrow(
      'truncated',
    )
  })

  test('both layers of a developer key and of a user key open only with the number of its changes', async () => {
    const first = { projectId, ownerId, version: 1 }
    const next = { ...first, version: 2 }
    expect(() => peel(identityOf.developerKey(next), golden.developerKey)).toThrow('authentication failed')
    expect(() => peel(identityOf.userKey(next), golden.userKey)).toThrow('authentication failed')
    const ofDeveloper = peel(identityOf.developerKey(first), golden.developerKey)
    expect(openDeveloperKey({ ...next, secret: golden.secret, sealed: ofDeveloper })).toBeNull()
    const stretched = await stretchPin({ pin: golden.pin, salt: bytesOf(golden.salt) })
    expect(openUserKey({ ...next, stretched, sealed: peel(identityOf.userKey(first), golden.userKey) })).toBeNull()
  })

  test('the secret leads to an imported phrase and to an imported key', () => {
    const credentialKeyOf = { developer: developerKey(), user: null }
    const of = { controlModes: ['developer'] as const }
    expect(seedBy(credentialKeyOf, { ...of, kind: 'phrase', sealed: golden.phrase })).toBe(golden.phraseEntropy)
    expect(seedBy(credentialKeyOf, { ...of, kind: 'key', sealed: golden.imported })).toBe(golden.importedKey)
  })

  test('a seed does not open as one of another kind', async () => {
    const keys = await bothKeys()
    for (const kind of ['key', 'phrase'] as const) expect(() => seedBy(keys, { kind })).toThrow('authentication failed')
  })

  test("the deployment's key opens with the root key, and gives the vault's MACs and the heads of chains", async () => {
    const rootKey = await opened(golden.rootKey, openRootKey)
    const deploymentKey = await openDeploymentKey(rootKey, bytesOf(golden.deploymentKey))
    const row = {
      id: 7n,
      projectId,
      at: new Date('2025-01-02T03:04:05.678Z'),
      actor: 'operator',
      action: 'wallet_created',
      subject: walletId,
      details: { b: '2', a: '1' },
      mac: bytesOf(golden.vaultAuditMac),
    } as const
    expect(auditVerifier(deploymentKey)(row)).toBe(true)
    const makeLink = createLinkMaker(deploymentKey)
    const first = makeLink({ previous: null, row })
    const second = makeLink({ previous: first, row: { ...row, id: 9n } })
    expect([first, second].map(({ head }) => hexOf(head))).toEqual(golden.auditHeads)
  })
})
