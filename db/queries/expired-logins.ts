// What is over of logins and sessions: nothing looks at it any more, whether or not its row is still there.

import { sql } from 'drizzle-orm'
import type { Db } from '../client.ts'
import { emailCodes, nonces, sessionChallenges, sessions, throttles, users } from '../schema.ts'

/** Sessions are kept for so long after they expired, for whoever asks what happened. */
const SESSION_DAYS = 90

/** Who came without a proof, never brought one, has nothing, and no session to come back with. */
const isUnreachable = sql`${users.email} is null and ${users.signInWallet} is null
  and not exists (select from public.passkeys p where p.project_id = ${users.projectId} and p.user_id = ${users.id})
  and not exists (select from public.sessions s where s.project_id = ${users.projectId} and s.user_id = ${users.id})
  and not exists (select from public.wallets w where w.project_id = ${users.projectId} and w.owner_id = ${users.id}::text)`

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
  const over = sql`now() - make_interval(days => ${SESSION_DAYS})`
  dropped += (await db.delete(sessions).where(sql`${sessions.expiresAt} < ${over}`).returning({ one: sql`1` })).length
  dropped += (
    await db.delete(users).where(sql`${isUnreachable} and ${users.createdAt} < ${over}`).returning({ one: sql`1` })
  ).length
  return dropped
}
