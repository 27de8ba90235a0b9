import { randomUUID } from 'node:crypto'
import type { Tx } from '../../db/client.ts'
import { insertSession, type SessionRow } from '../../db/queries/sessions.ts'
import { readUserFacts } from '../../db/queries/users.ts'
import type { LoginWay } from '../../db/words.ts'
import type { Ctx } from '../context.ts'
import type { Asker } from '../http/peer.ts'
import { refreshTokenOf } from './refresh-secret.ts'

/** A refresh token is good for this long, and its successor again. */
export const REFRESH_SECONDS = 30 * 86_400

/** What the first device gets: the row, and the tokens that follow from it. */
export type OpenSession = {
  readonly row: SessionRow
  readonly accessToken: string
  readonly accessTokenExpiresAt: Date
  readonly refreshToken: string
}

export const beginSession = (
  tx: Tx,
  input: { readonly projectId: string; readonly userId: string; readonly way: LoginWay; readonly asker: Asker },
): Promise<SessionRow> =>
  insertSession(tx, {
    id: randomUUID(),
    projectId: input.projectId,
    userId: input.userId,
    way: input.way,
    askerAddress: input.asker.address,
    askerDevice: input.asker.device,
    lifetimeSeconds: REFRESH_SECONDS,
  })

/** The tokens of a session as it is now; what the access token tells of the user is read anew. */
export const withTokens = async (
  ctx: Pick<Ctx, 'db' | 'identity' | 'tokens'>,
  row: SessionRow,
): Promise<OpenSession> => {
  const user = await readUserFacts(ctx.db, { projectId: row.projectId, id: row.userId })
  if (user === null) throw new Error('a session is of a user')
  const { token, expiresAt } = await ctx.tokens.issue({
    projectId: row.projectId,
    userId: row.userId,
    sessionId: row.id,
    email: user.email,
    hasPasskeys: user.hasPasskeys,
    signInWallet: user.signInWallet,
  })
  const refreshToken = refreshTokenOf(ctx.identity, row)
  return { row, accessToken: token, accessTokenExpiresAt: expiresAt, refreshToken }
}
