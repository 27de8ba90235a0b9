// Logins under way: nonces that must come back signed, once, and the MACs of mailed codes, one live code for each user
// and purpose. Expired rows count as absent until a job deletes them.

import { and, eq, gt, lt, sql } from 'drizzle-orm'
import type { Db, Tx } from '../client.ts'
import { deleteRows, endedName, insertRow, rowDeleter, upsertRow } from '../deciding-rows.ts'
import type { Given } from '../prepare.ts'
import { firstRow, readValue } from '../rows.ts'
import { emailCodes, nonces, users } from '../schema.ts'
import { NotWritten } from '../written.ts'

/** Deletes the rows of a table that are over, as the table's file in db/schema says. @returns how many. */
export const clearExpired = async (db: Db, table: string) =>
  (await readValue<number>(db)`select public.strongroom_clear_expired(${table}) as cleared`) ?? 0

export type NonceRow = typeof nonces.$inferSelect
export type NonceKey = Pick<NonceRow, 'projectId' | 'kind' | 'nonce'>

export const insertNonce = async (db: Db | Tx, row: NonceRow) => {
  await insertRow(db, nonces, row)
}

export const findNonce = (db: Db, { projectId, kind, nonce }: NonceKey): Promise<NonceRow | null> =>
  firstRow(db.prepared<NonceRow>`
    select project_id as "projectId", kind, nonce, user_id as "userId", target, created_at as "createdAt",
      expires_at as "expiresAt", mac
    from public.nonces
    where project_id = ${projectId}::uuid and kind = ${kind} and nonce = ${nonce} and expires_at > now()`)

const deleteNonce = rowDeleter(nonces, {
  where: ({ projectId, kind, nonce }: Given<NonceKey>) =>
    and(
      eq(nonces.projectId, projectId),
      eq(nonces.kind, kind),
      eq(nonces.nonce, nonce),
      gt(nonces.expiresAt, sql`now()`),
    ),
  final: 'once',
})

/** Uses a nonce up. @returns null if it is unknown, used or expired. */
export const useNonce = (tx: Tx, key: NonceKey): Promise<NonceRow | null> => firstRow(deleteNonce(tx, key))

type EmailCodeRow = typeof emailCodes.$inferSelect
/** The user may not exist yet. */
export type CodeKey = Pick<EmailCodeRow, 'projectId' | 'userId' | 'purpose'>

const ofKey = (key: CodeKey) =>
  and(
    eq(emailCodes.projectId, key.projectId),
    eq(emailCodes.userId, key.userId),
    eq(emailCodes.purpose, key.purpose),
    gt(emailCodes.expiresAt, sql`now()`),
  )

/** Stores a code in place of the one before it. */
export const putEmailCode = async (tx: Tx, input: CodeKey & Pick<EmailCodeRow, 'email' | 'codeMac' | 'expiresAt'>) => {
  const { projectId, userId, purpose, email, codeMac, expiresAt } = input
  const fresh = { email, codeMac, expiresAt, tries: 0 }
  await upsertRow(tx, emailCodes, {
    values: { projectId, userId, purpose, ...fresh },
    target: [emailCodes.projectId, emailCodes.userId, emailCodes.purpose],
    set: { ...fresh, createdAt: sql`now()` },
  })
}

/** Call it before you compare codes, as guesses may be concurrent. @returns null without a live code or a try left. */
export const takeCodeTry = async (
  db: Db,
  input: CodeKey & { readonly triesMax: number },
): Promise<EmailCodeRow | null> => {
  const [row] = await db
    .update(emailCodes)
    .set({ tries: sql`${emailCodes.tries} + 1` })
    .where(and(ofKey(input), lt(emailCodes.tries, input.triesMax)))
    .returning()
  if (row === undefined) return null
  // Each try has its own number: one that comes again is of a count that was set back. One statement, as for an unknown
  // user.
  const name = endedName('email_codes', [row.codeMac, row.tries])
  if (row.tries < 1 || db.ended.has(name)) throw new NotWritten('email_codes', row)
  db.ended.add(name)
  return row
}

/** Uses a code up. @returns false if it was used or replaced meanwhile, or has expired. */
export const useEmailCode = async (tx: Tx, input: CodeKey & Pick<EmailCodeRow, 'codeMac'>) => {
  const rows = await deleteRows(tx, emailCodes, { where: and(ofKey(input), eq(emailCodes.codeMac, input.codeMac)) })
  return rows.length === 1
}

/** Users without a way to log in are kept for so long. */
const UNREACHABLE_DAYS = 90

/** An anonymous user who cannot log in again, and has no wallet. */
const isUnreachable = sql`${users.email} is null and ${users.signInWallet} is null and ${users.issuer} is null
  and not exists (select from public.passkeys p where p.project_id = ${users.projectId} and p.user_id = ${users.id})
  and not exists (select from public.sessions s where s.project_id = ${users.projectId} and s.user_id = ${users.id})
  and not exists (select from public.wallets w where w.project_id = ${users.projectId} and w.owner_id = ${users.id}::text)`

const LOGINS = ['email_codes', 'nonces', 'session_challenges', 'throttles', 'sessions'] as const

export const dropExpiredLogins = async (db: Db) => {
  let dropped = 0
  for (const table of LOGINS) dropped += await clearExpired(db, table)
  const isOld = sql`${users.createdAt} < now() - make_interval(days => ${UNREACHABLE_DAYS})`
  return dropped + ((await db.delete(users).where(and(isUnreachable, isOld))).rowCount ?? 0)
}
