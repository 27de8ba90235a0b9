// The audit rows of a journal, compared with the table.

import { type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { audit } from '../../schema.ts'
import { ARCHIVED_ACTIONS } from '../../words.ts'
import type { AuditRow } from './audit.ts'
import { isArchived } from './audit-archive.ts'

/** An audit row as `auditJson` makes it, and JSON then writes it. */
export type AuditJson = Omit<AuditRow, 'at' | 'mac'> & { readonly at: Date | string; readonly mac: string }

/** The range of the times of audit rows, as an index finds it; each time alone would read the whole audit. */
const rangeOf = (rows: readonly AuditJson[]): SQL => {
  const times = rows.map(({ at }) => new Date(at).toISOString()).toSorted()
  return sql`a.at between ${times[0]}::timestamptz and ${times.at(-1)}::timestamptz`
}

/** Those of some audit rows that are missing and were not archived, as a table `r`. */
const missingOf = (rows: readonly AuditJson[]): SQL => sql`
  from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(
    "projectId" uuid, at timestamptz, actor text, action text, subject text, details jsonb, mac text)
  where not exists (select from ${audit} a where ${rangeOf(rows)} and a.at = r.at and a.mac = decode(r.mac, 'hex'))
    and not (r.action = any(${sql.param([...ARCHIVED_ACTIONS])}::text[])
      and ${isArchived({ projectId: sql`r."projectId"`, at: sql`r.at` })})`

/** Writes audit rows that are missing and were not archived. @returns how many. */
export const applyAudit = async (tx: Tx, rows: readonly AuditJson[]): Promise<number> => {
  if (rows.length === 0) return 0
  const { rowCount } = await tx.execute(sql`
    insert into ${audit} (project_id, at, actor, action, subject, details, mac)
    select r."projectId", r.at, r.actor, r.action, r.subject, r.details, decode(r.mac, 'hex') ${missingOf(rows)}`)
  return rowCount ?? 0
}

export type MissingAudit = Pick<AuditRow, 'action' | 'subject'> & {
  readonly projectId: string | null
  /** ISO 8601. */
  readonly at: string
}

/** Those of some audit rows that are missing and were not archived. */
export const missingAudit = async (db: Queryable, rows: readonly AuditJson[]): Promise<readonly MissingAudit[]> => {
  if (rows.length === 0) return []
  const { rows: missing } = await db.execute<{ readonly [Name in keyof MissingAudit]: MissingAudit[Name] }>(sql`
    select r."projectId", r.action, r.subject, to_char(r.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at
    ${missingOf(rows)}`)
  return [...missing]
}
