import type { Tx } from '../../../db/client.ts'
import { type EndpointRow, markDisabled } from '../../../db/queries/webhooks.ts'
import { mailText, queueMail, sendsMail } from '../../identity/mail/queue.ts'
import type { HasWorkerAudit } from '../../platform/audit/audit.ts'
import type { HasConfig } from '../../platform/config.ts'
import { unreachable } from '../../platform/errors.ts'
import type { HasLog } from '../../platform/process/log.ts'
import type { HasSealer } from '../../platform/sealing/sealer.ts'
import { FAILURE_WORDS } from './failure-words.ts'
import type { Posted } from './post.ts'

const MAIL_SECONDS = 3 * 86_400

/** Why an endpoint is given up: its receiver is gone (410), or has taken nothing for three days. */
type GivenUp = { readonly why: 'gone' } | { readonly why: 'took_nothing'; readonly since: Date }

/** A sentence about the webhook. */
const reasonOf = (given: GivenUp, last: string): string => {
  switch (given.why) {
    case 'gone':
      return `Its receiver wants no more events: ${last}.`
    case 'took_nothing':
      return `It took nothing since ${given.since.toISOString()}: ${last}.`
    default:
      return unreachable(given)
  }
}

/** Disables an endpoint, and writes a mail to its contact. */
export const giveUp = async (
  ctx: HasWorkerAudit & HasSealer & HasConfig & HasLog,
  tx: Tx,
  { endpoint, answer, given }: { readonly endpoint: EndpointRow; readonly answer: Posted; readonly given: GivenUp },
): Promise<void> => {
  const { id, projectId, url, contactEmail } = endpoint
  if (endpoint.state !== 'enabled' || answer.failure === null) return
  const why = reasonOf(given, FAILURE_WORDS[answer.failure](answer.status))
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
