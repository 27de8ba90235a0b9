import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { hostedImages, metadataDocuments } from '../schema.ts'

/** Stores documents under the digests of their texts, unless they are stored. */
export const insertMetadataDocuments = async (
  db: Queryable,
  documents: readonly { readonly digest: string; readonly body: string }[],
): Promise<void> => {
  if (documents.length === 0) return
  const rows = documents.map(({ digest, body }) => ({ digest, body }))
  await db.insert(metadataDocuments).values(rows).onConflictDoNothing()
}

/** The text of a document, or null. */
export const findMetadataDocument = async (db: Queryable, digest: string): Promise<string | null> => {
  const [row] = await db
    .select({ body: metadataDocuments.body })
    .from(metadataDocuments)
    .where(eq(metadataDocuments.digest, digest))
  return row?.body ?? null
}

/** The texts of some documents, by digest. */
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

/** Stores an image under the digest of its bytes, unless it is stored. */
export const insertHostedImage = async (db: Queryable, row: typeof hostedImages.$inferInsert): Promise<void> => {
  await db.insert(hostedImages).values(row).onConflictDoNothing()
}

/** The bytes of an image, or null. */
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

/** How many bytes of new images a project has uploaded since then. */
export const uploadedBytes = async (
  db: Queryable,
  { projectId, since }: { readonly projectId: string; readonly since: Date },
): Promise<number> => {
  const [row] = await db
    .select({ total: sql<number>`coalesce(sum(${hostedImages.sizeBytes}), 0)::float8` })
    .from(hostedImages)
    .where(and(eq(hostedImages.projectId, projectId), gt(hostedImages.createdAt, since)))
  return row?.total ?? 0
}
