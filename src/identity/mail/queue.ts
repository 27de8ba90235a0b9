import { randomUUID } from 'node:crypto'
import type { Tx } from '../../../db/client.ts'
import { addJob } from '../../../db/jobs.ts'
import { insertMail } from '../../../db/queries/mails.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasSealer, Sealer } from '../../platform/sealing/sealer.ts'

const PURPOSE = 'mail'

type Envelope = { readonly id: string; readonly recipient: string; readonly subject: string }

/** The text is sealed for one recipient: a writer of the database gets no login code mailed to themself. */
const rowIdOf = ({ id, recipient, subject }: Envelope): string => [id, recipient, subject].join('\n')

/** @returns null if another program than the service wrote the mail, its recipient or its subject. */
export const openMail = (sealer: Sealer, mail: Envelope & { readonly sealed: Uint8Array }): string | null => {
  sealer.requirePresent()
  try {
    return Buffer.from(sealer.open({ purpose: PURPOSE, rowId: rowIdOf(mail), sealed: mail.sealed })).toString()
  } catch {
    return null
  }
}

export const sealMail = (
  sealer: Pick<Sealer, 'seal'>,
  { text, ...mail }: Envelope & { readonly text: string },
): Uint8Array => sealer.seal({ purpose: PURPOSE, rowId: rowIdOf(mail), plaintext: Buffer.from(text) })

export type Mail = {
  readonly projectId: string
  readonly recipient: string
  readonly subject: string
  readonly text: string
  /** After this the mail is useless and is not sent. */
  readonly lifetimeSeconds: number
}

export const sendsMail = (ctx: HasConfig): boolean => ctx.config.mailUrl !== null || ctx.config.devnet

/** @throws not_implemented if this deployment sends no mail. */
export const requireMail = (ctx: HasConfig): void => {
  if (sendsMail(ctx)) return
  throw new AppError('not_implemented', 'This deployment sends no mail: its operator has set no MAIL_URL.')
}

/** A name as part of one line of a mail. */
export const lineOf = (name: string): string => name.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').trim()

export const mailText = (paragraphs: readonly string[]): string => paragraphs.map((each) => `${each}\n`).join('\n')

/** A line break would begin another header. */
const ONE_LINE = /^[^\p{Cc}\u2028\u2029]*$/u

/** Queues a mail for the worker. It is sent only if the transaction commits. */
export const queueMail = async (ctx: HasSealer, tx: Tx, mail: Mail): Promise<void> => {
  const { text, ...shown } = mail
  if (!ONE_LINE.test(shown.recipient) || !ONE_LINE.test(shown.subject)) {
    throw new Error('the recipient and the subject of a mail must be one line each')
  }
  const id = randomUUID()
  const sealed = sealMail(ctx.sealer, { id, recipient: shown.recipient, subject: shown.subject, text })
  await insertMail(tx, { id, ...shown, sealed })
  await addJob(tx, 'send_mail', { mailId: id })
}
