import type { HasDb } from '../../../db/client.ts'
import {
  findWaitingMail,
  markMailFailed,
  markMailSent,
  markMailShown,
  type WaitingMail,
} from '../../../db/queries/mails.ts'
import type { HasConfig } from '../../platform/config.ts'
import type { HasLog } from '../../platform/process/log.ts'
import type { HasSealer } from '../../platform/sealing/sealer.ts'
import { reportForged } from '../auth/row-macs.ts'
import { requirePresentKeys } from '../retired-keys.ts'
import type { HasSecurityEvents } from '../security-events.ts'
import type { HasMailer } from './mailer.ts'
import { openMail } from './queue.ts'

type SendCtx = HasDb & HasSealer & HasConfig & HasLog & HasMailer & HasSecurityEvents

/** `again`: the server did not accept the mail now; try again after the delay. */
type SendResult = { readonly state: 'done' } | { readonly state: 'again'; readonly delaySeconds: number }

const DONE: SendResult = { state: 'done' }
const FIRST_DELAY_SECONDS = 1
const MAX_DELAY_SECONDS = 60

/** Half of the mail's age: about twenty tries in the ten minutes of a login code, most of them early. */
const delayOf = (mail: WaitingMail): number => Math.min(Math.max(mail.age / 2, FIRST_DELAY_SECONDS), MAX_DELAY_SECONDS)

/**
 * Sends a mail and erases its text, unless it was sent before, was refused for good or has expired. At least once:
 * after a crash between the server's reply and our note of it, the mail goes out again with the same Message-ID. No
 * database transaction is open while it sends.
 * @throws unavailable if the service key was changed, and this process has the earlier one.
 */
export const sendMail = async (ctx: SendCtx, mailId: string): Promise<SendResult> => {
  const mail = await findWaitingMail(ctx.db, mailId)
  if (mail === null) return DONE
  const { id, projectId, recipient, subject } = mail
  const fail = async (failure: string): Promise<SendResult> => {
    await markMailFailed(ctx.db, { id, failure })
    ctx.log.warn({ mailId, failure }, 'a mail was not sent')
    return DONE
  }
  if (mail.isExpired) return fail('expired')
  if (ctx.mailer === null && !ctx.config.devnet) return fail('no MAIL_URL')

  const text = openMail(ctx.sealer, mail)
  if (text === null) {
    // When the service key is changed, mails are sealed anew: this process may have the earlier key and not know that
    // yet.
    await requirePresentKeys(ctx)
    reportForged(ctx, { table: 'mails', id, projectId })
    return fail('it is not as the service wrote it')
  }
  if (ctx.mailer === null) {
    // Reached only in a devnet.
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
  ctx.log.warn({ mailId, reason: refusal.reason, delaySeconds }, 'a mail was not accepted, and will be sent again')
  return { state: 'again', delaySeconds }
}
