// Compares the rows of the vault with what the audit says of them: each row takes what belongs to it, and what is left
// is gone.

import type { Db } from '../../../db/client.ts'
import { readVerifiedRows, type VerifiedRows } from '../../../db/queries/vault/verified-rows.ts'
import {
  type AuditedPolicy,
  createAudited,
  type Fold,
  foldRow,
  otherColumns,
  ownerKey,
  userLockKey,
  VAULTS_APART_MAX_MS,
} from './audited.ts'
import type { ForgedId } from './credentials/forged-keys.ts'

/** `unfinished`: wallets that a stopped process can also leave. */
type Place = Exclude<keyof VerifiedRows, 'audit' | 'owner_locks' | 'used_approvals'> | 'unfinished'

const GONE = 'the audit names it, and it is gone'
const EARLIER = 'the audit has a later state of it'

type Report = (place: Place, row: ForgedId) => void

const take = <Value>(map: Map<string, Value>, key: string): Value | undefined => {
  const value = map.get(key)
  map.delete(key)
  return value
}

const policyTrouble = (row: VerifiedRows['policies'], audited: AuditedPolicy): string | null => {
  if (audited.endId > 0 && !row.isRevoked) return 'the audit says that it was revoked'
  if (audited.uses > Number(row.uses)) return 'the audit has more uses'
  if (audited.isApprovalGone) return 'the audit names an approval that was used, and its row is gone'
  if (audited.isApprovalReused) return 'the audit names an approval that was used twice'
  const isLate = row.expiresAtMs !== null && audited.lastUseAtMs > row.expiresAtMs + VAULTS_APART_MAX_MS
  return isLate || (audited.endId > 0 && audited.lastUseId > audited.endId) ? 'the audit has a use after its end' : null
}

const seeProjects = ({ projects }: Fold, report: Report) => ({
  projects: ({ projectId }: VerifiedRows['projects']) => {
    const project = projects.get(projectId)
    if (project !== undefined) project.isThere = true
  },
  project_keys: ({ projectId, version }: VerifiedRows['project_keys']) => {
    projects.get(projectId)?.keyVersions.delete(version)
  },
  developer_keys: ({ projectId, version }: VerifiedRows['developer_keys']) => {
    const project = projects.get(projectId)
    if (project === undefined) return
    project.needsDeveloperKey = false
    if (version < project.developerKeyVersion) report('developer_keys', { projectId, id: projectId, trouble: EARLIER })
  },
  delegate_lists: ({ projectId, version }: VerifiedRows['delegate_lists']) => {
    const project = projects.get(projectId)
    if (project === undefined) return
    const isEarlier = version < project.listVersion
    project.listVersion = 0
    const trouble = isEarlier ? 'the audit has a later version of it' : 'the audit has a version of it twice'
    if (isEarlier || project.isListRepeated) report('delegate_lists', { projectId, id: projectId, trouble })
  },
})

const seeOwners = ({ owners, userLocks }: Fold, report: Report) => ({
  user_keys: ({ projectId, ownerId, version }: VerifiedRows['user_keys']) => {
    const owner = owners.get(ownerKey({ projectId, ownerId }))
    if (owner === undefined) return
    owner.hasKey = true
    if (version < owner.keyVersion) report('user_keys', { projectId, id: ownerId, trouble: EARLIER })
  },
  pin_guesses: ({ projectId, ownerId, revision, total }: VerifiedRows['pin_guesses']) => {
    const owner = take(owners, ownerKey({ projectId, ownerId }))
    if (owner === undefined) return
    if (owner.hasPin && !owner.hasKey) report('user_keys', { projectId, id: ownerId, trouble: GONE })
    if (Number(revision) < owner.revision) report('pin_guesses', { projectId, id: ownerId, trouble: EARLIER })
    else if (total < owner.wrongPins)
      report('pin_guesses', { projectId, id: ownerId, trouble: 'the audit has more wrong PINs' })
  },
  user_key_locks: (row: VerifiedRows['user_key_locks']) => {
    const audited = take(userLocks, userLockKey(row))
    if (audited?.version === row.version && audited.isThere === row.isThere) return
    const isLater = audited === undefined || row.version > audited.version
    report('user_key_locks', { ...userLockId(row), trouble: isLater ? 'the audit does not name it' : EARLIER })
  },
})

const userLockId = ({ projectId, ownerId, kind, passkeyId }: VerifiedRows['user_key_locks']) => ({
  projectId,
  id: passkeyId === '' ? `${ownerId} ${kind}` : `${ownerId} ${kind} ${passkeyId}`,
})

