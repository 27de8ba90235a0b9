// What an operator can do at the console. Each action is asked once: its page says what it will do, and only the form
// on that page does it. Verbs write the audit, with the operator's name.

import { FREEZE_SCOPES } from '../../../db/words.ts'
import { switchEndpoint } from '../../events/webhooks/change.ts'
import { nameWebhook, replay } from '../../events/webhooks/deliveries.ts'
import { AppError, unreachable } from '../../platform/errors.ts'
import { UUID } from '../../platform/http/text.ts'
import { html } from '../../platform/pages/page.ts'
import { cancelTransaction, retryTransaction } from '../../signing/transactions/waiting.ts'
import { retryFailedJobs, retryJob } from '../background/retry.ts'
import { freeze, type Target, unfreeze } from '../freezes/freeze.ts'
import type { ConsoleCtx } from './context.ts'
import { csrfField, type Shown } from './frame.ts'
import type { Session } from './session.ts'
import { numberIn } from './table.ts'

type Fields = ReadonlyMap<string, string>

/** An action with its parameters, read from a query or a form. */
export type Prepared = {
  readonly title: string
  readonly sentences: readonly string[]
  readonly button: string
  /** Whether the operator must write a reason. */
  readonly asksReason?: true
  /** What the form repeats. */
  readonly fields: Readonly<Record<string, string>>
  readonly back: string
  /** @returns what was done, as a sentence. */
  readonly run: (ctx: ConsoleCtx, input: { readonly actor: string; readonly reason: string }) => Promise<string>
}

const idIn = (fields: Fields, name = 'id'): string => {
  const id = fields.get(name) ?? ''
  if (!UUID.test(id)) throw new AppError('invalid_input', `Field "${name}" must be a UUID.`)
  return id.toLowerCase()
}

const textIn = (fields: Fields, name: string): string => {
  const text = fields.get(name)?.trim() ?? ''
  if (text === '' || text.length > 256) throw new AppError('invalid_input', `Field "${name}" must not be empty.`)
  return text
}

const transactionRetry = (fields: Fields): Prepared => {
  const id = idIn(fields)
  return {
    title: 'Send this transaction again?',
    sentences: [
      `The attempt that is chosen now of transaction ${id} is sent to a node at once.`,
      'Sending twice does no harm: a node that has it already keeps it.',
    ],
    button: 'Send it now',
    fields: { id },
    back: `/transactions/${id}`,
    run: async (ctx, { actor }) => {
      await retryTransaction(ctx, { id, actor, reach: null })
      return 'A job sends it now, if a worker runs.'
    },
  }
}

const transactionCancel = (fields: Fields): Prepared => {
  const id = idIn(fields)
  return {
    title: 'Give up this transaction?',
    sentences: [
      `From now on only the cancel of transaction ${id} is sent. It does nothing but use the nonce.`,
      'This cannot be undone without the wallet’s credential. A node may have an attempt already: if that is mined, it counts.',
    ],
    button: 'Give it up',
    fields: { id },
    back: `/transactions/${id}`,
    run: async (ctx, { actor }) =>
      (await cancelTransaction(ctx, { id, actor, reach: null })).isNew
        ? 'Given up: it ends as failed (expired) once the cancel is final, unless an attempt is mined before.'
        : 'It was already given up.',
  }
}

const jobRetry = (fields: Fields): Prepared => {
  const id = numberIn(textIn(fields, 'id'))
  if (id === null) throw new AppError('invalid_input', 'Field "id" must be the number of a job.')
  return {
    title: 'Run this job again?',
    sentences: [`Job ${id} runs now, as if it had never failed. If a worker runs it already, nothing happens.`],
    button: 'Run it now',
    fields: { id },
    back: '/jobs',
    run: async (ctx, { actor }) => {
      const job = await retryJob(ctx, { id: BigInt(id), actor })
      return `Job ${job.id} (${job.task}) runs again now, if a worker runs.`
    },
  }
}

const jobsRetry = (): Prepared => ({
  title: 'Run all failed jobs again?',
  sentences: ['All jobs whose last run failed, at most 1,000, run now, as if they had never failed.'],
  button: 'Run them now',
  fields: {},
  back: '/jobs?failed=yes',
  run: async (ctx, { actor }) => {
    const jobs = await retryFailedJobs(ctx, { actor })
    return jobs.length === 0 ? 'No job has failed.' : `Jobs that run again now, if a worker runs: ${jobs.length}.`
  },
})

