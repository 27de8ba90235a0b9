import { type AuditRecord, listAuditRows } from '../../db/queries/audit-chain.ts'
import { findProject } from '../../db/queries/projects.ts'
import type { WorkerCtx } from '../context.ts'
import { noSuchProject } from '../errors.ts'

/** The newest audit rows of a project, newest first. For operators. @throws not_found */
export const listAudit = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: { readonly projectId: string; readonly limit: number },
): Promise<readonly AuditRecord[]> => {
  if ((await findProject(ctx.db, input.projectId)) === null) throw noSuchProject()
  return listAuditRows(ctx.db, { chain: input.projectId, limit: input.limit })
}
