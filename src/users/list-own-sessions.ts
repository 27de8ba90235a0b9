import { listLiveSessionsOf } from '../../db/queries/sessions.ts'
import type { UserCaller } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import { LISTED_MAX } from './list-sessions.ts'
import type { OwnSession } from './session-schema.ts'

/** A user's own sessions that go on, newest first. Nothing of them can be used to be somebody. */
export const listOwnSessions = async (
  ctx: Pick<Ctx, 'db'>,
  { projectId, userId, sessionId }: UserCaller,
): Promise<OwnSession[]> =>
  (await listLiveSessionsOf(ctx.db, { projectId, userId, limit: LISTED_MAX })).map((row) => ({
    id: row.id,
    current: row.id === sessionId,
    way: row.way,
    created_at: row.createdAt.toISOString(),
    last_refreshed_at: row.refreshedAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    address: row.askerAddress,
    device: row.askerDevice,
  }))
