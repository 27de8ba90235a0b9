import type { Db } from '../../../db/client.ts'
import { pageOfUserKeyLocks, type UserKeyLockOf } from '../../../db/queries/custody/user-key-locks.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { identityOf } from '../sealing/hierarchy.ts'

const ROWS_A_PAGE = 1_000

type ForgedLock = { readonly projectId: string; readonly id: string; readonly trouble: string }

const named = ({ projectId, ownerId, kind, passkeyId }: UserKeyLockOf, trouble: string): ForgedLock => ({
  projectId,
  id: passkeyId === '' ? `${ownerId} ${kind}` : `${ownerId} ${kind} ${passkeyId}`,
  trouble,
})

/** For `audit verify`: the locks of user keys that are not as they were made. @param input.projectId null: of all projects. */
export const forgedUserKeyLocks = async (
  { db, projectKeys }: { readonly db: Db; readonly projectKeys: ProjectKeys },
  input: { readonly projectId: string | null },
): Promise<readonly ForgedLock[]> => {
  const forged: ForgedLock[] = []
  for (let after: string | null = null; ; ) {
    const page: Awaited<ReturnType<typeof pageOfUserKeyLocks>> = await pageOfUserKeyLocks(db, {
      ...input,
      after,
      limit: ROWS_A_PAGE,
    })
    for (const { id: _, sealed, ...lock } of page) {
      if (await projectKeys.isOuterAsSealed({ identity: identityOf.userKeyLock(lock), sealed })) continue
      forged.push(named(lock, 'it is not as it was made'))
    }
    if (page.length < ROWS_A_PAGE) return forged
    after = page.at(-1)?.id ?? null
  }
}
