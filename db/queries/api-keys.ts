import { and, asc, eq, getTableColumns, isNull, lt, or, sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'
import { apiKeys } from '../schema.ts'
import type { ApiKeyScope } from '../words.ts'

export type ApiKeyRow = Omit<typeof apiKeys.$inferSelect, 'hash'>

export const insertApiKey = async (
  db: Queryable,
  input: {
    readonly id: string
    readonly projectId: string
    readonly name: string
    readonly hash: Uint8Array
    readonly scopes: readonly ApiKeyScope[]
    readonly expiresAt: Date | null
  },
): Promise<void> => {
  await db.insert(apiKeys).values({ ...input, scopes: [...input.scopes] })
}

export type LiveApiKey = {
  readonly id: string
  readonly projectId: string
  readonly hash: Uint8Array
  readonly scopes: readonly ApiKeyScope[]
  readonly lastUsedAt: Date | null
}

/** The keys with these hashes (in hex) that are neither revoked nor expired, by the database's clock; a prepared statement. */
export const findLiveApiKeys = async (db: Db, hexHashes: readonly string[]): Promise<readonly LiveApiKey[]> => {
  return db.prepared<LiveApiKey>`
    select id, project_id as "projectId", hash, scopes, last_used_at as "lastUsedAt"
    from public.api_keys
    where hash = any(${hexHashes.map((hex) => `\\x${hex}`)}::text[]::bytea[])
      and revoked_at is null and (expires_at is null or expires_at > now())`
}

/** Notes that a key was used, at most once a minute. */
export const touchApiKey = async (db: Queryable, id: string): Promise<void> => {
  await db
    .update(apiKeys)
    .set({ lastUsedAt: sql`now()` })
    .where(
      and(
        eq(apiKeys.id, id),
        or(sql`${apiKeys.lastUsedAt} is null`, lt(apiKeys.lastUsedAt, sql`now() - interval '1 minute'`)),
      ),
    )
}

const { hash: _hash, ...shownColumns } = getTableColumns(apiKeys)

/** A project's keys, oldest first; without their hashes. */
export const listApiKeys = async (db: Queryable, projectId: string): Promise<readonly ApiKeyRow[]> =>
  db
    .select(shownColumns)
    .from(apiKeys)
    .where(eq(apiKeys.projectId, projectId))
    .orderBy(asc(apiKeys.createdAt), asc(apiKeys.id))

export const findApiKey = async (db: Queryable, id: string): Promise<ApiKeyRow | null> => {
  const [row] = await db.select(shownColumns).from(apiKeys).where(eq(apiKeys.id, id))
  return row ?? null
}

/** @returns the key where it was not revoked before. */
export const revokeApiKey = async (db: Queryable, id: string): Promise<ApiKeyRow | null> => {
  const [row] = await db
    .update(apiKeys)
    .set({ revokedAt: sql`now()` })
    .where(and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt)))
    .returning(shownColumns)
  return row ?? null
}
