import type { HasDb, Tx } from '../../../db/client.ts'
import { readPresent } from '../../../db/queries/server.ts'
import { endCompletedChallenges } from '../../../db/queries/session-challenges.ts'
import { endSession, endSessionsOf, findSession, sessionExists } from '../../../db/queries/sessions.ts'
import { findUser, lockUser, setTokensFrom, type UserRow } from '../../../db/queries/users.ts'
import type { SessionEnd } from '../../../db/words.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { actorOf, type UserCaller } from '../auth/caller.ts'
import { userMac } from '../auth/row-macs.ts'
import { type IssuerToken, isEndedToken } from '../issuers/verify-token.ts'

type EndingCtx = HasAudit & HasIdentity

/** The end of a session in the audit, so that `audit verify` names a session that an attacker revives. */
export const recordEnd = (
  ctx: HasAudit,
  tx: Tx,
  session: { readonly projectId: string; readonly userId: string; readonly id: string; readonly actor: string },
): Promise<void> => {
  const { projectId, userId, id, actor } = session
  const details = { user_id: userId }
  return ctx.audit.record(tx, { projectId, actor, action: 'session_revoked', subject: id, details })
}

const laterOf = (a: Date, b: Date | null): Date => (b === null || a > b ? a : b)

/** The tokens that the issuer made until now end, except the caller's. A forged row admits no caller, and stays. */
const endIssuerTokens = async (
  ctx: EndingCtx,
  tx: Tx,
  { user, issuerToken, actor }: { user: UserRow; issuerToken: IssuerToken | undefined; actor: string },
): Promise<void> => {
  const macs = userMac(ctx.identity)
  if (user.issuer === null || !macs.holds(user)) return
  const tokensFrom = laterOf(await readPresent(tx), user.tokensFrom)
  // The caller's may have been ended since it was admitted.
  const keptToken = issuerToken === undefined || isEndedToken(user, issuerToken) ? null : issuerToken.hash
  const { id, projectId } = user
  await setTokensFrom(tx, { id, projectId, tokensFrom, keptToken, mac: macs.of({ ...user, tokensFrom, keptToken }) })
  const details = { from: tokensFrom.toISOString() }
  await ctx.audit.record(tx, { projectId, actor, action: 'issuer_tokens_ended', subject: id, details })
}

/**
 * Also ends the tokens of the user's issuer, and the completed challenges without a session: a thief could have
 * completed one. Every process refuses the tokens from the next request on. @returns how many sessions ended.
 */
export const endSessions = async (
  ctx: EndingCtx,
  tx: Tx,
  input: {
    readonly projectId: string
    readonly userId: string
    /** The session to keep, or null for none. */
    readonly except: string | null
    /** Of the caller, if it is of their issuer: it goes on. */
    readonly issuerToken?: IssuerToken | undefined
    readonly by: SessionEnd
    readonly actor: string
  },
): Promise<number> => {
  const { projectId, userId, actor, issuerToken } = input
  const user = await lockUser(tx, input)
  const live = await endSessionsOf(tx, input)
  // From now on no other challenge is completed. This waits for those of which a session is being made, and the last
  // step ends these.
  await endCompletedChallenges(tx, input)
  const ended = [...live, ...(await endSessionsOf(tx, input))]
  if (user !== null) await endIssuerTokens(ctx, tx, { user, issuerToken, actor })
  for (const { id } of ended) await recordEnd(ctx, tx, { projectId, userId, id, actor })
  return ended.length
}

type EndCtx = EndingCtx & HasDb

const endOne = async (ctx: EndCtx, tx: Tx, caller: UserCaller, id: string): Promise<number> => {
  const { projectId, userId } = caller
  const session = { id, projectId, userId }
  if ((await findSession(tx, session)) === null) throw notFound('session')
  const row = await endSession(tx, { session, by: id === caller.sessionId ? 'logout' : 'user' })
  // We do not know which session completed a challenge, so we end all of them.
  await endCompletedChallenges(tx, caller)
  if (row === null) return 0
  await recordEnd(ctx, tx, { ...session, actor: actorOf(caller) })
  return 1
}

/**
 * Requires no fresh login, so that a user can react quickly to a theft. Idempotent. @returns how many sessions ended.
 * @throws not_found for an unknown session and for another user's.
 */
export const endOwnSessions = (
  ctx: EndCtx,
  caller: UserCaller,
  input: { readonly sessionId: string | null },
): Promise<number> =>
  ctx.db.transaction((tx) =>
    input.sessionId === null
      ? endSessions(ctx, tx, { ...caller, except: caller.sessionId, by: 'user', actor: actorOf(caller) })
      : endOne(ctx, tx, caller, input.sessionId),
  )

type Which = { readonly sessionId: string } | { readonly projectId: string; readonly userId: string }

const requireExists = async (ctx: EndCtx, which: Which): Promise<void> => {
  if ('sessionId' in which) {
    if (await sessionExists(ctx.db, which.sessionId)) return
    throw new AppError('not_found', 'There is no session with this id.')
  }
  if ((await findUser(ctx.db, { projectId: which.projectId, by: { id: which.userId } })) === null) {
    throw new AppError('not_found', 'The project has no user with this id.')
  }
}

/** Idempotent. @returns how many sessions ended. */
export const revokeSessions = async (
  ctx: EndCtx,
  input: { readonly which: Which; readonly actor: string },
): Promise<number> => {
  const { which, actor } = input
  await requireExists(ctx, which)
  return ctx.db.transaction(async (tx) => {
    if ('userId' in which) return endSessions(ctx, tx, { ...which, except: null, by: 'operator', actor })
    const ended = await endSession(tx, { session: { id: which.sessionId }, by: 'operator' })
    if (ended === null) return 0
    await recordEnd(ctx, tx, { ...ended, actor })
    return 1
  })
}
