import { findProject } from '../../db/queries/projects.ts'
import { type SessionRow, listSessions as selectSessions } from '../../db/queries/sessions.ts'
import type { WorkerCtx } from '../context.ts'
import { noSuchProject } from '../errors.ts'

/** More are not shown at once. */
export const LISTED_MAX = 1_000

/** Sessions of a project or of one of its users, newest first; ended ones too. For operators. @throws not_found */
export const listSessions = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: { readonly projectId: string; readonly userId?: string },
): Promise<readonly SessionRow[]> => {
  if ((await findProject(ctx.db, input.projectId)) === null) throw noSuchProject()
  return selectSessions(ctx.db, { ...input, limit: LISTED_MAX })
}
