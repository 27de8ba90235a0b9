import {
  findWaitingMail,
  markMailFailed,
  markMailSent,
  markMailShown,
  type WaitingMail,
} from '../../db/queries/mails.ts'
import type { WorkerCtx } from '../context.ts'
import { MAIL_PURPOSE } from './queue.ts'

type SendCtx = Pick<WorkerCtx, 'db' | 'sealer' | 'config' | 'log' | 'mailer'>

/** `again` where the server did not take it now, and when it is worth asking once more. */
export type SendResult = { readonly state: 'done' } | { readonly state: 'again'; readonly delaySeconds: number }

const DONE: SendResult = { state: 'done' }
const FIRST_DELAY_SECONDS = 1
const MAX_DELAY_SECONDS = 60

/** The wait is half of the mail's age: some twenty tries in the ten minutes of a login code, most of them at its beginning. */
const delayOf = (mail: WaitingMail): number => Math.min(Math.max(mail.age / 2, FIRST_DELAY_SECONDS), MAX_DELAY_SECONDS)

/**
 * Sends a mail, unless it was sent, refused for good, or is of no use any more. Its text is erased then. At least once: who
 * is killed between the server's yes and our note of it sends the mail again, under the same Message-ID.
 * No database transaction is open meanwhile.
 */
export const sendMail = async (ctx: SendCtx, mailId: string): Promise<SendResult> => {
  const mail = await findWaitingMail(ctx.db, mailId)
  if (mail === null) return DONE
  const { id, recipient, subject, sealed } = mail
  const fail = async (failure: string): Promise<SendResult> => {
    await markMailFailed(ctx.db, { id, failure })
    ctx.log.warn({ mailId, failure }, 'a mail was not sent')
    return DONE
  }
  if (mail.isExpired) return fail('expired')
  if (ctx.mailer === null && !ctx.config.devnet) return fail('no MAIL_URL')

  const text = Buffer.from(ctx.sealer.open({ purpose: MAIL_PURPOSE, rowId: id, sealed })).toString()
  if (ctx.mailer === null) {
    // On a developer's machine alone.
    ctx.log.info({ recipient, subject, text }, 'a mail; /dev/mailbox shows it too')
    await markMailShown(ctx.db, id)
    return DONE
  }
  const refusal = await ctx.mailer.send({ id, recipient, subject, text })
  if (refusal === null) {
    await markMailSent(ctx.db, id)
    return DONE
  }
  if (refusal.final) return fail(refusal.reason)
  const delaySeconds = delayOf(mail)
  ctx.log.warn({ mailId, reason: refusal.reason, delaySeconds }, 'a mail was not taken, and is sent again')
  return { state: 'again', delaySeconds }
}
