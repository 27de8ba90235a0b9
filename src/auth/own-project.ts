import { findProject, type Project } from '../../db/queries/projects.ts'
import type { Ctx } from '../context.ts'
import { isOurs, projectMac } from './row-macs.ts'

type ProjectCtx = Pick<Ctx, 'db' | 'identity' | 'securityEvents'>

/**
 * A project whose settings decide something: which pages may call, and who may log in there.
 * @returns null if there is none, or if its settings are not as we wrote them.
 */
export const findOwnProject = async (ctx: ProjectCtx, id: string): Promise<Project | null> => {
  const row = await findProject(ctx.db, id)
  return row !== null && isOurs(ctx, projectMac(ctx.identity), { ...row, projectId: id }) ? row : null
}