const targetIn = ({ config }: ConsoleCtx, fields: Fields): { readonly target: Target; readonly name: string } => {
  const scope = FREEZE_SCOPES.find((each) => each === fields.get('scope'))
  switch (scope) {
    case 'project': {
      const projectId = idIn(fields, 'project')
      return { target: { scope, projectId }, name: `the project ${projectId}` }
    }
    case 'owner': {
      const [projectId, ownerId] = [idIn(fields, 'project'), textIn(fields, 'owner')]
      return { target: { scope, projectId, ownerId }, name: `the owner ${ownerId} of the project ${projectId}` }
    }
    case 'wallet': {
      const walletId = idIn(fields, 'wallet')
      return { target: { scope, walletId }, name: `the wallet ${walletId}` }
    }
    case 'network': {
      const network = config.networks.find((each) => each.network === fields.get('network'))?.network
      if (network !== undefined) return { target: { scope, network }, name: `the network ${network}, for all projects` }
      throw new AppError('invalid_input', 'Field "network" must be a network of this deployment.')
    }
    case undefined:
      throw new AppError('invalid_input', `Field "scope" must be one of ${FREEZE_SCOPES.join(', ')}.`)
    default:
      return unreachable(scope)
  }
}

/** What the pages for freezing and releasing have alike. */
const aboutTarget = (fields: Fields) => ({
  asksReason: true as const,
  fields: Object.fromEntries(
    ['scope', 'project', 'owner', 'wallet', 'network'].map((name) => [name, fields.get(name) ?? '']),
  ),
  back: '/freezes',
})

/** @throws unavailable */
const freezerOf = ({ db, vault }: ConsoleCtx) => {
  if (vault === null) throw new AppError('unavailable', 'Only a vault freezes: set VAULT_SOCKET for the console, too.')
  return { db, vault }
}

const freezing = (fields: Fields, ctx: ConsoleCtx): Prepared => {
  const { target, name } = targetIn(ctx, fields)
  const ofWallet =
    'The owner’s wallets on other networks may have the same private key. To stop them too, freeze the owner.'
  return {
    ...aboutTarget(fields),
    title: `Freeze ${name}?`,
    sentences: [
      'From the next request on nothing is signed for it, and no wallet of it can be created, exported or changed: callers get the error “frozen”.',
      'Transactions that are already recorded are still sent.',
      ...(target.scope === 'wallet' ? [ofWallet] : []),
    ],
    button: 'Freeze',
    run: async (on, { actor, reason }) =>
      (await freeze(freezerOf(on), { target, reason, actor })) ? `Frozen: ${name}.` : `It was already frozen: ${name}.`,
  }
}

const unfreezing = (fields: Fields, ctx: ConsoleCtx): Prepared => {
  const { target, name } = targetIn(ctx, fields)
  return {
    ...aboutTarget(fields),
    title: `Release ${name}?`,
    sentences: [
      'Its keys can be used again from the next request on. What is also frozen in another way stays frozen: a wallet of a frozen project, for instance.',
    ],
    button: 'Release',
    run: async (on, { actor, reason }) =>
      (await unfreeze(freezerOf(on), { target, reason, actor })) ? `Released: ${name}.` : `It was not frozen: ${name}.`,
  }
}

const auditVerify = (): Prepared => ({
  title: 'Check the whole audit?',
  sentences: [
    'Every audit row is read and computed again. With millions of rows this takes minutes. Nothing is changed.',
    'The chains and the rows of vaults are checked too if this process may open a vault’s operator socket. The archive of the audit is not read. What was not checked is said.',
  ],
  button: 'Check it',
  fields: {},
  back: '/audit/check',
  run: async ({ auditCheck }, { actor }) =>
    auditCheck.begin(actor) ? 'The check has begun.' : 'A check is running already.',
})

type WebhookAction = Pick<Prepared, 'title' | 'button'> & {
  readonly sentences: (id: string) => readonly string[]
  readonly run: (ctx: ConsoleCtx, named: WebhookAct) => Promise<string>
}

type WebhookAct = Awaited<ReturnType<typeof nameWebhook>> & { readonly actor: string }

