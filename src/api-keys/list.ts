import { type ApiKeyRow, listApiKeys as selectApiKeys } from '../../db/queries/api-keys.ts'
import { findProject } from '../../db/queries/projects.ts'
import type { WorkerCtx } from '../context.ts'
import { noSuchProject } from '../errors.ts'

/** A project's API keys, oldest first; revoked and expired ones too. @throws not_found */
export const listApiKeys = async (ctx: Pick<WorkerCtx, 'db'>, projectId: string): Promise<readonly ApiKeyRow[]> => {
  if ((await findProject(ctx.db, projectId)) === null) throw noSuchProject()
  return selectApiKeys(ctx.db, projectId)
}
