import { randomUUID } from 'node:crypto'
import { ensureUser } from '../../db/queries/users.ts'
import type { Asked } from '../auth/plugin.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { beginsFrom } from './limits.ts'
import { beginSession, type OpenSession, withTokens } from './session.ts'

/** A new user without any proof: only this session reaches what is theirs, until they add an e-mail address or a passkey. */
export const loginAnonymously = async (ctx: Ctx, asked: Asked): Promise<OpenSession> => {
  await throttle(ctx, [beginsFrom(ctx, asked, 'anonymous')])
  const { projectId, asker } = asked
  const row = await ctx.db.transaction(async (tx) => {
    const userId = await ensureUser(tx, { id: randomUUID(), projectId })
    return beginSession(ctx, tx, { projectId, userId, way: 'anonymous', asker, authenticatedAt: null })
  })
  return withTokens(ctx, row)
}
