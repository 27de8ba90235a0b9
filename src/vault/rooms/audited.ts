// What the audit says of the rows of the vault, folded into a few numbers for each row: some 200 bytes for each wallet,
// owner, policy, keyring and used approval. A number of a row's state (version, revision, uses) is the lowest that the
// row may have.

import { createHmac, randomBytes } from 'node:crypto'
import type { VerifiedRows } from '../../../db/queries/vault/verified-rows.ts'
import { CLOCKS_APART_MAX_MS } from '../client/clocks.ts'

/** The columns of a wallet that decide, by the names that operators read. */
const COMPARED = {
  project: 'projectId',
  owner: 'owner',
  network: 'network',
  'control mode': 'controlMode',
  keyring: 'keyring',
  type: 'type',
  'public key': 'publicKey',
  address: 'address',
} as const satisfies Record<string, keyof VerifiedRows['wallets']>

const HASH_BYTES = 8

/** Short hashes of a wallet's columns. Nobody else can compute them, because the key is made for one comparison. */
const createHashes = () => {
  const key = randomBytes(32)
  const hash = (text: string) =>
    createHmac('sha256', key).update(text).digest().subarray(0, HASH_BYTES).toString('latin1')
  return (wallet: Readonly<Record<(typeof COMPARED)[keyof typeof COMPARED], string>>): string =>
    Object.values(COMPARED)
      .map((column) => hash(wallet[column]))
      .join('')
}

export const otherColumns = (one: string, other: string): readonly string[] =>
  Object.keys(COMPARED).filter((_, at) => {
    const [start, end] = [at * HASH_BYTES, (at + 1) * HASH_BYTES]
    return one.slice(start, end) !== other.slice(start, end)
  })

// `isThere`, `hasKey`: the tables have it, as far as they were read.

const newProject = (projectId: string) => ({
  projectId,
  isCreated: false,
  isThere: false,
  keyVersions: new Set<number>(),
  needsDeveloperKey: false,
  developerKeyVersion: 1,
  listVersion: 0,
  /** An earlier list was put back, and then changed. */
  isListRepeated: false,
})

type Owner = { readonly projectId: string; readonly ownerId: string }

const newOwner = ({ projectId, ownerId }: Owner) => ({
  projectId,
  ownerId,
  hasPin: false,
  hasKey: false,
  keyVersion: 1,
  revision: 0,
  wrongPins: 0,
  unlockedAtMs: 0,
})

const newWallet = (projectId: string, hashes: string) => ({ projectId, hashes, hasKey: false, isUsed: false })

const newPolicy = (projectId: string) => ({
  projectId,
  endId: 0,
  uses: 0,
  lastUseId: 0,
  lastUseAtMs: 0,
  isApprovalReused: false,
  isApprovalGone: false,
})

export type AuditedPolicy = ReturnType<typeof newPolicy>

type Keyring = { readonly projectId: string; readonly controlModes: Set<string>; isMade: boolean; isThere: boolean }
type Lock = Readonly<{ projectId: string; keyringId: string; version: number; policiesOnly: boolean }>

type Row = VerifiedRows['audit']

/** One vault may be ahead of the database, and another one behind it. */
export const VAULTS_APART_MAX_MS = 2 * CLOCKS_APART_MAX_MS

/** Keys are ids, or a project and a name in it, divided by a line break. */
export const createAudited = () => ({
  hashesOf: createHashes(),
  projects: new Map<string, ReturnType<typeof newProject>>(),
  wallets: new Map<string, ReturnType<typeof newWallet>>(),
  owners: new Map<string, ReturnType<typeof newOwner>>(),
  keyrings: new Map<string, Keyring>(),
  locks: new Map<string, Lock>(),
  userLocks: new Map<string, VerifiedRows['user_key_locks']>(),
  policies: new Map<string, AuditedPolicy>(),
  /** The policy of each used approval. */
  approvals: new Map<string, AuditedPolicy>(),
})

export type Fold = ReturnType<typeof createAudited>

export const ownerKey = ({ projectId, ownerId }: Owner): string => `${projectId}\n${ownerId}`

export const userLockKey = (lock: Omit<VerifiedRows['user_key_locks'], 'version' | 'isThere'>): string =>
  `${ownerKey(lock)}\n${lock.kind}\n${lock.passkeyId}`

const entry = <Value>(map: Map<string, Value>, key: string, make: () => Value): Value => {
  const known = map.get(key)
  if (known !== undefined) return known
  const made = make()
  map.set(key, made)
  return made
}

const numberIn = (text: string | undefined): number => Number(text ?? 0) || 0

