import type { Tx } from '../../../db/client.ts'
import { type EndpointRow, markDisabled } from '../../../db/queries/webhooks.ts'
import { mailText, queueMail, sendsMail } from '../../identity/mail/queue.ts'
import type { DeliverCtx } from './deliver.ts'
import { FAILURE_WORDS } from './failure-words.ts'
import type { Posted } from './post.ts'

const MAIL_SECONDS = 3 * 86_400

/** Why an endpoint is given up: its receiver is gone (410), or has taken nothing for three days. */
type GivenUp = { readonly why: 'gone' } | { readonly why: 'took_nothing'; readonly since: Date }

const describeReason = (given: GivenUp, last: string): string =>
  given.why === 'gone'
    ? `Its receiver wants no more events: ${last}.`
    : `It took nothing since ${given.since.toISOString()}: ${last}.`

export const giveUp = async (
  ctx: DeliverCtx,
  tx: Tx,
  { endpoint, answer, given }: { readonly endpoint: EndpointRow; readonly answer: Posted; readonly given: GivenUp },
): Promise<void> => {
  const { id, projectId, url, contactEmail } = endpoint
  if (endpoint.state !== 'enabled' || answer.failure === null) return
  const why = describeReason(given, FAILURE_WORDS[answer.failure](answer.status))
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
      `The webhook ${id} of your project ${projectId} was disabled. ${why}`,
      `Its URL: ${url}`,
      'Events are kept for 30 days. Correct the receiver and enable the webhook with POST /webhooks/update: it then gets what it missed.',
    ]),
    lifetimeSeconds: MAIL_SECONDS,
  })
}
