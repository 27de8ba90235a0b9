import { findProject } from '../../db/queries/projects.ts'
import { listUsers as selectUsers, type UserRow } from '../../db/queries/users.ts'
import type { WorkerCtx } from '../context.ts'
import { noSuchProject } from '../errors.ts'
import { LISTED_MAX } from './list-sessions.ts'

/** A project's users, newest first. For operators. @throws not_found */
export const listUsers = async (ctx: Pick<WorkerCtx, 'db'>, projectId: string): Promise<readonly UserRow[]> => {
  if ((await findProject(ctx.db, projectId)) === null) throw noSuchProject()
  return selectUsers(ctx.db, { projectId, limit: LISTED_MAX })
}