const foldProject = ({ projects }: Fold, { projectId, action, details }: Row): void => {
  const project = entry(projects, projectId, () => newProject(projectId))
  project.isCreated ||= action === 'project_created'
  project.needsDeveloperKey ||= action === 'project_activated' || details.activated === 'yes'
  if (action === 'project_created' || action === 'project_key_rotated') {
    project.keyVersions.add(numberIn(details.version ?? '1'))
  }
  if (action === 'developer_secret_changed') {
    project.developerKeyVersion = Math.max(project.developerKeyVersion + 1, numberIn(details.key_version))
  }
  const listVersion = numberIn(details.list_version)
  project.isListRepeated ||= listVersion > 0 && listVersion <= project.listVersion
  project.listVersion = Math.max(project.listVersion, listVersion)
}

const ownerOf = ({ owners }: Fold, owner: Owner) => entry(owners, ownerKey(owner), () => newOwner(owner))

const foldWallet = (fold: Fold, { projectId, action, subject, details }: Row): void => {
  const { owner_id: owner = '', keyring_id: keyring = '', control_mode: controlMode = '' } = details
  const made = entry(fold.keyrings, keyring, () => ({
    projectId,
    controlModes: new Set<string>(),
    isMade: false,
    isThere: false,
  }))
  made.controlModes.add(controlMode)
  if (action === 'control_shared') return
  made.isMade = true
  if (controlMode === 'user') ownerOf(fold, { projectId, ownerId: owner }).hasPin = true
  const { network = '', type = '', public_key: publicKey = '', address = '' } = details
  const hashes = fold.hashesOf({ projectId, owner, network, controlMode, keyring, type, publicKey, address })
  entry(fold.wallets, subject, () => newWallet(projectId, hashes))
}

const foldLock = ({ locks }: Fold, { projectId, action, details }: Row): void => {
  const { lock_id: id = '', keyring_id: keyringId = '' } = details
  const version = numberIn(details.lock_version)
  if (version < (locks.get(id)?.version ?? 0)) return
  locks.set(id, { projectId, keyringId, version, policiesOnly: action === 'put_under_policies' })
}

const foldUserLock = ({ userLocks }: Fold, { projectId, action, subject: ownerId, details }: Row): void => {
  const kind = details.kind === 'passkey' ? 'passkey' : 'recovery_code'
  const lock = { projectId, ownerId, kind, passkeyId: details.passkey_id ?? '' } as const
  const version = numberIn(details.lock_version)
  if (version < (userLocks.get(userLockKey(lock))?.version ?? 0)) return
  userLocks.set(userLockKey(lock), { ...lock, version, isThere: action === 'user_secret_added' })
}

const foldOwner = (fold: Fold, { projectId, action, subject: ownerId, atMs, details }: Row): void => {
  const owner = ownerOf(fold, { projectId, ownerId })
  owner.revision = Math.max(owner.revision, numberIn(details.guesses_revision))
  if (action === 'user_pin_changed') owner.keyVersion = Math.max(owner.keyVersion + 1, numberIn(details.key_version))
  if (action === 'owner_unlocked' || (action === 'user_pin_changed' && details.by !== undefined)) {
    owner.wrongPins = 0
    owner.unlockedAtMs = atMs
  }
  // A row counts the wrong PINs of half a minute, and may be written after the owner was unlocked.
  const isWrong = action === 'wrong_pin' || action === 'owner_locked'
  if (isWrong && Date.parse(details.since ?? '') > owner.unlockedAtMs + VAULTS_APART_MAX_MS) {
    owner.wrongPins += numberIn(details.count)
  }
}

const foldPolicy = ({ policies, approvals }: Fold, { projectId, id, action, atMs, details }: Row): void => {
  const policy = entry(policies, details.policy ?? '', () => newPolicy(projectId))
  if (action === 'policy_revoked') policy.endId = Number(id)
  // One use may be several signatures; the vault says which one was charged.
  if (details.policy_uses !== '1') return
  policy.uses += 1
  policy.lastUseId = Number(id)
  policy.lastUseAtMs = Math.max(policy.lastUseAtMs, atMs)
  if (details.approval === undefined) return
  policy.isApprovalReused ||= approvals.has(details.approval)
  approvals.set(details.approval, policy)
}

const FOLDS: Readonly<Record<string, (fold: Fold, row: Row) => void>> = {
  project_created: foldProject,
  project_activated: foldProject,
  project_key_rotated: foldProject,
  developer_secret_changed: foldProject,
  delegates_changed: foldProject,
  wallet_created: foldWallet,
  wallet_imported: foldWallet,
  control_shared: foldWallet,
  put_under_policies: foldLock,
  released_from_policies: foldLock,
  user_secret_added: foldUserLock,
  user_secret_removed: foldUserLock,
  user_pin_changed: foldOwner,
  owner_unlocked: foldOwner,
  wrong_pin: foldOwner,
  owner_locked: foldOwner,
}

/** Adds a row of the audit. Rows come in the order of their ids. */
export const foldRow = (fold: Fold, row: Row): void => {
  const foldAction = FOLDS[row.action]
  foldAction?.(fold, row)
  const wallet = foldAction === foldWallet ? undefined : fold.wallets.get(row.subject)
  if (wallet !== undefined) wallet.isUsed = true
  if (row.details.policy !== undefined) foldPolicy(fold, row)
}
