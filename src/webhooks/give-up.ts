import type { Tx } from '../../db/client.ts'
import { type EndpointRow, markDisabled } from '../../db/queries/webhooks.ts'
import type { WorkerCtx } from '../context.ts'
import { mailText, queueMail, sendsMail } from '../mail/queue.ts'
import { FAILURE_WORDS } from './failure-words.ts'
import type { Posted } from './post.ts'

const MAIL_SECONDS = 3 * 86_400

/** Disables an endpoint that has taken nothing for three days, and writes a mail to its contact. */
export const giveUp = async (
  ctx: Pick<WorkerCtx, 'audit' | 'sealer' | 'config' | 'log'>,
  tx: Tx,
  { endpoint, answer, since }: { readonly endpoint: EndpointRow; readonly answer: Posted; readonly since: Date },
): Promise<void> => {
  const { id, projectId, url, contactEmail } = endpoint
  if (endpoint.state !== 'enabled' || answer.failure === null) return
  const last = FAILURE_WORDS[answer.failure](answer.status)
  const why = `It took nothing since ${since.toISOString()}: ${last}.`
  await markDisabled(tx, { id, why })
  await ctx.audit.record(tx, {
    projectId,
    actor: 'system',
    action: 'webhook_given_up',
    subject: id,
    details: { url, failure: answer.failure },
  })
  tx.afterCommit(() => ctx.log.warn({ webhookId: id, projectId, failure: answer.failure }, 'a webhook was disabled'))
  if (contactEmail === null || !sendsMail(ctx)) return
  await queueMail(ctx, tx, {
    projectId,
    recipient: contactEmail,
    subject: 'A webhook was disabled',
    text: mailText([
      `The webhook ${id} of your project ${projectId} was disabled, because it took no event since ${since.toISOString()}.`,
      `Its URL: ${url}`,
      `The last failure: ${last}.`,
      'Events are kept for 30 days. Correct the receiver and enable the webhook with POST /webhooks/update: it then gets what it missed, in order.',
    ]),
    lifetimeSeconds: MAIL_SECONDS,
  })
}
