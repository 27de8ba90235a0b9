import type { Queryable } from '../client.ts'
import { deployment } from '../schema.ts'

export type DeploymentRow = Omit<typeof deployment.$inferSelect, 'id' | 'createdAt'>

export const readDeployment = async (db: Queryable): Promise<DeploymentRow | null> => {
  const [row] = await db.select().from(deployment)
  return row ?? null
}

/** Writes the one row, unless another process was faster. */
export const insertDeployment = async (db: Queryable, row: DeploymentRow): Promise<void> => {
  await db.insert(deployment).values(row).onConflictDoNothing()
}
