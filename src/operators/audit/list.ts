import type { HasDb } from '../../../db/client.ts'
import { type AuditRecord, listAuditRows } from '../../../db/queries/audit-rows.ts'
import { findProject } from '../../../db/queries/projects.ts'
import { noSuchProject } from '../../platform/errors.ts'

/** For operators: the newest audit rows of a project, newest first. */
export const listAudit = async (
  ctx: HasDb,
  input: { readonly projectId: string; readonly limit: number },
): Promise<readonly AuditRecord[]> => {
  if ((await findProject(ctx.db, input.projectId)) === null) throw noSuchProject()
  return listAuditRows(ctx.db, { chain: input.projectId, limit: input.limit })
}
