import { randomUUID } from 'node:crypto'
import { projectOf } from '../../db/queries/projects.ts'
import { ensureUser } from '../../db/queries/users.ts'
import type { Asked } from '../auth/plugin.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { beginLimit } from './limits.ts'
import { beginSession, type OpenSession, withTokens } from './session.ts'

/**
 * Creates a user without any proof. Only this session can act for them until they add an e-mail address or a passkey.
 */
export const loginAnonymously = async (ctx: Ctx, asked: Asked): Promise<OpenSession> => {
  await throttle(ctx, [beginLimit(ctx, asked, 'anonymous')])
  const { projectId, asker } = asked
  const project = await projectOf(ctx.db, asked)
  if (!project.anonymousLogin) {
    throw new AppError(
      'anonymous_login_off',
      'This project does not allow anonymous logins: log in with an e-mail address, a wallet or a passkey.',
    )
  }
  const row = await ctx.db.transaction(async (tx) => {
    const userId = await ensureUser(tx, { id: randomUUID(), projectId })
    return beginSession(ctx, tx, { projectId, userId, way: 'anonymous', asker, authenticatedAt: null })
  })
  return withTokens(ctx, row)
}
