import { and, desc, eq, exists, isNull, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { passkeys, users } from '../schema.ts'

export type UserRow = typeof users.$inferSelect

/**
 * Only one at a time changes a user's ways in, or ends their sessions. Taken before any row of a session: those who change
 * both would otherwise wait for each other.
 */
export const lockUser = async (
  tx: Tx,
  { projectId, userId }: { readonly projectId: string; readonly userId: string },
): Promise<void> => {
  await tx
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.projectId, projectId), eq(users.id, userId)))
    .for('no key update')
}

/** What an access token tells of a user. */
type UserFacts = UserRow & { readonly hasPasskeys: boolean }

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

/** The user of a session. @throws Error where there is none. */
export const readUserFacts = async (
  db: Queryable,
  key: { readonly projectId: string; readonly id: string },
): Promise<UserFacts> => {
  const [row] = await db
    .select({
      user: users,
      hasPasskeys: sql<boolean>`${exists(
        db
          .select({ one: sql`1` })
          .from(passkeys)
          .where(and(eq(passkeys.projectId, users.projectId), eq(passkeys.userId, users.id))),
      )}`,
    })
    .from(users)
    .where(and(eq(users.projectId, key.projectId), eq(users.id, key.id)))
  if (row === undefined) throw new Error('a session belongs to a user who is not there')
  return { ...row.user, hasPasskeys: row.hasPasskeys }
}

/**
 * Makes a user whose first proof has just been seen, unless there is one.
 * @returns whose proof it is: of two that come at the same time the first makes the user, for both.
 */
export const ensureUser = async (
  tx: Tx,
  input: {
    readonly id: string
    readonly projectId: string
    readonly email?: string
    readonly signInWallet?: string
  },
): Promise<string> => {
  await tx.insert(users).values(input).onConflictDoNothing()
  const { projectId, email, signInWallet, id } = input
  const by = email !== undefined ? { email } : signInWallet !== undefined ? { signInWallet } : { id }
  const user = await findUser(tx, { projectId, by })
  if (user === null) throw new Error('a user was neither inserted nor there')
  return user.id
}

/**
 * Gives a user their e-mail address, where they have none.
 * @returns false where they have one, or another user of the project has this.
 */
export const setUserEmail = async (
  tx: Tx,
  input: { readonly projectId: string; readonly id: string; readonly email: string },
): Promise<boolean> => {
  const rows = await tx
    .update(users)
    .set({ email: input.email })
    .where(
      and(
        eq(users.projectId, input.projectId),
        eq(users.id, input.id),
        isNull(users.email),
        sql`not exists (select from ${users} other where other.project_id = ${input.projectId}
          and other.email = ${input.email} and other.id <> ${input.id})`,
      ),
    )
    .returning({ id: users.id })
  return rows.length === 1
}

/** For operators: the newest first. */
export const listUsers = async (
  db: Queryable,
  input: { readonly projectId: string; readonly limit: number },
): Promise<readonly UserRow[]> =>
  db
    .select()
    .from(users)
    .where(eq(users.projectId, input.projectId))
    .orderBy(desc(users.createdAt), desc(users.id))
    .limit(input.limit)
