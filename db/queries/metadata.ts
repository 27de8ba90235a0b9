import { eq, inArray } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { metadataDocuments } from '../schema.ts'

/** Stores a document under the digest of its text, unless it is stored. */
export const insertMetadataDocument = async (
  db: Queryable,
  { digest, body }: { readonly digest: string; readonly body: string },
): Promise<void> => {
  await db.insert(metadataDocuments).values({ digest, body }).onConflictDoNothing()
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
