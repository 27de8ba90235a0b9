import { eq, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { delegateLists } from '../../schema.ts'
import type { RowImage } from './journal.ts'
import { proofOf, provenImage } from './proofs.ts'

export type DelegateListRow = Pick<typeof delegateLists.$inferSelect, 'projectId' | 'delegates' | 'version' | 'mac'>

const columns = {
  projectId: delegateLists.projectId,
  delegates: delegateLists.delegates,
  version: delegateLists.version,
  mac: delegateLists.mac,
}

/** null if a project never had a delegate. */
export const readDelegateList = async (db: Queryable, projectId: string): Promise<DelegateListRow | null> => {
  const [row] = await db.select(columns).from(delegateLists).where(eq(delegateLists.projectId, projectId))
  return row ?? null
}

/** All lists, or that of one project. */
export const listDelegateLists = (
  db: Queryable,
  { projectId }: { readonly projectId: string | null },
): Promise<readonly DelegateListRow[]> =>
  db
    .select(columns)
    .from(delegateLists)
    .where(projectId === null ? undefined : eq(delegateLists.projectId, projectId))
    .orderBy(delegateLists.projectId)

/**
 * Writes a list over the version before.
 * @param row.before null if there was none. @returns null if it has changed meanwhile. @throws NotWritten
 */
export const writeDelegateList = async (
  tx: Tx,
  { before, ...row }: DelegateListRow & { readonly before: number | null },
): Promise<RowImage | null> => {
  const { delegates, version, mac } = row
  const written = await tx
    .insert(delegateLists)
    .values(row)
    .onConflictDoUpdate({
      target: delegateLists.projectId,
      set: { delegates, version, mac, updatedAt: sql`now()` },
      setWhere: eq(delegateLists.version, before ?? 0),
    })
    .returning(proofOf(delegateLists, row))
  return provenImage(delegateLists, row, written)
}

/** The newest version of a project's list that the audit has; 0 if it has none. */
export const auditedListVersion = async (db: Queryable, projectId: string): Promise<number> => {
  const { rows } = await db.execute<{ readonly version: number }>(sql`
    select coalesce(max((a.details->>'list_version')::int), 0) as version from audit a
    where a.action = 'delegates_changed' and a.project_id = ${projectId}::uuid`)
  return rows[0]?.version ?? 0
}
