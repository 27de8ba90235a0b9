import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { hostedImages, metadataDocuments } from '../schema.ts'

export const insertMetadataDocuments = async (
  db: Queryable,
  documents: readonly { readonly digest: string; readonly body: string }[],
) => {
  if (documents.length === 0) return
  const rows = documents.map(({ digest, body }) => ({ digest, body }))
  await db.insert(metadataDocuments).values(rows).onConflictDoNothing()
}

export const findMetadataDocument = async (db: Queryable, digest: string): Promise<string | null> => {
  const [row] = await db
    .select({ body: metadataDocuments.body })
    .from(metadataDocuments)
    .where(eq(metadataDocuments.digest, digest))
  return row?.body ?? null
}

export const readMetadataDocuments = async (
  db: Queryable,
  digests: readonly string[],
): Promise<ReadonlyMap<string, string>> => {
  if (digests.length === 0) return new Map()
  const rows = await db
    .select({ digest: metadataDocuments.digest, body: metadataDocuments.body })
    .from(metadataDocuments)
    .where(inArray(metadataDocuments.digest, [...digests]))
  return new Map(rows.map((row) => [row.digest, row.body]))
}

export const insertHostedImage = async (db: Queryable, row: typeof hostedImages.$inferInsert) => {
  await db.insert(hostedImages).values(row).onConflictDoNothing()
}

export const findHostedImage = async (
  db: Queryable,
  { digest, kind }: Pick<typeof hostedImages.$inferSelect, 'digest' | 'kind'>,
): Promise<Uint8Array | null> => {
  const [row] = await db
    .select({ body: hostedImages.body })
    .from(hostedImages)
    .where(and(eq(hostedImages.digest, digest), eq(hostedImages.kind, kind)))
  return row?.body ?? null
}

export const uploadedBytes = async (
  db: Queryable,
  { projectId, since }: { readonly projectId: string; readonly since: Date },
) => {
  const [row] = await db
    .select({ total: sql<number>`coalesce(sum(${hostedImages.sizeBytes}), 0)::float8` })
    .from(hostedImages)
    .where(and(eq(hostedImages.projectId, projectId), gt(hostedImages.createdAt, since)))
  return row?.total ?? 0
}
