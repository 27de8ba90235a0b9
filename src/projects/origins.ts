import { findProject, setAllowedOrigins as update } from '../../db/queries/projects.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError, noSuchProject } from '../errors.ts'
import { UUID } from '../uuid.ts'

/** A scheme, a host and perhaps a port: what a browser sends as `Origin`. */
const isOrigin = (text: string): boolean => URL.canParse(text) && new URL(text).origin === text

/**
 * Sets from which pages browsers may call on behalf of a project; the earlier list is replaced. The audit has both lists.
 * For operators. @throws invalid_input, not_found.
 */
export const setAllowedOrigins = async (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: { readonly projectId: string; readonly origins: readonly string[] },
): Promise<void> => {
  const { projectId, origins } = input
  if (!origins.every(isOrigin)) {
    throw new AppError('invalid_input', 'Each origin must be like https://app.example.com, without a path.')
  }
  if (!UUID.test(projectId)) throw noSuchProject()
  await ctx.db.transaction(async (tx) => {
    const project = await findProject(tx, projectId)
    if (project === null) throw noSuchProject()
    await update(tx, input)
    const details = { origins: origins.join(' '), before: project.allowedOrigins.join(' ') }
    await ctx.audit.record(tx, { projectId, actor: 'operator', action: 'origins_changed', subject: projectId, details })
  })
}
