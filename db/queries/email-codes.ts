// Codes that were mailed. Only their MACs are kept, one live code a user and purpose.

import { and, eq, gt, lt, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { emailCodes } from '../schema.ts'
import type { EmailCodePurpose } from '../words.ts'

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
