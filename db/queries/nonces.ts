// Numbers that must come back signed, once.

import { and, eq, gt, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { nonces } from '../schema.ts'
import type { NonceKind } from '../words.ts'

/** Of whom the answer must be (null: of anybody), and what must sign it or for which RP ID. */
export type NonceTerms = { readonly userId: string | null; readonly target: string }

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
