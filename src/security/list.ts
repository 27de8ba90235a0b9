import { type AuditRecord, listSecurityRows } from '../../db/queries/audit-chain.ts'
import { findProject } from '../../db/queries/projects.ts'
import type { SecurityEventKind } from '../../db/words.ts'
import type { WorkerCtx } from '../context.ts'
import { noSuchProject } from '../errors.ts'

/** The newest security events, newest first: of all projects, or of one. For operators. @throws not_found */
export const listSecurityEvents = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: { readonly projectId: string | null; readonly kind: SecurityEventKind | null; readonly limit: number },
): Promise<readonly AuditRecord[]> => {
  const { projectId } = input
  if (projectId !== null && (await findProject(ctx.db, projectId)) === null) throw noSuchProject()
  return listSecurityRows(ctx.db, input)
}
