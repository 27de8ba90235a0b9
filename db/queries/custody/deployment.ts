import { isNull } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { deployment, networks } from '../../schema.ts'

export type DeploymentRow = Omit<typeof deployment.$inferSelect, 'id' | 'createdAt'>

export const readDeployment = async (db: Queryable): Promise<DeploymentRow | null> => {
  const [row] = await db.select().from(deployment)
  return row ?? null
}

/**
 * Reads which root key the database belongs to and locks the row until the transaction ends: `share` to keep it the same,
 * `update` to change it. Each waits for the other. @returns null where the database belongs to none yet.
 */
export const lockRootKeyId = async (tx: Tx, strength: 'share' | 'update'): Promise<string | null> => {
  const [row] = await tx.select({ rootKeyId: deployment.rootKeyId }).from(deployment).for(strength)
  return row?.rootKeyId ?? null
}

export const updateRootKey = async (tx: Tx, row: Pick<DeploymentRow, 'rootKeyId' | 'rootKeyCheck'>): Promise<void> => {
  await tx.update(deployment).set(row)
}

/** Writes the one row, unless another process was faster. */
export const insertDeployment = async (db: Queryable, row: DeploymentRow): Promise<void> => {
  await db.insert(deployment).values(row).onConflictDoNothing()
}

/** Binds the identity key, unless another process was faster. */
export const bindIdentityKey = async (db: Queryable, identityKeyCheck: Uint8Array): Promise<void> => {
  await db.update(deployment).set({ identityKeyCheck }).where(isNull(deployment.identityKeyCheck))
}

export type NetworkBinding = Omit<typeof networks.$inferSelect, 'createdAt'>

export const readNetworks = (db: Queryable): Promise<readonly NetworkBinding[]> =>
  db.select({ name: networks.name, family: networks.family, chainId: networks.chainId }).from(networks)

/** Binds networks that are not bound yet, unless another process was faster. */
export const insertNetworks = async (db: Queryable, rows: readonly NetworkBinding[]): Promise<void> => {
  await db
    .insert(networks)
    .values([...rows])
    .onConflictDoNothing()
}
