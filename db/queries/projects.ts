import { and, eq, lt, or, sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'
import { apiKeys, projects } from '../schema.ts'
import type { ApiKeyScope } from '../words.ts'

export type Project = typeof projects.$inferSelect

export const insertProject = async (
  db: Queryable,
  input: { readonly id: string; readonly name: string; readonly activatedAt: Date | null },
): Promise<void> => {
  await db.insert(projects).values(input)
}

export const findProject = async (db: Queryable, id: string): Promise<Project | null> => {
  const [row] = await db.select().from(projects).where(eq(projects.id, id))
  return row ?? null
}

export const insertApiKey = async (
  db: Queryable,
  input: {
    readonly id: string
    readonly projectId: string
    readonly name: string
    readonly hash: Uint8Array
    readonly scopes: readonly ApiKeyScope[]
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

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** The keys with these hashes that are neither revoked nor expired, by the database's clock; a prepared statement. */
export const findLiveApiKeys = async (db: Db, hashes: readonly Uint8Array[]): Promise<readonly LiveApiKey[]> => {
  return db.prepared<LiveApiKey[]>`
    select id, project_id as "projectId", hash, scopes, last_used_at as "lastUsedAt"
    from public.api_keys
    where hash in (select decode(hex, 'hex') from unnest(${hashes.map(hexOf)}::text[]) as hex)
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

export const listProjects = async (db: Queryable): Promise<readonly Project[]> =>
  db.select().from(projects).orderBy(projects.createdAt, projects.id)

/** Whether a project, or where none is named any project, allows pages of an origin. */
export const isOriginAllowed = async (
  db: Queryable,
  input: { readonly origin: string; readonly projectId?: string },
): Promise<boolean> => {
  const [row] = await db
    .select({ id: projects.id })
    .from(projects)
    .where(
      and(
        sql`${projects.allowedOrigins} @> ${sql.param([input.origin])}::text[]`,
        input.projectId === undefined ? undefined : eq(projects.id, input.projectId),
      ),
    )
    .limit(1)
  return row !== undefined
}

/** @returns whether there is such a project. */
export const setAllowedOrigins = async (
  db: Queryable,
  input: { readonly projectId: string; readonly origins: readonly string[] },
): Promise<boolean> => {
  const rows = await db
    .update(projects)
    .set({ allowedOrigins: [...input.origins] })
    .where(eq(projects.id, input.projectId))
    .returning({ id: projects.id })
  return rows.length === 1
}
