import { and, eq } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { runtimeMetadata } from '../schema.ts'
import type { Network } from '../words.ts'

type RuntimeKey = { readonly network: Network; readonly specName: string; readonly specVersion: number }

/** 0x hex of SCALE; null where it was not read yet. */
export const readMetadata = async (
  db: Queryable,
  { network, specName, specVersion }: RuntimeKey,
): Promise<`0x${string}` | null> => {
  const [row] = await db
    .select({ metadata: runtimeMetadata.metadata })
    .from(runtimeMetadata)
    .where(
      and(
        eq(runtimeMetadata.network, network),
        eq(runtimeMetadata.specName, specName),
        eq(runtimeMetadata.specVersion, specVersion),
      ),
    )
  return row === undefined ? null : `0x${Buffer.from(row.metadata).toString('hex')}`
}

/** What is there already stays. */
export const writeMetadata = async (
  db: Queryable,
  { metadata, ...key }: RuntimeKey & { readonly metadata: string },
): Promise<void> => {
  await db
    .insert(runtimeMetadata)
    .values({ ...key, metadata: Buffer.from(metadata.slice(2), 'hex') })
    .onConflictDoNothing()
}
