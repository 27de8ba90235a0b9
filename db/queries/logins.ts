// What is kept of logins while they last: the numbers that must come back signed, once, and the MACs of mailed codes, one live
// code a user and purpose. What is over is dropped: nothing looks at it any more, whether or not its row is still there.

import { and, eq, gt, lt, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { emailCodes, nonces, sessionChallenges, sessions, throttles, users } from '../schema.ts'
import type { EmailCodePurpose, NonceKind } from '../words.ts'

/** Of whom the answer must be (null: of anybody), and what must sign it or for which RP ID. */
type NonceTerms = { readonly userId: string | null; readonly target: string }

type NonceKey = { readonly projectId: string; readonly kind: NonceKind; readonly nonce: string }

export const insertNonce = async (
  db: Queryable,
  input: NonceKey & NonceTerms & { readonly lifetimeSeconds: number },
): Promise<void> => {
  const { lifetimeSeconds, ...values } = input
  await db.insert(nonces).values({ ...values, expiresAt: sql`now() + make_interval(secs => ${lifetimeSeconds})` })
}

const isLive = ({ projectId, kind, nonce }: NonceKey) =>
  and(eq(nonces.projectId, projectId), eq(nonces.kind, kind), eq(nonces.nonce, nonce), gt(nonces.expiresAt, sql`now()`))

const terms = { userId: nonces.userId, target: nonces.target }

/** Looks at a nonce, which stays. */
export const findNonce = async (
  db: Queryable,
  key: NonceKey,
): Promise<(NonceTerms & { readonly createdAt: Date }) | null> => {
  const [row] = await db
    .select({ ...terms, createdAt: nonces.createdAt })
    .from(nonces)
    .where(isLive(key))
  return row ?? null
}

/** Uses a nonce up: of those who try, one gets its terms; null where it is unknown, used or expired. */
export const useNonce = async (tx: Tx, key: NonceKey): Promise<NonceTerms | null> => {
  const [row] = await tx.delete(nonces).where(isLive(key)).returning(terms)
  return row ?? null
}

/** Whose code it is: of a user, or of who becomes one by it. */
export type CodeKey = { readonly projectId: string; readonly userId: string; readonly purpose: EmailCodePurpose }

const ofKey = (key: CodeKey) =>
  and(
    eq(emailCodes.projectId, key.projectId),
    eq(emailCodes.userId, key.userId),
    eq(emailCodes.purpose, key.purpose),
    gt(emailCodes.expiresAt, sql`now()`),
  )

/** Makes this the one live code; whatever was before is of no use any more. */
export const putEmailCode = async (
  tx: Tx,
  input: CodeKey & { readonly email: string; readonly codeMac: Uint8Array; readonly lifetimeSeconds: number },
): Promise<void> => {
  const { projectId, userId, purpose, lifetimeSeconds, email, codeMac } = input
  const expiresAt = sql`now() + make_interval(secs => ${lifetimeSeconds})`
  const fresh = { email, codeMac, expiresAt, tries: 0, createdAt: sql`now()` }
  await tx
    .insert(emailCodes)
    .values({ projectId, userId, purpose, ...fresh })
    .onConflictDoUpdate({ target: [emailCodes.projectId, emailCodes.userId, emailCodes.purpose], set: fresh })
}

/**
 * Takes one of a live code's tries, before anything is compared: however many guesses come at once, no more than these are.
 * @returns null where there is no live code, or no try is left.
 */
export const takeCodeTry = async (
  db: Queryable,
  input: CodeKey & { readonly triesMax: number },
): Promise<{ readonly email: string; readonly codeMac: Uint8Array } | null> => {
  const [row] = await db
    .update(emailCodes)
    .set({ tries: sql`${emailCodes.tries} + 1` })
    .where(and(ofKey(input), lt(emailCodes.tries, input.triesMax)))
    .returning({ email: emailCodes.email, codeMac: emailCodes.codeMac })
  return row ?? null
}

/** Uses up just this code. @returns false where it was used, replaced or outdated meanwhile. */
export const useEmailCode = async (tx: Tx, input: CodeKey & { readonly codeMac: Uint8Array }): Promise<boolean> => {
  const rows = await tx
    .delete(emailCodes)
    .where(and(ofKey(input), eq(emailCodes.codeMac, input.codeMac)))
    .returning({ email: emailCodes.email })
  return rows.length === 1
}

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
