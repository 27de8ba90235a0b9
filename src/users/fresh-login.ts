// Who adds or removes a way in, or lets another device in, must have proven lately who they are: an access token alone, or
// one that was refreshed, does not show that the user is there. Otherwise a stolen token could add a passkey, remove the
// user's own, and so stay for good.

import type { Queryable } from '../../db/client.ts'
import { holdLiveSession } from '../../db/queries/sessions.ts'
import { readUserFacts } from '../../db/queries/users.ts'
import type { UserCaller } from '../auth/caller.ts'
import { AppError } from '../errors.ts'

/** How long a login counts as fresh. */
const FRESH_SECONDS = 600

const sessionEnded = (): AppError => new AppError('session_ended', 'The session has ended; log in again.')

const loginRequired = (): AppError =>
  new AppError('fresh_login_required', 'This takes a login of the last ten minutes: log in again, and then repeat it.')

const refreshRequired = (): AppError =>
  new AppError(
    'fresh_login_required',
    'This takes a session that was begun or refreshed in the last ten minutes: refresh it, and then repeat this.',
  )

/**
 * Requires that the caller's session comes from a login of the last ten minutes; whatever was refreshed meanwhile. A user who
 * came anonymously and has no way in yet cannot log in again: their refresh token is all that they have, so a refresh counts.
 * In a transaction the session does not end before it does.
 * @param input.begunSeconds how long a step that was begun by a fresh login may take to be finished.
 * @returns when the user proved who they are.
 * @throws fresh_login_required, session_ended.
 */
export const requireFreshLogin = async (
  db: Queryable,
  { projectId, userId, sessionId }: UserCaller,
  input: { readonly begunSeconds: number } = { begunSeconds: 0 },
): Promise<Date> => {
  const age = await holdLiveSession(db, { id: sessionId, projectId, userId })
  if (age === null) throw sessionEnded()
  const limit = FRESH_SECONDS + input.begunSeconds
  if (age.sinceProofSeconds <= limit) return age.authenticatedAt
  const user = await readUserFacts(db, { projectId, id: userId })
  if (user.email !== null || user.signInWallet !== null || user.hasPasskeys) throw loginRequired()
  if (age.sinceRefreshSeconds > limit) throw refreshRequired()
  return age.authenticatedAt
}
