// The audit's checkpoints, and what lies before them.

import { and, asc, eq, type SQL, sql } from 'drizzle-orm'
import type { Db, Queryable } from '../../client.ts'
import { auditChain, auditCheckpoints } from '../../schema.ts'

export type Checkpoint = Omit<typeof auditCheckpoints.$inferSelect, 'createdAt'>

/** By chain and position. @param of.chain null: of all chains. */
export const listCheckpoints = async (
  db: Queryable,
  of: { readonly chain: string | null },
): Promise<readonly Checkpoint[]> =>
  db
    .select()
    .from(auditCheckpoints)
    .where(of.chain === null ? undefined : eq(auditCheckpoints.chain, of.chain))
    .orderBy(asc(auditCheckpoints.chain), asc(auditCheckpoints.position))

export const insertCheckpoint = async (db: Queryable, checkpoint: Checkpoint): Promise<void> => {
  await db.insert(auditCheckpoints).values(checkpoint)
}

/**
 * The last position of a chain up to which all rows are older than `before`, without the chain's last link, which later ones
 * continue. Not above `after` if there is nothing to archive.
 */
export const lastOldPosition = async (
  db: Queryable,
  of: { readonly chain: string; readonly after: bigint; readonly before: Date },
): Promise<bigint> => {
  const ofChain = and(eq(auditChain.chain, of.chain), sql`${auditChain.position} > ${String(of.after)}::bigint`)
  const { rows } = await db.execute<{ readonly position: string | null }>(sql`
    select least(
      (select max(position) from ${auditChain} where ${ofChain}),
      (select position from ${auditChain} join public.audit a on a.id = audit_id
        where ${ofChain} and a.at >= ${of.before.toISOString()}::timestamptz order by position limit 1)
    ) - 1 as position`)
  return BigInt(rows[0]?.position ?? of.after)
}

/** Deletes archived links and their rows, as far as a checkpoint covers them (db/grants.ts). @returns how many. */
export const dropArchivedRows = async (
  db: Db,
  of: { readonly chain: string; readonly ids: readonly bigint[] },
): Promise<number> => {
  const ids = sql.param(of.ids.map(String))
  const { rows } = await db.execute<{ readonly dropped: number }>(
    sql`select public.strongroom_drop_archived(${of.chain}, ${ids}::bigint[]) as dropped`,
  )
  return rows[0]?.dropped ?? 0
}

/** A condition: a row was archived, as a checkpoint of its chain says. @param of.isArchivable the row's action may be archived. */
export const isArchived = (of: { readonly projectId: SQL; readonly at: SQL }): SQL => sql`exists (
  select from ${auditCheckpoints} c where c.chain = coalesce(${of.projectId}::text, 'deployment') and ${of.at} < c.before)`
