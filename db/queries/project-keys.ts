import { and, eq } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { projectKeys } from '../schema.ts'

export type ProjectKeyRow = typeof projectKeys.$inferSelect

export const insertProjectKey = async (db: Queryable, row: typeof projectKeys.$inferInsert): Promise<void> => {
  await db.insert(projectKeys).values(row)
}

export const readProjectKey = async (
  db: Queryable,
  input: { readonly projectId: string; readonly version: number },
): Promise<ProjectKeyRow | null> => {
  const [row] = await db
    .select()
    .from(projectKeys)
    .where(and(eq(projectKeys.projectId, input.projectId), eq(projectKeys.version, input.version)))
  return row ?? null
}
