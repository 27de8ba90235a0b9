import { randomUUID } from 'node:crypto'
import { ensureUser } from '../../db/queries/users.ts'
import type { Visitor } from '../auth/plugin.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { beginLimit } from './limits.ts'
import { beginSession, type OpenSession, withTokens } from './session.ts'

/** Creates a user without any proof. Only this session can act for them until they add an e-mail address or a passkey. */
export const loginAnonymously = async (ctx: Ctx, visitor: Visitor): Promise<OpenSession> => {
  await throttle(ctx, [beginLimit(ctx, visitor, 'anonymous')])
  const { project, projectId, client } = visitor
  if (!project.anonymousLogin) {
    throw new AppError(
      'anonymous_login_off',
      'This project does not allow anonymous logins: log in with an e-mail address, a wallet or a passkey.',
    )
  }
  const row = await ctx.db.transaction(async (tx) => {
    const userId = await ensureUser(tx, { id: randomUUID(), projectId })
    return beginSession(ctx, tx, { projectId, userId, way: 'anonymous', client, authenticatedAt: null })
  })
  return withTokens(ctx, row)
}
