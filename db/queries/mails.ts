// Mails on their way. Their texts are erased once they are sent or cannot be sent any more.

import { and, desc, eq, gt, isNotNull, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { mails } from '../schema.ts'

export const insertMail = async (
  tx: Tx,
  input: {
    readonly id: string
    readonly projectId: string
    readonly recipient: string
    readonly subject: string
    readonly sealed: Uint8Array
    readonly lifetimeSeconds: number
  },
): Promise<void> => {
  const { lifetimeSeconds, ...values } = input
  await tx.insert(mails).values({ ...values, expiresAt: sql`now() + make_interval(secs => ${lifetimeSeconds})` })
}

/** A mail that is yet to be sent. */
export type WaitingMail = {
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly sealed: Uint8Array
  readonly isExpired: boolean
  /** Seconds since it was written. */
  readonly age: number
}

/** @returns null for one that was sent, that cannot be, or that is not there. */
export const findWaitingMail = async (db: Queryable, id: string): Promise<WaitingMail | null> => {
  const [row] = await db
    .select({
      id: mails.id,
      recipient: mails.recipient,
      subject: mails.subject,
      sealed: mails.sealed,
      isExpired: sql<boolean>`${mails.expiresAt} <= now()`,
      age: sql<number>`extract(epoch from now() - ${mails.createdAt})::float`,
    })
    .from(mails)
    .where(and(eq(mails.id, id), sql`${mails.sentAt} is null`))
  return row === undefined || row.sealed === null ? null : { ...row, sealed: row.sealed }
}

/** A mail is sent: nothing of its text is kept. */
export const markMailSent = async (db: Queryable, id: string): Promise<void> => {
  await db.update(mails).set({ sentAt: sql`now()`, sealed: null }).where(eq(mails.id, id))
}

/** A mail is shown instead of sent: its text stays for whoever looks. */
export const markMailShown = async (db: Queryable, id: string): Promise<void> => {
  await db.update(mails).set({ sentAt: sql`now()` }).where(eq(mails.id, id))
}

/** A mail cannot be sent any more. @param input.failure is no secret, and says why. */
export const markMailFailed = async (
  db: Queryable,
  input: { readonly id: string; readonly failure: string },
): Promise<void> => {
  await db.update(mails).set({ failure: input.failure, sealed: null }).where(eq(mails.id, input.id))
}

/** A text that nobody erased stays for so long after its mail has expired. */
const KEPT_AFTER_EXPIRY = sql`interval '1 hour'`
/** Who was written to is kept for so long, for whoever asks what became of a mail. */
const KEPT_DAYS = 30

/** @returns how many rows were dropped. */
export const dropOldMails = async (db: Queryable): Promise<number> => {
  await db
    .update(mails)
    .set({ sealed: null, failure: sql`case when ${mails.sentAt} is null then 'expired' end` })
    .where(and(isNotNull(mails.sealed), sql`${mails.expiresAt} + ${KEPT_AFTER_EXPIRY} < now()`))
  const old = sql`${mails.createdAt} < now() - make_interval(days => ${KEPT_DAYS})`
  return (await db.delete(mails).where(old).returning({ one: sql`1` })).length
}

type ReadableMail = {
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly sealed: Uint8Array
  readonly createdAt: Date
}

/** The mails whose texts are kept, the newest first. */
export const listReadableMails = async (
  db: Queryable,
  input: { readonly limit: number },
): Promise<readonly ReadableMail[]> => {
  const { id, recipient, subject, sealed, createdAt } = mails
  const rows = await db
    .select({ id, recipient, subject, sealed, createdAt })
    .from(mails)
    .where(and(isNotNull(sealed), gt(sql`${mails.expiresAt} + ${KEPT_AFTER_EXPIRY}`, sql`now()`)))
    .orderBy(desc(createdAt), desc(id))
    .limit(input.limit)
  return rows.flatMap((row) => (row.sealed === null ? [] : [{ ...row, sealed: row.sealed }]))
}
