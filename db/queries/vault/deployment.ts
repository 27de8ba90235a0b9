import { eq, isNull } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../../client.ts'
import { firstRow } from '../../rows.ts'
import { deployment, deploymentKey, networks } from '../../schema.ts'
import { requireWritten } from '../../written.ts'
import type { FreezeListRow } from '../freezes.ts'
import { writeFreezeList } from './lists.ts'

export type DeploymentRow = Omit<typeof deployment.$inferSelect, 'id' | 'createdAt'>

export const readDeployment = async (db: Queryable): Promise<DeploymentRow | null> =>
  firstRow(db.select().from(deployment))

/** Locks the row until the transaction ends, `update` to change it. @returns null for a database without a root key. */
export const lockRootKeyId = async (tx: Tx, strength: 'share' | 'update'): Promise<string | null> => {
  const [row] = await tx.select({ rootKeyId: deployment.rootKeyId }).from(deployment).for(strength)
  return row?.rootKeyId ?? null
}

type Wrapped = { readonly rootKeyId: string; readonly wrapped: Uint8Array }

/** @throws NotWritten */
export const updateRootKey = async (tx: Tx, { rootKeyId, wrapped }: Wrapped) => {
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
) =>
  db.transaction(async (tx) => {
    await tx.insert(deployment).values({ environment, rootKeyId }).onConflictDoNothing()
    const { rowCount } = await tx.insert(deploymentKey).values({ wrapped }).onConflictDoNothing()
    if (rowCount === 1) await writeFreezeList(tx, { ...freezes, before: null })
  })

/** Both in one statement: they change together. */
export const readDeploymentKey = (db: Queryable): Promise<Wrapped | null> =>
  firstRow(
    db
      .select({ rootKeyId: deployment.rootKeyId, wrapped: deploymentKey.wrapped })
      .from(deployment)
      .innerJoin(deploymentKey, eq(deploymentKey.id, deployment.id)),
  )

/** Binds the keys of the API, unless another process was faster. */
export const bindApiKeys = async (db: Queryable, keys: Pick<DeploymentRow, 'serviceKeyId' | 'identityKeyId'>) => {
  await db.update(deployment).set(keys).where(isNull(deployment.identityKeyId))
}

export type NetworkBinding = Omit<typeof networks.$inferSelect, 'createdAt'>

export const readNetworks = (db: Queryable): Promise<readonly NetworkBinding[]> =>
  db.select({ name: networks.name, family: networks.family, chainId: networks.chainId }).from(networks)

export const insertNetworks = async (db: Queryable, rows: readonly NetworkBinding[]) => {
  await db
    .insert(networks)
    .values([...rows])
    .onConflictDoNothing()
}
