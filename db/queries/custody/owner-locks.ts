import { and, asc, eq, gt, sql } from 'drizzle-orm'
import type { Queryable } from '../../client.ts'
import { keyrings, ownerLocks } from '../../schema.ts'
import type { ControlMode } from '../../words.ts'

/** null: of all projects. */
type OfProject = { readonly projectId: string | null }

/** Owner locks after `after`, in the order of their ids. */
export const pageOfOwnerLocks = (
  db: Queryable,
  input: OfProject & { readonly after: string | null; readonly limit: number },
) =>
  db
    .select({
      id: ownerLocks.id,
      projectId: keyrings.projectId,
      keyringId: ownerLocks.keyringId,
      controlMode: ownerLocks.controlMode,
      sealed: ownerLocks.sealed,
    })
    .from(ownerLocks)
    .innerJoin(keyrings, eq(keyrings.id, ownerLocks.keyringId))
    .where(
      and(
        input.projectId === null ? undefined : eq(keyrings.projectId, input.projectId),
        input.after === null ? undefined : gt(ownerLocks.id, input.after),
      ),
    )
    .orderBy(asc(ownerLocks.id))
    .limit(input.limit)

/** Keyrings after `after`, in the order of their ids. */
export const pageOfKeyrings = (
  db: Queryable,
  input: OfProject & { readonly after: string | null; readonly limit: number },
) =>
  db
    .select({
      id: keyrings.id,
      projectId: keyrings.projectId,
      kind: keyrings.kind,
      /** Of its owner locks. */
      controlModes: sql<
        ControlMode[]
      >`array(select l.control_mode from owner_locks l where l.keyring_id = keyrings.id)`,
      sealed: keyrings.sealed,
    })
    .from(keyrings)
    .where(
      and(
        input.projectId === null ? undefined : eq(keyrings.projectId, input.projectId),
        input.after === null ? undefined : gt(keyrings.id, input.after),
      ),
    )
    .orderBy(asc(keyrings.id))
    .limit(input.limit)

type MissingLock = { readonly keyringId: string; readonly projectId: string; readonly controlMode: ControlMode }

/** The locks that the audit tells of, and that are gone. */
export const missingOwnerLocks = async (db: Queryable, of: OfProject): Promise<readonly MissingLock[]> => {
  const { rows } = await db.execute<MissingLock>(sql`
    select distinct a.project_id as "projectId", a.details->>'keyring_id' as "keyringId", a.details->>'control_mode' as "controlMode"
    from audit a
    where a.action in ('wallet_created', 'wallet_imported', 'control_shared')
      and a.project_id = coalesce(${of.projectId}::uuid, a.project_id)
      and not exists (select from owner_locks o
        where o.keyring_id::text = a.details->>'keyring_id' and o.control_mode = a.details->>'control_mode')
    order by 2, 3`)
  return [...rows]
}
