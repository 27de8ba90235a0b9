// The lists that a vault writes whole, each with a version and a MAC: what is frozen, and to which contracts wallets
// may delegate.

import { eq, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { eqIfGiven, firstRow, pickColumns, readValue } from '../../rows.ts'
import { delegateLists, freezeLists } from '../../schema.ts'
import { type FreezeListRow, freezeListColumns } from '../freezes.ts'
import type { RowImage } from './journal.ts'
import { upsertProven } from './proofs.ts'

const { id, mac } = freezeLists

/** A list, which stays so until the transaction ends. */
export const lockFreezeList = (tx: Tx, listId: string): Promise<FreezeListRow | null> =>
  firstRow(tx.select(freezeListColumns).from(freezeLists).where(eq(id, listId)).for('update'))

/** @param row.before the MAC of the list that it replaces. @returns null if nothing was written. @throws NotWritten */
export const writeFreezeList = (
  tx: Tx,
  { before, ...row }: FreezeListRow & { readonly before: Uint8Array | null },
): Promise<RowImage | null> =>
  upsertProven(tx, freezeLists, {
    row,
    target: id,
    set: { freezes: row.freezes, version: row.version, mac: row.mac, updatedAt: sql`now()` },
    setWhere: before === null ? sql`false` : eq(mac, before),
  })

export type DelegateListRow = Pick<typeof delegateLists.$inferSelect, 'projectId' | 'delegates' | 'version' | 'mac'>

const columns = pickColumns(delegateLists, 'projectId', 'delegates', 'version', 'mac')

/** null if a project never had a delegate. */
export const readDelegateList = (db: Queryable, projectId: string): Promise<DelegateListRow | null> =>
  firstRow(db.select(columns).from(delegateLists).where(eq(delegateLists.projectId, projectId)))

export const listDelegateLists = (
  db: Queryable,
  { projectId }: { readonly projectId: string | null },
): Promise<readonly DelegateListRow[]> =>
  db
    .select(columns)
    .from(delegateLists)
    .where(eqIfGiven(delegateLists.projectId, projectId))
    .orderBy(delegateLists.projectId)

/** @param row.before the version that it replaces; null: none. @returns null if that has changed. @throws NotWritten */
export const writeDelegateList = (
  tx: Tx,
  { before, ...row }: DelegateListRow & { readonly before: number | null },
): Promise<RowImage | null> =>
  upsertProven(tx, delegateLists, {
    row,
    target: delegateLists.projectId,
    set: { delegates: row.delegates, version: row.version, mac: row.mac, updatedAt: sql`now()` },
    setWhere: eq(delegateLists.version, before ?? 0),
  })

/** The newest version of a project's list that the audit has; 0 if it has none. */
export const auditedListVersion = async (db: Queryable, projectId: string) =>
  (await readValue<number>(db)`
    select coalesce(max((a.details->>'list_version')::int), 0) as version from audit a
    where a.action = 'delegates_changed' and a.project_id = ${projectId}::uuid`) ?? 0
