import { listPasskeys } from '../../db/queries/passkeys.ts'
import { findUser, type UserRow } from '../../db/queries/users.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'

/** A user and how many passkeys they have. For operators. @throws not_found */
export const showUser = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: { readonly projectId: string; readonly userId: string },
): Promise<UserRow & { readonly passkeys: number }> => {
  const user = await findUser(ctx.db, { projectId: input.projectId, by: { id: input.userId } })
  if (user === null) throw new AppError('not_found', 'The project has no user with this id.')
  return { ...user, passkeys: (await listPasskeys(ctx.db, input)).length }
}
