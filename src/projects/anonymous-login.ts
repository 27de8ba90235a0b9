import { findProject, setAnonymousLogin as store } from '../../db/queries/projects.ts'
import type { WorkerCtx } from '../context.ts'
import { noSuchProject } from '../errors.ts'

type Switch = 'on' | 'off'

/**
 * Lets anybody begin as a new user of a project without a proof, or no longer. Users who came so before stay, with the
 * sessions that they have. The audit has what it was and what it is. For operators. @throws not_found
 */
export const setAnonymousLogin = async (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: { readonly projectId: string; readonly anonymousLogin: Switch },
): Promise<void> => {
  const { projectId, anonymousLogin } = input
  await ctx.db.transaction(async (tx) => {
    const project = await findProject(tx, projectId)
    if (project === null) throw noSuchProject()
    await store(tx, { projectId, isOn: anonymousLogin === 'on' })
    const before: Switch = project.anonymousLogin ? 'on' : 'off'
    const details = { anonymous_login: anonymousLogin, before }
    const act = {
      projectId,
      actor: 'operator',
      action: 'anonymous_login_changed',
      subject: projectId,
      details,
    } as const
    await ctx.audit.record(tx, act)
  })
}
