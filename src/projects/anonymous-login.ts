import { setAnonymousLogin as store } from '../../db/queries/projects.ts'
import type { WorkerCtx } from '../context.ts'
import { noSuchProject } from '../errors.ts'

/**
 * Lets anybody begin as a new user of a project without a proof, or no longer. Users who came so before stay, with the
 * sessions that they have. @throws not_found
 */
export const setAnonymousLogin = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: { readonly projectId: string; readonly anonymousLogin: 'on' | 'off' },
): Promise<void> => {
  const { projectId, anonymousLogin } = input
  if (!(await store(ctx.db, { projectId, isOn: anonymousLogin === 'on' }))) throw noSuchProject()
}
