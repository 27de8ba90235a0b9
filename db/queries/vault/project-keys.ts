import { and, asc, eq, max, ne, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { firstRow } from '../../rows.ts'
import { projectKeys } from '../../schema.ts'
import { requireWritten } from '../../written.ts'
import type { RowImage } from './journal.ts'
import { insertProven } from './proofs.ts'

export type ProjectKeyRow = typeof projectKeys.$inferSelect

type Version = Pick<ProjectKeyRow, 'projectId' | 'version'>

const ofVersion = (input: Version) =>
  and(eq(projectKeys.projectId, input.projectId), eq(projectKeys.version, input.version))

/** @throws NotWritten */
export const insertProjectKey = (db: Queryable, row: typeof projectKeys.$inferInsert): Promise<RowImage> =>
  insertProven(db, projectKeys, row)

export const readProjectKey = (db: Queryable, input: Version): Promise<ProjectKeyRow | null> =>
  firstRow(db.select().from(projectKeys).where(ofVersion(input)))

/** @returns null if the project does not exist. */
export const newestProjectKeyVersion = async (db: Queryable, projectId: string): Promise<number | null> => {
  const [row] = await db
    .select({ version: max(projectKeys.version) })
    .from(projectKeys)
    .where(eq(projectKeys.projectId, projectId))
  return row?.version ?? null
}

/** A rotation waits in `lockProjectKey` until the transaction ends. @returns false if there is a newer version. */
export const holdProjectKey = async (tx: Tx, input: Version) => {
  await tx.select({ version: projectKeys.version }).from(projectKeys).where(ofVersion(input)).for('key share')
  // A second statement is needed, as the first one does not see what was committed while it waited.
  return (await newestProjectKeyVersion(tx, input.projectId)) === input.version
}

/** Waits for the transactions that hold a version. @returns false if there is a newer version. */
export const lockProjectKey = async (tx: Tx, input: Version) => {
  await tx.select({ version: projectKeys.version }).from(projectKeys).where(ofVersion(input)).for('update')
  return (await newestProjectKeyVersion(tx, input.projectId)) === input.version
}

/** The keys after `after` that another root key wrapped, in order. */
export const listProjectKeysToRewrap = async (
  db: Queryable,
  input: { readonly rootKeyId: string; readonly after: Version | null; readonly limit: number },
): Promise<readonly ProjectKeyRow[]> => {
  const { after } = input
  const isAfter =
    after === null
      ? undefined
      : sql`(${projectKeys.projectId}, ${projectKeys.version}) > (${after.projectId}::uuid, ${after.version}::int)`
  return db
    .select()
    .from(projectKeys)
    .where(and(ne(projectKeys.rootKeyId, input.rootKeyId), isAfter))
    .orderBy(asc(projectKeys.projectId), asc(projectKeys.version))
    .limit(input.limit)
}

export const countProjectKeysToRewrap = async (db: Queryable, input: { readonly rootKeyId: string }) => {
  return db.$count(projectKeys, ne(projectKeys.rootKeyId, input.rootKeyId))
}

export type Rewrapped = Version & { readonly before: Uint8Array; readonly after: Uint8Array }

const encodeHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Replaces wrapped keys that are still `before`. @returns how many were replaced. @throws NotWritten */
export const rewrapProjectKeys = async (
  tx: Tx,
  input: { readonly rootKeyId: string; readonly keys: readonly Rewrapped[] },
) => {
  const { keys, rootKeyId } = input
  const { rows } = await tx.execute<Pick<ProjectKeyRow, 'projectId' | 'version' | 'wrapped' | 'rootKeyId'>>(sql`
    update project_keys p set wrapped = decode(k.after, 'hex'), root_key_id = ${rootKeyId}
    from unnest(
      ${sql.param(keys.map((key) => key.projectId))}::uuid[],
      ${sql.param(keys.map((key) => key.version))}::int[],
      ${sql.param(keys.map((key) => encodeHex(key.before)))}::text[],
      ${sql.param(keys.map((key) => encodeHex(key.after)))}::text[]
    ) as k(project_id, version, before, after)
    where p.project_id = k.project_id and p.version = k.version and p.wrapped = decode(k.before, 'hex')
    returning p.project_id as "projectId", p.version, p.wrapped, p.root_key_id as "rootKeyId"`)
  for (const returned of rows) {
    const { projectId, version } = returned
    const wrapped = keys.find((key) => key.projectId === projectId && key.version === version)?.after
    requireWritten({ table: 'project_keys', meant: { projectId, version, wrapped, rootKeyId }, returned })
  }
  return rows.length
}
