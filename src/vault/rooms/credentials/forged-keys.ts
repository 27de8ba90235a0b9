// For `audit verify`: the keys that credentials open, and their locks, that are not as they were made. The outer layer binds the number
// of a row's changes, so bytes of an earlier credential beside a later number do not open. Each function takes a project, or null for all.

import type { Db } from '../../../../db/client.ts'
import { pageOfDeveloperKeys, pageOfUserKeys } from '../../../../db/queries/custody/locks.ts'
import { pageOfUserKeyLocks } from '../../../../db/queries/custody/user-key-locks.ts'
import type { RowIdentity } from '../../../platform/sealing/envelope.ts'
import { allPages } from '../all-pages.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { identityOf } from '../sealing/hierarchy.ts'

type Parts = { readonly db: Db; readonly projectKeys: ProjectKeys }
type OfProject = { readonly projectId: string | null }
type Forged = { readonly projectId: string; readonly id: string; readonly trouble: string }

type Layer = { readonly id: string; readonly identity: RowIdentity; readonly sealed: Uint8Array }

const forgedOf = async <Row>(
  { projectKeys }: Parts,
  rows: AsyncIterable<Row>,
  layerOf: (row: Row) => Layer,
): Promise<readonly Forged[]> => {
  const forged: Forged[] = []
  for await (const row of rows) {
    const { id, ...layer } = layerOf(row)
    if (await projectKeys.isOuterAsSealed(layer)) continue
    forged.push({ projectId: layer.identity.projectId, id, trouble: 'it is not as it was made' })
  }
  return forged
}

export const forgedDeveloperKeys = (parts: Parts, { projectId: of }: OfProject): Promise<readonly Forged[]> =>
  forgedOf(parts, allPages(parts.db, pageOfDeveloperKeys, of), ({ id, sealed, ...key }) => ({
    id,
    identity: identityOf.developerKey(key),
    sealed,
  }))

export const forgedUserKeys = (parts: Parts, { projectId: of }: OfProject): Promise<readonly Forged[]> =>
  forgedOf(parts, allPages(parts.db, pageOfUserKeys, of), ({ id: owner, sealed, version }) => ({
    id: owner.ownerId,
    identity: identityOf.userKey({ ...owner, version }),
    sealed,
  }))

export const forgedUserKeyLocks = (parts: Parts, { projectId: of }: OfProject): Promise<readonly Forged[]> =>
  forgedOf(parts, allPages(parts.db, pageOfUserKeyLocks, of), ({ id: _, sealed, ...lock }) => ({
    id: [lock.ownerId, lock.kind, lock.passkeyId].filter((part) => part !== '').join(' '),
    identity: identityOf.userKeyLock(lock),
    sealed,
  }))
