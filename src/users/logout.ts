import { endSession } from '../../db/queries/sessions.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'

/**
 * Ends the session of an access token, at once and on every process. A token that has expired, or whose session has ended
 * already, is as good: whoever logs out wants to be out.
 * @throws user_session_required for an API key, unauthorized, project_mismatch.
 */
export const logout = async (
  ctx: Pick<Ctx, 'db' | 'tokens'>,
  input: { readonly projectId: string; readonly bearer: string },
): Promise<void> => {
  if (input.bearer.startsWith('sk_')) {
    throw new AppError('user_session_required', 'This call takes the access token of a user, not an API key.')
  }
  const token = input.bearer === '' ? null : await ctx.tokens.verify(input.bearer)
  if (token === null) {
    throw new AppError('unauthorized', 'The header Authorization must be "Bearer " and an access token.')
  }
  if (token.projectId !== input.projectId) {
    throw new AppError('project_mismatch', 'The access token is of another project than the header names.')
  }
  const { projectId, userId, sessionId: id } = token
  await endSession(ctx.db, { session: { id, projectId, userId }, by: 'logout' })
}
