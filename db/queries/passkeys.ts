// Users' WebAuthn credentials.

import { and, asc, eq, lt, or, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { passkeys } from '../schema.ts'

type PasskeyRow = typeof passkeys.$inferSelect

type OfUser = { readonly projectId: string; readonly userId: string }

/** Oldest first. */
export const listPasskeys = async (db: Queryable, { projectId, userId }: OfUser): Promise<readonly PasskeyRow[]> =>
  db
    .select()
    .from(passkeys)
    .where(and(eq(passkeys.projectId, projectId), eq(passkeys.userId, userId)))
    .orderBy(asc(passkeys.createdAt), asc(passkeys.id))

export const findPasskey = async (
  db: Queryable,
  key: { readonly projectId: string; readonly credentialId: Uint8Array },
): Promise<PasskeyRow | null> => {
  const [row] = await db
    .select()
    .from(passkeys)
    .where(and(eq(passkeys.projectId, key.projectId), eq(passkeys.credentialId, key.credentialId)))
  return row ?? null
}

/** @returns null where somebody of the project has the credential already. */
export const insertPasskey = async (
  tx: Tx,
  input: Omit<PasskeyRow, 'id' | 'createdAt' | 'lastUsedAt'>,
): Promise<PasskeyRow | null> => {
  const [row] = await tx.insert(passkeys).values(input).onConflictDoNothing().returning()
  return row ?? null
}

/**
 * Notes a login. The counter only rises; an authenticator that has none always says 0.
 * @returns false where the passkey is gone, or its counter is not below this one any more.
 */
export const notePasskeyUse = async (
  tx: Tx,
  input: { readonly id: string; readonly signCount: number; readonly backedUp: boolean },
): Promise<boolean> => {
  const { id, signCount, backedUp } = input
  const rises = or(lt(passkeys.signCount, signCount), and(eq(passkeys.signCount, 0), sql`${signCount}::bigint = 0`))
  const rows = await tx
    .update(passkeys)
    .set({ signCount, backedUp, lastUsedAt: sql`now()` })
    .where(and(eq(passkeys.id, id), rises))
    .returning({ id: passkeys.id })
  return rows.length === 1
}

export const deletePasskey = async (
  tx: Tx,
  { projectId, userId, id }: OfUser & { readonly id: string },
): Promise<void> => {
  await tx
    .delete(passkeys)
    .where(and(eq(passkeys.projectId, projectId), eq(passkeys.userId, userId), eq(passkeys.id, id)))
}
