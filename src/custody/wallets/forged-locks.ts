import type { Db } from '../../../db/client.ts'
import { pageOfKeyrings, pageOfOwnerLocks } from '../../../db/queries/custody/owner-locks.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { identityOf } from '../sealing/hierarchy.ts'

const ROWS_A_PAGE = 1_000

type Parts = { readonly db: Db; readonly projectKeys: ProjectKeys }

type Page = { readonly projectId: string | null; readonly after: string | null; readonly limit: number }

type ForgedKeyring = { readonly projectId: string; readonly id: string; readonly trouble: string }

/** All rows of a table that is read in pages. */
const allOf = async function* <Row extends { readonly id: string }>(
  read: (page: Page) => Promise<readonly Row[]>,
  projectId: string | null,
): AsyncGenerator<Row> {
  for (let after: string | null = null; ; ) {
    const page: readonly Row[] = await read({ projectId, after, limit: ROWS_A_PAGE })
    yield* page
    if (page.length < ROWS_A_PAGE) return
    after = page.at(-1)?.id ?? null
  }
}

/** For `audit verify`: the keyrings whose seed or locks are not as they were made. @param input.projectId null: of all projects. */
export const forgedLocks = async (
  { db, projectKeys }: Parts,
  input: { readonly projectId: string | null },
): Promise<readonly ForgedKeyring[]> => {
  const forged: ForgedKeyring[] = []
  for await (const { id, sealed, ...of } of allOf((page) => pageOfKeyrings(db, page), input.projectId)) {
    const identity = identityOf.seedLock({ ...of, keyringId: id })
    if (await projectKeys.isOuterAsSealed({ identity, sealed })) continue
    forged.push({
      projectId: of.projectId,
      id,
      trouble: 'its seed lock, or the set of its locks, is not as it was made',
    })
  }
  for await (const { id: lockId, sealed, ...of } of allOf((page) => pageOfOwnerLocks(db, page), input.projectId)) {
    if (await projectKeys.isOuterAsSealed({ identity: identityOf.outerOwnerLock({ ...of, lockId }), sealed })) continue
    const { projectId, keyringId: id, controlMode } = of
    forged.push({ projectId, id, trouble: `its lock of the ${controlMode} is not as it was made` })
  }
  return forged
}
