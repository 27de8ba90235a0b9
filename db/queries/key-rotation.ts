// Changing a key: rows get other MACs, and what was made with the earlier key ends.

import { and, eq, inArray, isNull, lte, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Db, Queryable, Tx } from '../client.ts'
import { deleteRows } from '../deciding-rows.ts'
import { readRows } from '../rows.ts'
import {
  apiKeys,
  emailCodes,
  issuers,
  nonces,
  operatorTokens,
  passkeys,
  sessionChallenges,
  sessions,
  tokenKeys,
} from '../schema.ts'
import { readPresent } from './server.ts'
import { endLiveSessions } from './sessions.ts'

/** The tables with a MAC in each row, by the names that operators read. */
export type MacTable =
  | 'projects'
  | 'api_keys'
  | 'issuers'
  | 'passkeys'
  | 'users'
  | 'wallets'
  | 'sessions'
  | 'session_challenges'

type NewMac = { readonly id: string; readonly before: Uint8Array | null; readonly after: Uint8Array }

const encodeHex = (bytes: Uint8Array | null): string | null => bytes && Buffer.from(bytes).toString('hex')

/** Replaces MACs. A row that changed meanwhile stays as it is. @returns how many it replaced. */
export const replaceMacs = async (
  db: Queryable,
  { table, rows }: { readonly table: MacTable; readonly rows: readonly NewMac[] },
) => {
  const ids = sql.param(rows.map(({ id }) => id))
  const [before, after] = [
    sql.param(rows.map((row) => encodeHex(row.before))),
    sql.param(rows.map((row) => encodeHex(row.after))),
  ]
  const { rowCount } = await db.execute(sql`
    update public.${sql.identifier(table)} t set mac = decode(v.after, 'hex')
    from unnest(${ids}::uuid[], ${before}::text[], ${after}::text[]) as v(id, before, after)
    where t.id = v.id and t.mac is not distinct from decode(v.before, 'hex')`)
  return rowCount ?? 0
}

/** Tables of no project, whose rows have no id that is a UUID. Each row has another MAC. */
export type DeploymentMacTable = 'operators' | 'operator_passkeys' | 'abi_items' | 'listed_tokens'

export const replaceDeploymentMacs = async (
  db: Queryable,
  { table, rows }: { readonly table: DeploymentMacTable; readonly rows: readonly Omit<NewMac, 'id'>[] },
) => {
  const before = sql.param(rows.map((row) => encodeHex(row.before)))
  const after = sql.param(rows.map((row) => encodeHex(row.after)))
  const { rowCount } = await db.execute(sql`
    update public.${sql.identifier(table)} t set mac = decode(v.after, 'hex')
    from unnest(${before}::text[], ${after}::text[]) as v(before, after) where t.mac = decode(v.before, 'hex')`)
  return rowCount ?? 0
}

export const resealTokenKey = async (tx: Tx, { id, sealed }: { readonly id: string; readonly sealed: Uint8Array }) => {
  await tx.update(tokenKeys).set({ sealed }).where(eq(tokenKeys.id, id))
}

const ROWS_AT_ONCE = 500

/** Ends the sessions that had begun before this call, some at a time. */
export const endOldSessions = async (db: Db) => {
  const isOld = lte(sessions.createdAt, await readPresent(db))
  const some = db
    .select({ id: sessions.id })
    .from(sessions)
    .where(and(isNull(sessions.endedAt), isOld))
    .limit(ROWS_AT_ONCE)
  while ((await endLiveSessions(db, { by: 'operator', where: inArray(sessions.id, some) })).length > 0);
}

/** Deletes rows by a column that names them: a row that is added meanwhile would look like one that stayed. */
const deleteFound = async (tx: Tx, column: PgColumn, where?: SQL) => {
  const found = await tx.select({ value: column }).from(column.table).where(where)
  const values = sql.param(found.map(({ value }) => value))
  await deleteRows(tx, column.table, { where: and(where, sql`${column} = any(${values})`) })
}

export const endConsoleSessions = (tx: Tx) => deleteFound(tx, operatorTokens.hash)

/** Ends all sessions of users, and all logins that have begun. */
export const endLogins = async (tx: Tx) => {
  await endLiveSessions(tx, { by: 'operator' })
  await deleteFound(tx, sessionChallenges.id, isNull(sessionChallenges.usedAt))
  await deleteFound(tx, nonces.nonce)
  await deleteFound(tx, emailCodes.codeMac)
}

export const listLiveApiKeys = (db: Db): Promise<readonly { readonly id: string }[]> =>
  db.select({ id: apiKeys.id }).from(apiKeys).where(isNull(apiKeys.revokedAt)).limit(ROWS_AT_ONCE)

export const listSomeIssuers = (db: Db): Promise<readonly Pick<typeof issuers.$inferSelect, 'projectId' | 'name'>[]> =>
  db.select({ projectId: issuers.projectId, name: issuers.name }).from(issuers).orderBy(issuers.id).limit(ROWS_AT_ONCE)

/** `bySession`: anonymous users, whose session is their only way. */
type WithoutOtherWay = { readonly projectId: string; readonly byPasskey: number; readonly bySession: number }

export const countUsersWithoutOtherWay = (db: Db): Promise<readonly WithoutOtherWay[]> =>
  readRows<WithoutOtherWay>(db)`
    select u.project_id as "projectId", count(*) filter (where has.passkey)::int as "byPasskey",
      count(*) filter (where not has.passkey and has.session)::int as "bySession"
    from public.users u cross join lateral (
      select exists (select from public.passkeys p where p.project_id = u.project_id and p.user_id = u.id) as passkey,
        exists (
          select from public.sessions s
          where s.project_id = u.project_id and s.user_id = u.id and s.ended_at is null and s.expires_at > now()
        ) as session
    ) has
    where u.email is null and u.sign_in_wallet is null and u.issuer is null and (has.passkey or has.session)
    group by 1 order by 1`

export const listSomePasskeys = (db: Db) => {
  const { id, projectId, userId, rpId } = passkeys
  return db.select({ id, projectId, userId, rpId }).from(passkeys).orderBy(id).limit(ROWS_AT_ONCE)
}
