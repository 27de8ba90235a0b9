import type { Db } from '../../../db/client.ts'
import { missingOwnerLocks, pageOfOwnerLocks } from '../../../db/queries/custody/owner-locks.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { identityOf } from '../sealing/hierarchy.ts'

const LOCKS_A_PAGE = 1_000

type Parts = { readonly db: Db; readonly projectKeys: ProjectKeys }

type OwnerLock = Awaited<ReturnType<typeof pageOfOwnerLocks>>[number]

type ForgedKeyring = { readonly projectId: string; readonly id: string; readonly trouble: string }

/** The outer layer opens for this set of locks. */
const isAsMade = ({ projectKeys }: Parts, { id: lockId, sealed, ...of }: OwnerLock): Promise<boolean> =>
  projectKeys.isOuterAsSealed({ identity: identityOf.ownerLock({ ...of, lockId }), sealed })

/** For `audit verify`: the keyrings whose set of locks is not as it was made. @param input.projectId null: of all projects. */
export const forgedLocks = async (
  parts: Parts,
  input: { readonly projectId: string | null },
): Promise<readonly ForgedKeyring[]> => {
  const forged: ForgedKeyring[] = (await missingOwnerLocks(parts.db, input)).map((lock) => ({
    projectId: lock.projectId,
    id: lock.keyringId,
    trouble: `the audit tells of its lock of the ${lock.controlMode}, and it is gone`,
  }))
  for (let after: string | null = null; ; ) {
    const page: readonly OwnerLock[] = await pageOfOwnerLocks(parts.db, { ...input, after, limit: LOCKS_A_PAGE })
    for (const lock of page) {
      if (await isAsMade(parts, lock)) continue
      const { projectId, keyringId: id, controlMode } = lock
      forged.push({
        projectId,
        id,
        trouble: `its lock of the ${controlMode}, or the set of its locks, is not as it was made`,
      })
    }
    if (page.length < LOCKS_A_PAGE) return forged
    after = page.at(-1)?.id ?? null
  }
}
