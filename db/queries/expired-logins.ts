// What is over of logins and sessions: nothing looks at it any more, whether or not its row is still there.

import { sql } from 'drizzle-orm'
import type { Db } from '../client.ts'
import { emailCodes, nonces, sessionChallenges, sessions, throttles } from '../schema.ts'

/** Ended sessions are kept for so long, for whoever asks what happened. */
const SESSION_DAYS = 90

/** @returns how many rows were dropped. */
export const dropExpiredLogins = async (db: Db): Promise<number> => {
  let dropped = 0
  for (const table of [emailCodes, nonces]) {
    dropped += (await db.delete(table).where(sql`${table.expiresAt} < now()`).returning({ one: sql`1` })).length
  }
  // What a challenge came to is told for a while.
  const challenges = sql`${sessionChallenges.expiresAt} < now() - interval '1 hour'`
  dropped += (await db.delete(sessionChallenges).where(challenges).returning({ one: sql`1` })).length
  dropped += (await db.delete(throttles).where(sql`${throttles.windowEndsAt} < now()`).returning({ one: sql`1` }))
    .length
  const over = sql`least(${sessions.endedAt}, ${sessions.expiresAt}) < now() - make_interval(days => ${SESSION_DAYS})`
  dropped += (await db.delete(sessions).where(over).returning({ one: sql`1` })).length
  return dropped
}