const seeKeyrings = ({ keyrings, locks }: Fold, report: Report) => ({
  keyrings: ({ id }: VerifiedRows['keyrings']) => {
    const keyring = keyrings.get(id)
    if (keyring !== undefined) keyring.isThere = true
  },
  owner_locks: ({ id, keyringId, controlMode, version }: VerifiedRows['owner_locks']) => {
    keyrings.get(keyringId)?.controlModes.delete(controlMode)
    const lock = locks.get(id)
    if (lock === undefined || version >= lock.version) return
    const act = lock.policiesOnly ? 'put under' : 'released from'
    const { projectId } = lock
    report('keyrings', { projectId, id: lock.keyringId, trouble: `the audit says that it was ${act} policies` })
  },
})

const seeWallets = ({ wallets, policies, approvals, hashesOf }: Fold, report: Report) => ({
  wallet_keys: ({ id }: VerifiedRows['wallet_keys']) => {
    const wallet = wallets.get(id)
    if (wallet !== undefined) wallet.hasKey = true
  },
  wallets: ({ id, ...row }: VerifiedRows['wallets']) => {
    const wallet = take(wallets, id)
    if (wallet === undefined) {
      return report('wallets', { projectId: row.projectId, id, trouble: 'the audit does not name it' })
    }
    const { projectId, hasKey, hashes } = wallet
    if (!hasKey) report('wallet_keys', { projectId, id, trouble: GONE })
    const others = otherColumns(hashes, hashesOf(row))
    if (others.length > 0) {
      report('wallets', { projectId, id, trouble: `the audit has another ${others.join(', ')}` })
    }
  },
  used_approvals: ({ id }: VerifiedRows['used_approvals']) => {
    approvals.delete(id)
  },
  policies: (row: VerifiedRows['policies']) => {
    // All used approvals were read before.
    for (const policy of approvals.values()) policy.isApprovalGone = true
    approvals.clear()
    const audited = take(policies, row.id)
    if (audited === undefined) return
    const trouble = policyTrouble(row, audited)
    if (trouble !== null) report('policies', { projectId: audited.projectId, id: row.id, trouble })
  },
})

const UNFINISHED = 'it has a key and no row: it was never finished, or somebody deleted its row before it was used'

/** What no row has taken. */
const reportGone = (fold: Fold, report: Report): void => {
  for (const project of fold.projects.values()) {
    const { projectId } = project
    const gone = { projectId, id: projectId, trouble: GONE }
    if (project.isCreated && !project.isThere) report('projects', gone)
    if (project.needsDeveloperKey) report('developer_keys', gone)
    if (project.listVersion > 0) report('delegate_lists', gone)
    for (const version of project.keyVersions) report('project_keys', { ...gone, id: String(version) })
  }
  for (const { projectId, ownerId: id, hasPin, hasKey } of fold.owners.values()) {
    if (!hasPin || hasKey) continue
    for (const table of ['user_keys', 'pin_guesses'] as const) report(table, { projectId, id, trouble: GONE })
  }
  for (const lock of fold.userLocks.values()) report('user_key_locks', { ...userLockId(lock), trouble: GONE })
  for (const [id, { projectId, isMade, isThere, controlModes }] of fold.keyrings) {
    if (isMade && !isThere) report('keyrings', { projectId, id, trouble: GONE })
    for (const mode of controlModes) {
      report('keyrings', { projectId, id, trouble: `the audit names its lock of the ${mode}, and it is gone` })
    }
  }
  for (const [id, { projectId, hasKey, isUsed }] of fold.wallets) {
    if (!hasKey) report('wallet_keys', { projectId, id, trouble: GONE })
    if (hasKey && !isUsed) report('unfinished', { projectId, id, trouble: UNFINISHED })
    else report('wallets', { projectId, id, trouble: GONE })
  }
  for (const [id, { projectId }] of fold.policies) report('policies', { projectId, id, trouble: GONE })
}

/** By table, in the order of their ids. @param input.projectId null: of all projects. */
export const findContradictions = async (
  db: Db,
  { projectId }: { readonly projectId: string | null },
): Promise<(place: Place) => readonly ForgedId[]> => {
  const fold = createAudited()
  const found = new Map<Place, ForgedId[]>()
  const report: Report = (place, row) => {
    const rows = found.get(place) ?? []
    rows.push(row)
    found.set(place, rows)
  }
  const see = {
    audit: (row: VerifiedRows['audit']) => foldRow(fold, row),
    ...seeProjects(fold, report),
    ...seeOwners(fold, report),
    ...seeKeyrings(fold, report),
    ...seeWallets(fold, report),
  }
  await readVerifiedRows(db, { projectId, see })
  reportGone(fold, report)
  return (place) => (found.get(place) ?? []).toSorted((a, b) => (a.id < b.id ? -1 : 1))
}
