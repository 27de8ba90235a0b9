import { and, eq, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { developerKeys, ownerLocks, pinGuesses, policies, policyLocks, userKeys } from '../../schema.ts'
import type { FreezeScope, Network } from '../../words.ts'
import { frozenScopeOf } from '../freezes.ts'

/** A credential's key as it was read. A change is written only where both fields are still the same. */
export type Versioned = { readonly sealed: Uint8Array; readonly version: number }

export const readDeveloperKey = async (db: Queryable, projectId: string): Promise<Versioned | null> => {
  const [row] = await db
    .select({ sealed: developerKeys.sealed, version: developerKeys.version })
    .from(developerKeys)
    .where(eq(developerKeys.projectId, projectId))
  return row ?? null
}

/** @returns whether there was none before. */
export const insertDeveloperKey = async (db: Queryable, row: typeof developerKeys.$inferInsert): Promise<boolean> => {
  const rows = await db
    .insert(developerKeys)
    .values(row)
    .onConflictDoNothing()
    .returning({ projectId: developerKeys.projectId })
  return rows.length === 1
}

/** @returns whether the row was still `was`. */
export const updateDeveloperKey = async (
  db: Queryable,
  input: { readonly projectId: string; readonly was: Versioned; readonly sealed: Uint8Array },
): Promise<boolean> => {
  const { projectId, was, sealed } = input
  const rows = await db
    .update(developerKeys)
    .set({ sealed, version: was.version + 1, updatedAt: sql`now()` })
    .where(
      and(
        eq(developerKeys.projectId, projectId),
        eq(developerKeys.version, was.version),
        eq(developerKeys.sealed, was.sealed),
      ),
    )
    .returning({ version: developerKeys.version })
  return rows.length === 1
}

export type NewUserKeyRow = typeof userKeys.$inferInsert

/** Writes the owner's user key, and the row that counts the guesses at its PIN. */
export const insertUserKey = async (db: Queryable, row: NewUserKeyRow): Promise<void> => {
  await db.insert(userKeys).values(row)
  await db.insert(pinGuesses).values({ projectId: row.projectId, ownerId: row.ownerId })
}

type Owner = { readonly projectId: string; readonly ownerId: string }

const ofOwner = (owner: Owner) => and(eq(userKeys.projectId, owner.projectId), eq(userKeys.ownerId, owner.ownerId))

/** The key of a wallet's owner, and what is frozen of the wallet. */
export const readUserKey = async (
  db: Queryable,
  wallet: Owner & { readonly id: string; readonly network: Network },
): Promise<(Versioned & { readonly salt: Uint8Array; readonly frozen: FreezeScope | null }) | null> => {
  const { id: walletId, projectId, ownerId, network } = wallet
  const [row] = await db
    .select({
      salt: userKeys.salt,
      sealed: userKeys.sealed,
      version: userKeys.version,
      frozen: frozenScopeOf({ projectId, ownerId, network, walletId }),
    })
    .from(userKeys)
    .where(ofOwner(wallet))
  return row ?? null
}

/** @returns whether the row was still `was`. */
export const updateUserKey = async (
  db: Queryable,
  input: Owner & { readonly was: Versioned; readonly salt: Uint8Array; readonly sealed: Uint8Array },
): Promise<boolean> => {
  const { was, salt, sealed } = input
  const rows = await db
    .update(userKeys)
    .set({ salt, sealed, version: was.version + 1, updatedAt: sql`now()` })
    .where(and(ofOwner(input), eq(userKeys.version, was.version), eq(userKeys.sealed, was.sealed)))
    .returning({ version: userKeys.version })
  return rows.length === 1
}

export type NewOwnerLockRow = typeof ownerLocks.$inferInsert

export const insertOwnerLock = async (db: Queryable, row: NewOwnerLockRow): Promise<void> => {
  await db.insert(ownerLocks).values(row)
}

export type PolicyLockRow = { readonly id: string; readonly sealed: Uint8Array }

/** @returns null where the policy is not of this wallet, or was revoked. */
export const readPolicyLock = async (
  db: Queryable,
  input: { readonly policyId: string; readonly walletId: string },
): Promise<PolicyLockRow | null> => {
  const [row] = await db
    .select({ id: policyLocks.id, sealed: policyLocks.sealed })
    .from(policyLocks)
    .innerJoin(policies, eq(policies.id, policyLocks.policyId))
    .where(and(eq(policyLocks.policyId, input.policyId), eq(policies.walletId, input.walletId)))
  return row ?? null
}

export const insertPolicyLock = async (tx: Tx, row: typeof policyLocks.$inferInsert): Promise<void> => {
  await tx.insert(policyLocks).values(row)
}

export const deletePolicyLock = async (tx: Tx, policyId: string): Promise<void> => {
  await tx.delete(policyLocks).where(eq(policyLocks.policyId, policyId))
}
