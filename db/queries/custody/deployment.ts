import { eq, isNull } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../../client.ts'
import { deployment, deploymentKey, networks } from '../../schema.ts'
import { requireWritten } from '../../written.ts'
import type { FreezeListRow } from '../freezes.ts'
import { writeFreezeList } from './freeze-lists.ts'

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

/** The deployment's key. */
type Wrapped = { readonly rootKeyId: string; readonly wrapped: Uint8Array }

/** @throws NotWritten */
export const updateRootKey = async (tx: Tx, { rootKeyId, wrapped }: Wrapped): Promise<void> => {
  const [bound] = await tx.update(deployment).set({ rootKeyId }).returning()
  const [key] = await tx.update(deploymentKey).set({ wrapped }).returning()
  requireWritten({ table: 'deployment', meant: { rootKeyId }, returned: { rootKeyId: bound?.rootKeyId } })
  requireWritten({ table: 'deployment_key', meant: { wrapped }, returned: { wrapped: key?.wrapped } })
}

/** Writes the one row, the deployment's key and the list of frozen networks, unless another process was faster. */
export const insertDeployment = (
  db: Db,
  {
    environment,
    rootKeyId,
    wrapped,
    freezes,
  }: Pick<DeploymentRow, 'environment'> & Wrapped & { readonly freezes: FreezeListRow },
): Promise<void> =>
  db.transaction(async (tx) => {
    await tx.insert(deployment).values({ environment, rootKeyId }).onConflictDoNothing()
    const { rowCount } = await tx.insert(deploymentKey).values({ wrapped }).onConflictDoNothing()
    if (rowCount === 1) await writeFreezeList(tx, { ...freezes, before: null })
  })

/** Both in one statement: they change together. */
export const readDeploymentKey = async (db: Queryable): Promise<Wrapped | null> => {
  const [row] = await db
    .select({ rootKeyId: deployment.rootKeyId, wrapped: deploymentKey.wrapped })
    .from(deployment)
    .innerJoin(deploymentKey, eq(deploymentKey.id, deployment.id))
  return row ?? null
}

/** Binds the keys of the API, unless another process was faster. */
export const bindApiKeys = async (
  db: Queryable,
  keys: Pick<DeploymentRow, 'serviceKeyId' | 'identityKeyId'>,
): Promise<void> => {
  await db.update(deployment).set(keys).where(isNull(deployment.identityKeyId))
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
