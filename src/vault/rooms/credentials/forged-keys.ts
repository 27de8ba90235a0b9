// For `audit verify`: the keys that credentials open, and their locks, that are not as they were made. The outer layer
// binds the number of a row's changes, so bytes of an earlier credential beside a later number do not open.

import type { Db } from '../../../../db/client.ts'
import { pageOfDeveloperKeys, pageOfUserKeys } from '../../../../db/queries/vault/locks.ts'
import { pageOfUserKeyLocks } from '../../../../db/queries/vault/user-key-locks.ts'
import type { RowIdentity } from '../../../platform/sealing/envelope.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { identityOf } from '../sealing/hierarchy.ts'

const ROWS_A_PAGE = 1_000

/** `after`: the last id of the page before; null for the first page. */
type Page<Id> = { readonly projectId: string | null; readonly after: Id | null; readonly limit: number }

/** All rows of a table that is read in pages. @param projectId null: of all projects. */
export const allPages = async function* <Id, Row extends { readonly id: Id }>(
  db: Db,
  read: (db: Db, page: Page<Id>) => Promise<readonly Row[]>,
  projectId: string | null,
): AsyncGenerator<Row> {
  for (let after: Id | null = null; ; ) {
    const page: readonly Row[] = await read(db, { projectId, after, limit: ROWS_A_PAGE })
    yield* page
    if (page.length < ROWS_A_PAGE) return
    after = page.at(-1)?.id ?? null
  }
}

type Parts = { readonly db: Db; readonly projectKeys: ProjectKeys }
/** `projectId`: null for all projects. */
type OfProject = { readonly projectId: string | null }
export type ForgedId = Readonly<Record<'projectId' | 'id' | 'trouble', string>>

const forgedOf = async <Row extends { readonly sealed: Uint8Array }>(
  { projectKeys }: Parts,
  rows: AsyncIterable<Row>,
  describe: (row: Row) => readonly [id: string, identity: RowIdentity],
): Promise<readonly ForgedId[]> => {
  const forged: ForgedId[] = []
  for await (const row of rows) {
    const [id, identity] = describe(row)
    if (await projectKeys.isOuterAsSealed({ identity, sealed: row.sealed })) continue
    forged.push({ projectId: identity.projectId, id, trouble: 'it is not as it was made' })
  }
  return forged
}

export const forgedDeveloperKeys = (parts: Parts, { projectId }: OfProject) =>
  forgedOf(parts, allPages(parts.db, pageOfDeveloperKeys, projectId), (key) => [key.id, identityOf.developerKey(key)])

export const forgedUserKeys = (parts: Parts, { projectId }: OfProject) =>
  forgedOf(parts, allPages(parts.db, pageOfUserKeys, projectId), ({ id, version }) => [
    id.ownerId,
    identityOf.userKey({ ...id, version }),
  ])

export const forgedUserKeyLocks = (parts: Parts, { projectId }: OfProject) =>
  forgedOf(parts, allPages(parts.db, pageOfUserKeyLocks, projectId), (lock) => [
    [lock.ownerId, lock.kind, lock.passkeyId].filter((part) => part !== '').join(' '),
    identityOf.userKeyLock(lock),
  ])
