// Outgoing mails. A text is erased when its mail was sent or cannot be sent any more.

import { and, desc, eq, gt, isNotNull, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { insertRow } from '../deciding-rows.ts'
import { mails } from '../schema.ts'

type Mail = Pick<typeof mails.$inferSelect, 'id' | 'recipient' | 'subject'> & { readonly sealed: Uint8Array }

const ifSealed = <Row extends { readonly sealed: Uint8Array | null }>({ sealed, ...row }: Row) =>
  sealed === null ? [] : [{ ...row, sealed }]

export const insertMail = async (
  tx: Tx,
  input: Mail & { readonly projectId: string; readonly lifetimeSeconds: number },
) => {
  const { lifetimeSeconds, ...values } = input
  await insertRow(tx, mails, { ...values, expiresAt: sql`now() + make_interval(secs => ${lifetimeSeconds})` })
}

/** `age`: seconds since it was written. */
export type WaitingMail = Mail & {
  readonly projectId: string
  readonly isExpired: boolean
  readonly age: number
}

/** @returns null if it was sent, cannot be sent any more, or does not exist. */
export const findWaitingMail = async (db: Queryable, id: string): Promise<WaitingMail | null> => {
  const [row] = await db
    .select({
      id: mails.id,
      projectId: mails.projectId,
      recipient: mails.recipient,
      subject: mails.subject,
      sealed: mails.sealed,
      isExpired: sql<boolean>`${mails.expiresAt} <= now()`,
      age: sql<number>`extract(epoch from now() - ${mails.createdAt})::float`,
    })
    .from(mails)
    .where(and(eq(mails.id, id), sql`${mails.sentAt} is null`))
  return (row && ifSealed(row)[0]) ?? null
}

export const markMailSent = async (db: Queryable, id: string) => {
  await db.update(mails).set({ sentAt: sql`now()`, sealed: null }).where(eq(mails.id, id))
}

/** For `dev`, which shows mails in place of sending them: the text stays. */
export const markMailShown = async (db: Queryable, id: string) => {
  await db.update(mails).set({ sentAt: sql`now()` }).where(eq(mails.id, id))
}

/** Records that a mail cannot be sent any more, and erases its text. @param input.failure why; without a secret. */
export const markMailFailed = async (
  db: Queryable,
  { id, failure }: { readonly id: string; readonly failure: string },
) => {
  await db.update(mails).set({ failure, sealed: null }).where(eq(mails.id, id))
}

/** How long a text that was not erased is kept after its mail has expired. */
const KEPT_AFTER_EXPIRY = sql`interval '1 hour'`
/** How long the rest of the row is kept, for questions about a mail. */
const KEPT_DAYS = 30

export const dropOldMails = async (db: Queryable) => {
  await db
    .update(mails)
    .set({ sealed: null, failure: sql`case when ${mails.sentAt} is null then 'expired' end` })
    .where(and(isNotNull(mails.sealed), sql`${mails.expiresAt} + ${KEPT_AFTER_EXPIRY} < now()`))
  const old = sql`${mails.createdAt} < now() - make_interval(days => ${KEPT_DAYS})`
  return (await db.delete(mails).where(old)).rowCount ?? 0
}

type ReadableMail = Mail & { readonly createdAt: Date }

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
  return rows.flatMap(ifSealed)
}

export const lockSealedMails = async (tx: Tx): Promise<readonly Mail[]> => {
  const { id, recipient, subject, sealed } = mails
  const rows = await tx.select({ id, recipient, subject, sealed }).from(mails).where(isNotNull(sealed)).for('update')
  return rows.flatMap(ifSealed)
}

export const resealMail = async (tx: Tx, { id, sealed }: Pick<Mail, 'id' | 'sealed'>) => {
  await tx.update(mails).set({ sealed }).where(eq(mails.id, id))
}
