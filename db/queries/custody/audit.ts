import type { Db, Tx } from '../../client.ts'
import { audit } from '../../schema.ts'
import { NotWritten } from '../../written.ts'

export type AuditRow = Omit<typeof audit.$inferInsert, 'id'>

/** A row that JSON can hold. */
export const auditJson = (row: AuditRow) => ({ ...row, mac: Buffer.from(row.mac).toString('hex') })

/** The rows as a parameter for `jsonb_to_recordset`. */
export const textOf = (rows: readonly AuditRow[]): string => JSON.stringify(rows.map(auditJson))

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Compares the MACs of the rows that were written, each of which covers its row. @throws NotWritten */
export const requireAuditMacs = (rows: readonly AuditRow[], returned: readonly string[]): void => {
  const written = new Set(returned)
  if (!rows.every(({ mac }) => written.has(hexOf(mac)))) throw new NotWritten('audit')
}

/** Writes rows in their order. @throws NotWritten */
export const insertAuditRows = async (tx: Tx, rows: readonly AuditRow[]): Promise<void> => {
  const written = await tx
    .insert(audit)
    .values([...rows])
    .returning({ mac: audit.mac })
  requireAuditMacs(
    rows,
    written.map(({ mac }) => hexOf(mac)),
  )
}

/**
 * Commits rows in their order, as one prepared statement whose text is the same for any number of them.
 * @throws NotWritten though some rows may be committed: what they tell of must not happen.
 */
export const commitAuditRows = async (db: Db, rows: readonly AuditRow[]): Promise<void> => {
  const written = await db.prepared<{ readonly mac: string }>`
    insert into public.audit (project_id, at, actor, action, subject, details, mac)
    select r."projectId", r.at, r.actor, r.action, r.subject, r.details, decode(r.mac, 'hex')
    from jsonb_to_recordset(${textOf(rows)}::text::jsonb) as r(
      "projectId" uuid, at timestamptz, actor text, action text, subject text, details jsonb, mac text)
    returning encode(mac, 'hex') as mac`
  requireAuditMacs(
    rows,
    written.map(({ mac }) => mac),
  )
}
