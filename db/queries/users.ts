import { and, desc, eq, getTableColumns, isNull, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { insertUnlessThere, updateRows } from '../deciding-rows.ts'
import { users } from '../schema.ts'
import { present } from './present.ts'

export type UserRow = typeof users.$inferSelect

/** Who a user is, by their proofs. */
export type UserIdentity = Pick<
  UserRow,
  'id' | 'projectId' | 'email' | 'signInWallet' | 'issuer' | 'subject' | 'tokensFrom' | 'keptToken'
>

type OfUser = { readonly projectId: string; readonly userId: string }

/**
 * Only one transaction at a time changes how a user can log in, or ends their sessions. Lock the user before any row of a
 * session, to avoid deadlocks.
 */
export const lockUser = async (tx: Tx, { projectId, userId }: OfUser): Promise<UserRow | null> => {
  const [row] = await tx
    .select()
    .from(users)
    .where(and(eq(users.projectId, projectId), eq(users.id, userId)))
    .for('no key update')
  return row ?? null
}

/** Reads a user, whose way to log in then does not change, and whose sessions are not ended, before the transaction ends. */
export const holdUser = async (db: Queryable, { projectId, userId }: OfUser): Promise<UserRow | null> => {
  const [row] = await db
    .select()
    .from(users)
    .where(and(eq(users.projectId, projectId), eq(users.id, userId)))
    .for('share')
  return row ?? null
}

/** What an access token says about a user. */
export type UserFacts = UserRow & { readonly hasPasskeys: boolean }

const hasPasskeys = sql<boolean>`exists (
  select from public.passkeys p where p.project_id = users.project_id and p.user_id = users.id)`

type UserKey = { readonly id: string } | { readonly email: string } | { readonly signInWallet: string }

const whereOf = (key: UserKey) => {
  if ('id' in key) return eq(users.id, key.id)
  return 'email' in key ? eq(users.email, key.email) : eq(users.signInWallet, key.signInWallet)
}

export const findUser = async (
  db: Queryable,
  input: { readonly projectId: string; readonly by: UserKey },
): Promise<UserRow | null> => {
  const [row] = await db
    .select()
    .from(users)
    .where(and(eq(users.projectId, input.projectId), whereOf(input.by)))
  return row ?? null
}

/** The user of a session, and the present time by the database's clock. @throws Error if there is none. */
export const readUserFacts = async (
  db: Queryable,
  key: Pick<UserRow, 'projectId' | 'id'>,
): Promise<UserFacts & { readonly now: Date }> => {
  const [row] = await db
    .select({ ...getTableColumns(users), hasPasskeys, now: present })
    .from(users)
    .where(and(eq(users.projectId, key.projectId), eq(users.id, key.id)))
  if (row === undefined) throw new Error('A session belongs to a user who does not exist.')
  return row
}

/** Makes a user after their first proof, unless they exist. @returns the id of the new or the existing user. */
export const ensureUser = async (tx: Tx, input: UserIdentity & Pick<UserRow, 'mac'>): Promise<string> => {
  const { projectId, email, signInWallet } = input
  const by = email !== null ? { email } : signInWallet !== null ? { signInWallet } : null
  // Most logins are of a user who exists.
  const known = by && (await findUser(tx, { projectId, by }))
  if (known) return known.id
  const there = by === null ? sql`false` : and(eq(users.projectId, projectId), whereOf(by))
  const made = await insertUnlessThere(tx, users, { values: input, there })
  // Another login made the user meanwhile.
  const user = made ?? (by && (await findUser(tx, { projectId, by })))
  if (!user) throw new Error('A user was neither inserted nor found.')
  return user.id
}

/** Sets a user's e-mail address. @returns false if they have one, or if another user of the project has this one. */
export const setUserEmail = async (
  tx: Tx,
  input: Pick<UserRow, 'projectId' | 'id' | 'mac'> & { readonly email: string },
): Promise<boolean> => {
  const rows = await updateRows(tx, users, {
    set: { email: input.email, mac: input.mac },
    where: and(
      eq(users.projectId, input.projectId),
      eq(users.id, input.id),
      isNull(users.email),
      sql`not exists (select from ${users} other where other.project_id = ${input.projectId}
        and other.email = ${input.email} and other.id <> ${input.id})`,
    ),
  })
  return rows.length === 1
}

export const setTokensFrom = async (
  tx: Tx,
  { projectId, id, tokensFrom, keptToken, mac }: Pick<UserRow, 'projectId' | 'id' | 'tokensFrom' | 'keptToken' | 'mac'>,
): Promise<void> => {
  const where = and(eq(users.projectId, projectId), eq(users.id, id))
  await updateRows(tx, users, { set: { tokensFrom, keptToken, mac }, where })
}

/**
 * What the project calls the user's issuer now; null if it has none of this URL. In a list of columns Drizzle writes a column without
 * its table, and that would be the issuer's column.
 */
export const issuerName = sql<string | null>`(select string_agg(i.name, ', ' order by i.name) from public.issuers i
  where i.project_id = users.project_id and i.issuer = users.issuer)`

export const findIssuerName = async (db: Queryable, { projectId, userId }: OfUser): Promise<string | null> => {
  const [row] = await db
    .select({ issuerName })
    .from(users)
    .where(and(eq(users.projectId, projectId), eq(users.id, userId)))
  return row?.issuerName ?? null
}

/** Newest first. */
export const listUsers = async (
  db: Queryable,
  input: { readonly projectId: string; readonly limit: number },
): Promise<readonly (UserRow & { readonly issuerName: string | null })[]> =>
  db
    .select({ ...getTableColumns(users), issuerName })
    .from(users)
    .where(eq(users.projectId, input.projectId))
    .orderBy(desc(users.createdAt), desc(users.id))
    .limit(input.limit)
