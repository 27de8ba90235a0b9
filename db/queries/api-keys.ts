import { and, asc, eq, getTableColumns, isNull, lt, or, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { insertRow, updateRows } from '../deciding-rows.ts'
import { firstRow } from '../rows.ts'
import { apiKeys } from '../schema.ts'
import type { ApiKeyScope } from '../words.ts'

type FullRow = typeof apiKeys.$inferSelect
export type ApiKeyRow = Omit<FullRow, 'hash' | 'mac'>

export type ApiKeyFacts = Pick<FullRow, 'id' | 'projectId' | 'hash' | 'expiresAt'> & {
  readonly scopes: readonly ApiKeyScope[]
}

export const insertApiKey = async (
  tx: Tx,
  input: ApiKeyFacts & { readonly name: string; readonly mac: Uint8Array },
) => {
  await insertRow(tx, apiKeys, { ...input, scopes: [...input.scopes] })
}

export type LiveApiKey = ApiKeyFacts & Pick<FullRow, 'lastUsedAt' | 'mac'>

/** @param hexHashes of keys; revoked and expired ones (by the database's clock) are left out. A prepared statement. */
export const findLiveApiKeys = async (db: Db, hexHashes: readonly string[]): Promise<readonly LiveApiKey[]> =>
  db.prepared<LiveApiKey>`
    select id, project_id as "projectId", hash, scopes, expires_at as "expiresAt", last_used_at as "lastUsedAt", mac
    from public.api_keys
    where hash = any(${hexHashes.map((hex) => `\\x${hex}`)}::text[]::bytea[])
      and revoked_at is null and (expires_at is null or expires_at > now())`

/** Records that a key was used, at most once a minute. */
export const touchApiKey = async (db: Queryable, id: string) => {
  const isOld = or(isNull(apiKeys.lastUsedAt), lt(apiKeys.lastUsedAt, sql`now() - interval '1 minute'`))
  await db
    .update(apiKeys)
    .set({ lastUsedAt: sql`now()` })
    .where(and(eq(apiKeys.id, id), isOld))
}

const { hash: _hash, mac: _mac, ...shownColumns } = getTableColumns(apiKeys)

export const listApiKeys = async (db: Queryable, projectId: string): Promise<readonly ApiKeyRow[]> =>
  db
    .select(shownColumns)
    .from(apiKeys)
    .where(eq(apiKeys.projectId, projectId))
    .orderBy(asc(apiKeys.createdAt), asc(apiKeys.id))

export const findApiKey = (db: Queryable, id: string): Promise<ApiKeyRow | null> =>
  firstRow(db.select(shownColumns).from(apiKeys).where(eq(apiKeys.id, id)))

/** Revokes a key and erases its MAC. @returns the key, or null if it was revoked before. */
export const revokeApiKey = async (tx: Tx, id: string): Promise<ApiKeyRow | null> => {
  const where = and(eq(apiKeys.id, id), isNull(apiKeys.revokedAt))
  return firstRow(updateRows(tx, apiKeys, { where, set: { revokedAt: sql`now()`, mac: null }, final: 'ended' }))
}