const onWebhook =
  ({ sentences, run, ...words }: WebhookAction) =>
  (fields: Fields): Prepared => {
    const id = idIn(fields)
    return {
      ...words,
      sentences: sentences(id),
      fields: { id },
      back: `/webhooks/${id}`,
      run: async (ctx, { actor }) => run(ctx, { ...(await nameWebhook(ctx, id)), actor }),
    }
  }

const webhookEnable = onWebhook({
  title: 'Enable this webhook?',
  sentences: (id) => [
    `The webhook ${id} gets events again: first what it missed, as far as events are kept.`,
    'If it takes nothing for three days, or answers 410, it is disabled again.',
  ],
  button: 'Enable it',
  run: async (ctx, named) => {
    await switchEndpoint(ctx, { ...named, enabled: true })
    return 'It is enabled. A worker sends what it missed now.'
  },
})

const webhookDisable = onWebhook({
  title: 'Disable this webhook?',
  sentences: (id) => [
    `Nothing more is sent to the webhook ${id} until somebody enables it. Its project can do that too.`,
    'Events wait for it as long as they are kept.',
  ],
  button: 'Disable it',
  run: async (ctx, named) => {
    await switchEndpoint(ctx, { ...named, enabled: false })
    return 'It is disabled. Requests that were under way may still arrive.'
  },
})

const webhookReplay = onWebhook({
  title: 'Send failed deliveries again?',
  sentences: (id) => [
    `The webhook ${id} gets again what it did not take within three days, as far as events are kept.`,
    'The webhook-ids are the same as before, so a receiver knows what it has already.',
  ],
  button: 'Send them again',
  run: async (ctx, named) => {
    const count = await replay(ctx, { ...named, replayed: { what: 'failed' } })
    return count === 0 ? 'No delivery has failed.' : `Deliveries that a worker sends again now: ${count}.`
  },
})

const webhookDelivery = (fields: Fields): Prepared => {
  const deliveryId = idIn(fields, 'delivery')
  const prepared = onWebhook({
    title: 'Send this delivery again?',
    sentences: (id) => [
      `The webhook ${id} gets the delivery ${deliveryId} once more, with the same webhook-id.`,
      'If its receiver has it already, it should do nothing.',
    ],
    button: 'Send it again',
    run: async (ctx, named) => {
      await replay(ctx, { ...named, replayed: { what: 'delivery', deliveryId } })
      return 'A worker sends it now.'
    },
  })(fields)
  return { ...prepared, fields: { ...prepared.fields, delivery: deliveryId } }
}

export const ACTIONS: Readonly<Record<string, (fields: Fields, ctx: ConsoleCtx) => Prepared>> = {
  'transaction-retry': transactionRetry,
  'transaction-cancel': transactionCancel,
  'job-retry': jobRetry,
  'jobs-retry': jobsRetry,
  freeze: freezing,
  unfreeze: unfreezing,
  'audit-verify': auditVerify,
  'webhook-enable': webhookEnable,
  'webhook-disable': webhookDisable,
  'webhook-replay': webhookReplay,
  'webhook-delivery': webhookDelivery,
}

const reason = html`<label for="reason">Why? It goes into the audit log, and callers do not see it.</label>
  <input id="reason" name="reason" required maxlength="1000" autocomplete="off">`

/** The page that asks before an action. */
export const askedPage = (session: Session, name: string, prepared: Prepared): Shown => {
  const { title, sentences, button, asksReason, fields, back } = prepared
  return {
    title,
    body: html`<form class="ask" method="post" action="/do/${name}">
${sentences.map((sentence) => html`<p>${sentence}</p>`)}
${csrfField(session)}${Object.entries(fields).map(([field, value]) => html`<input type="hidden" name="${field}" value="${value}">`)}
${asksReason ? reason : null}
<p class="row"><button class="main small">${button}</button> <a href="${back}">Go back</a></p>
<p class="hint">It is recorded in the audit with your name, <bdi>${session.operator.name}</bdi>.</p>
</form>`,
  }
}

export const donePage = ({ back }: Prepared, sentence: string): Shown => ({
  title: 'Done',
  body: html`<p role="status" class="done">${sentence}</p>
<p><a href="${back}">Go on</a></p>`,
})
