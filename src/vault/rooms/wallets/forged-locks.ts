import type { Db } from '../../../../db/client.ts'
import { pageOfKeyrings, pageOfOwnerLocks } from '../../../../db/queries/vault/locks.ts'
import { allPages } from '../credentials/forged-keys.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { identityOf } from '../sealing/hierarchy.ts'

type Parts = { readonly db: Db; readonly projectKeys: ProjectKeys }

type ForgedKeyring = { readonly projectId: string; readonly id: string; readonly trouble: string }

/**
 * For `audit verify`: the keyrings whose seed or locks were changed outside of the vault. @param input.projectId null:
 * of all projects.
 */
export const forgedLocks = async (
  { db, projectKeys }: Parts,
  input: { readonly projectId: string | null },
): Promise<readonly ForgedKeyring[]> => {
  const forged: ForgedKeyring[] = []
  for await (const { id, sealed, ...lock } of allPages(db, pageOfKeyrings, input.projectId)) {
    const identity = identityOf.seedLock({ ...lock, keyringId: id })
    if (await projectKeys.isOuterAsSealed({ identity, sealed })) continue
    forged.push({
      projectId: lock.projectId,
      id,
      trouble: 'its seed lock, or the set of its locks, is not as it was made',
    })
  }
  for await (const { id: lockId, sealed, ...lock } of allPages(db, pageOfOwnerLocks, input.projectId)) {
    const identity = identityOf.outerOwnerLock({ ...lock, lockId })
    if (await projectKeys.isOuterAsSealed({ identity, sealed })) continue
    const { projectId, keyringId: id, controlMode } = lock
    forged.push({ projectId, id, trouble: `its lock of the ${controlMode} is not as it was made` })
  }
  return forged
}
