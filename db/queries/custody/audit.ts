import type { Db, Tx } from '../../client.ts'
import { audit } from '../../schema.ts'

export type AuditRow = Omit<typeof audit.$inferInsert, 'id'>

/** A row that JSON can hold. */
export const auditJson = (row: AuditRow) => ({ ...row, mac: Buffer.from(row.mac).toString('hex') })

/** The rows as a parameter for `jsonb_to_recordset`. */
export const textOf = (rows: readonly AuditRow[]): string => JSON.stringify(rows.map(auditJson))

/** Writes rows in their order. */
export const insertAuditRows = async (tx: Tx, rows: readonly AuditRow[]): Promise<void> => {
  await tx.insert(audit).values([...rows])
}

/** Commits rows in their order, as one prepared statement whose text is the same for any number of them. */
export const commitAuditRows = async (db: Db, rows: readonly AuditRow[]): Promise<void> => {
  await db.prepared`
    insert into public.audit (project_id, at, actor, action, subject, details, mac)
    select r."projectId", r.at, r.actor, r.action, r.subject, r.details, decode(r.mac, 'hex')
    from jsonb_to_recordset(${textOf(rows)}::text::jsonb) as r(
      "projectId" uuid, at timestamptz, actor text, action text, subject text, details jsonb, mac text)`
}
