// Users, each with a MAC over their e-mail address and wallet. A user whose row is not as we wrote it cannot log in, and has no
// session.

import type { HasDb, Queryable, Tx } from '../../../db/client.ts'
import { ensureUser as ensure, readUserFacts, type UserFacts, type UserRow } from '../../../db/queries/users.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { UserCaller } from '../auth/caller.ts'
import { isOurs, userMac } from '../auth/row-macs.ts'
import type { HasSecurityEvents } from '../security-events.ts'

type UserCtx = HasDb & HasIdentity & HasSecurityEvents

type Proven = { readonly email: string } | { readonly signInWallet: string } | null

/**
 * Makes a user after their first proof, unless they exist.
 * @param input.by null for a user without a proof.
 * @returns the id of the new or the existing user, whose row is not checked.
 */
export const ensureUser = (
  { identity }: HasIdentity,
  tx: Tx,
  input: { readonly id: string; readonly projectId: string; readonly by: Proven },
): Promise<string> => {
  const { id, projectId, by } = input
  const user = {
    id,
    projectId,
    email: null,
    signInWallet: null,
    issuer: null,
    subject: null,
    tokensFrom: null,
    keptToken: null,
    ...by,
  }
  return ensure(tx, { ...user, mac: userMac(identity).of(user) })
}

export const isOurUser = (ctx: UserCtx, user: UserRow): boolean => isOurs(ctx, userMac(ctx.identity), user)

/** The user of a session. @throws session_ended if their row is not as we wrote it. */
export const readCaller = async (
  ctx: UserCtx,
  db: Queryable,
  { projectId, userId }: UserCaller,
): Promise<UserFacts> => {
  const user = await readUserFacts(db, { projectId, id: userId })
  if (isOurUser(ctx, user)) return user
  throw new AppError('session_ended', 'The session has ended; log in again.')
}
