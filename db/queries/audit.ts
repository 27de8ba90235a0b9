import { sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { audit } from '../schema.ts'

export type AuditRow = Omit<typeof audit.$inferInsert, 'id'>

/** Writes rows in their order, as one statement whose text is the same for any number of them: it is planned once. */
export const insertAuditRows = async (db: Queryable, rows: readonly AuditRow[]): Promise<void> => {
  const text = JSON.stringify(rows.map((row) => ({ ...row, mac: Buffer.from(row.mac).toString('hex') })))
  await db.execute(sql`
    insert into ${audit} (project_id, at, actor, action, subject, details, mac)
    select r."projectId", r.at, r.actor, r.action, r.subject, r.details, decode(r.mac, 'hex')
    from jsonb_to_recordset(${text}::text::jsonb) as r(
      "projectId" uuid, at timestamptz, actor text, action text, subject text, details jsonb, mac text)`)
}
