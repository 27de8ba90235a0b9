import { and, eq } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { policies, policyLocks } from '../../schema.ts'

export type PolicyLockRow = { readonly id: string; readonly sealed: Uint8Array }

/** null where the policy is not of this wallet, or was revoked. */
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
