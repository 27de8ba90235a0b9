// End users, and changes of what opens their wallets.

import { and, desc, eq, getTableColumns, isNull, lt, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Db, Queryable, Tx } from '../client.ts'
import { deleteRows, insertRow, insertUnlessThere, updateRows } from '../deciding-rows.ts'
import { type Given, prepare } from '../prepare.ts'
import { firstRow } from '../rows.ts'
import { secretChanges, users } from '../schema.ts'
import { present } from './server.ts'

export type UserRow = typeof users.$inferSelect

export type UserIdentity = Pick<
  UserRow,
  'id' | 'projectId' | 'email' | 'signInWallet' | 'issuer' | 'subject' | 'tokensFrom' | 'keptToken'
>

type OfUser = { readonly projectId: string; readonly userId: string }

const isUser = ({ projectId, userId }: Given<OfUser>) => and(eq(users.projectId, projectId), eq(users.id, userId))

const locked = prepare((db, user: Given<OfUser>) => db.select().from(users).where(isUser(user)).for('no key update'))
const held = prepare((db, user: Given<OfUser>) => db.select().from(users).where(isUser(user)).for('share'))

/** Locks how a user can log in. To avoid deadlocks, lock the user before any row of a session. */
export const lockUser = (tx: Tx, user: OfUser): Promise<UserRow | null> => firstRow(locked(tx, user))

/** Until the transaction ends, no other one changes how the user logs in, or ends their sessions. */
export const holdUser = (db: Queryable, user: OfUser): Promise<UserRow | null> => firstRow(held(db, user))

/** What an access token says about a user. */
export type UserFacts = UserRow & { readonly hasPasskeys: boolean }

const hasPasskeys = sql<boolean>`exists (
  select from public.passkeys p where p.project_id = users.project_id and p.user_id = users.id)`

type UserKey = { readonly id: string } | { readonly email: string } | { readonly signInWallet: string }

const findBy = (column: PgColumn) =>
  prepare((db, { projectId, key }: Given<{ readonly projectId: string; readonly key: string }>) =>
    db
      .select()
      .from(users)
      .where(and(eq(users.projectId, projectId), eq(column, key))),
  )
const finders = { id: findBy(users.id), email: findBy(users.email), signInWallet: findBy(users.signInWallet) }

export const findUser = (
  db: Queryable,
  { projectId, by }: { readonly projectId: string; readonly by: UserKey },
): Promise<UserRow | null> => {
  const [[name, key] = ['id', '']] = Object.entries(by)
  return firstRow(finders[name as keyof typeof finders](db, { projectId, key }))
}

const factsOf = prepare((db, { projectId, id }: Given<Pick<UserRow, 'projectId' | 'id'>>) =>
  db
    .select({ ...getTableColumns(users), hasPasskeys, now: present })
    .from(users)
    .where(and(eq(users.projectId, projectId), eq(users.id, id))),
)

/** The user of a session, and the present time by the database's clock. @throws Error if there is none. */
export const readUserFacts = async (
  db: Queryable,
  key: Pick<UserRow, 'projectId' | 'id'>,
): Promise<UserFacts & { readonly now: Date }> => {
  const [row] = await factsOf(db, key)
  if (row === undefined) throw new Error('A session belongs to a user who does not exist.')
  return row
}

/** Makes a user after their first proof, unless they exist. @returns the id of the new or the existing user. */
export const ensureUser = async (tx: Tx, input: UserIdentity & Pick<UserRow, 'mac'>) => {
  const { projectId, email, signInWallet } = input
  const by = email !== null ? { email } : signInWallet !== null ? { signInWallet } : null
  // Most logins are of a user who exists.
  const known = by && (await findUser(tx, { projectId, by }))
  if (known) return known.id
  const isSame = email !== null ? eq(users.email, email) : eq(users.signInWallet, signInWallet ?? '')
  const there = by === null ? sql`false` : and(eq(users.projectId, projectId), isSame)
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
) => {
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
) => {
  const where = and(eq(users.projectId, projectId), eq(users.id, id))
  await updateRows(tx, users, { set: { tokensFrom, keptToken, mac }, where })
}

/**
 * What the project calls the user's issuer now; null if it has none of this URL. In a list of columns Drizzle writes a
 * column without its table, and that would be the issuer's column.
 */
export const issuerName = sql<string | null>`(select string_agg(i.name, ', ' order by i.name) from public.issuers i
  where i.project_id = users.project_id and i.issuer = users.issuer)`

const issuerNameOf = prepare((db, user: Given<OfUser>) => db.select({ issuerName }).from(users).where(isUser(user)))

export const findIssuerName = async (db: Queryable, user: OfUser): Promise<string | null> => {
  const [row] = await issuerNameOf(db, user)
  return row?.issuerName ?? null
}

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

/** The user was not told yet that what opens their wallets was changed. */
type SecretChange = typeof secretChanges.$inferSelect

export const insertSecretChange = async (
  db: Db,
  { projectId, userId, secret, actor }: Pick<SecretChange, 'projectId' | 'userId' | 'secret' | 'actor'>,
) => {
  const row = { projectId, userId, secret, actor }
  return (await insertRow(db, secretChanges, row)).id
}

export const deleteSecretChange = async (db: Db | Tx, id: string) => {
  await deleteRows(db, secretChanges, { where: eq(secretChanges.id, id) })
}

/** Some that were not ended in time, locked; another process skips them. */
export const lockLeftSecretChanges = (
  tx: Tx,
  { ageSeconds, limit }: { readonly ageSeconds: number; readonly limit: number },
): Promise<readonly SecretChange[]> =>
  tx
    .select()
    .from(secretChanges)
    .where(lt(secretChanges.createdAt, sql`now() - make_interval(secs => ${ageSeconds})`))
    .orderBy(secretChanges.createdAt)
    .limit(limit)
    .for('update', { skipLocked: true })
