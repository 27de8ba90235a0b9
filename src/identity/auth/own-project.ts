import type { HasDb } from '../../../db/client.ts'
import { findProject, type Project } from '../../../db/queries/projects.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { HasSecurityEvents } from '../security-events.ts'
import { isOurs, projectMac } from './row-macs.ts'

type ProjectCtx = HasDb & HasIdentity & HasSecurityEvents

/**
 * A project whose settings decide something: which pages may call, and who may log in there.
 * @returns null if there is none, or if its settings are not as we wrote them.
 */
export const findOwnProject = async (ctx: ProjectCtx, id: string): Promise<Project | null> => {
  const row = await findProject(ctx.db, id)
  return row !== null && isOurs(ctx, projectMac(ctx.identity), { ...row, projectId: id }) ? row : null
}
