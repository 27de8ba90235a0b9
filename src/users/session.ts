import { randomUUID } from 'node:crypto'
import type { Tx } from '../../db/client.ts'
import { insertSession, type SessionLifetimes, type SessionRow } from '../../db/queries/sessions.ts'
import { readUserFacts } from '../../db/queries/users.ts'
import type { LoginWay } from '../../db/words.ts'
import type { Ctx } from '../context.ts'
import type { Asker } from '../http/peer.ts'
import { refreshTokenOf } from './refresh-secret.ts'

const DAY_SECONDS = 86_400
const REFRESH_SECONDS = 30 * DAY_SECONDS

/** A refresh token is good for 30 days, and its successor again, until the session's time is over. */
export const lifetimesOf = ({ config }: Pick<Ctx, 'config'>): SessionLifetimes => ({
  refreshSeconds: REFRESH_SECONDS,
  sessionSeconds: config.sessionDays * DAY_SECONDS,
})

/** What the first device gets: the row, and the tokens that follow from it. */
export type OpenSession = {
  readonly row: SessionRow
  readonly accessToken: string
  readonly accessTokenExpiresAt: Date
  readonly refreshToken: string
}

export const beginSession = (
  ctx: Pick<Ctx, 'config'>,
  tx: Tx,
  input: {
    readonly projectId: string
    readonly userId: string
    readonly way: LoginWay
    readonly asker: Asker
    /** When the user proved who they are; null: just now. */
    readonly authenticatedAt: Date | null
  },
): Promise<SessionRow> =>
  insertSession(tx, {
    id: randomUUID(),
    projectId: input.projectId,
    userId: input.userId,
    way: input.way,
    askerAddress: input.asker.address,
    askerDevice: input.asker.device,
    authenticatedAt: input.authenticatedAt,
    lifetimes: lifetimesOf(ctx),
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
    sessionExpiresAt: row.expiresAt,
    email: user.email,
    hasPasskeys: user.hasPasskeys,
    signInWallet: user.signInWallet,
  })
  const refreshToken = refreshTokenOf(ctx.identity, row)
  return { row, accessToken: token, accessTokenExpiresAt: expiresAt, refreshToken }
}
