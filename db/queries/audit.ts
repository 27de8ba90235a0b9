import type { Queryable } from '../client.ts'
import { audit } from '../schema.ts'

export type AuditRow = Omit<typeof audit.$inferInsert, 'id'>

export const insertAuditRows = async (db: Queryable, rows: readonly AuditRow[]): Promise<void> => {
  await db.insert(audit).values([...rows])
}
