import { randomUUID } from 'node:crypto'
import { lastNumber, numberEvents } from '../../../db/queries/events.ts'
import { insertEndpoint, lockEndpointCount } from '../../../db/queries/webhooks.ts'
import type { WebhookOrder } from '../../../db/words.ts'
import { readEmailAddress } from '../../identity/mail/address.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { invalidInput } from '../../signing/schema.ts'
import { readEndpointUrl, sealSecrets } from './endpoint.ts'
import { newSecret } from './sign.ts'

/** Each event is sent to each of them. */
const ENDPOINTS_MAX = 20
const NUMBERED_AT_ONCE = 10_000

export type WebhookCtx = Pick<SigningCtx, 'db' | 'sealer' | 'audit' | 'config' | 'now'>

type NewEndpoint = {
  readonly projectId: string
  readonly actor: string
  readonly url: string
  /** Empty: every type. */
  readonly eventTypes: readonly string[]
  /** null: no mails are sent. */
  readonly email: string | null
  readonly order: WebhookOrder
}

/** An endpoint's types, each once and in one order: the secrets are sealed for this list. */
export const orderedTypes = (types: readonly string[]): string[] => [...new Set(types)].sort()

/** The endpoint gets the events from now on. Its secret is not shown again. @throws invalid_input */
export const createEndpoint = async (ctx: WebhookCtx, input: NewEndpoint) => {
  const { projectId, actor, order } = input
  const facts = {
    id: randomUUID(),
    projectId,
    url: readEndpointUrl(ctx.config, input.url),
    eventTypes: orderedTypes(input.eventTypes),
    contactEmail: input.email === null ? null : readEmailAddress(input.email),
  }
  const secret = newSecret()
  const sealed = sealSecrets(ctx.sealer, { ...facts, secrets: [{ secret, until: null }] })
  while ((await numberEvents(ctx.db, { projectId, atMost: NUMBERED_AT_ONCE })) === NUMBERED_AT_ONCE);
  await ctx.db.transaction(async (tx) => {
    if ((await lockEndpointCount(tx, projectId)) >= ENDPOINTS_MAX) {
      throw invalidInput(`A project can have ${ENDPOINTS_MAX} webhooks: delete one first.`)
    }
    await insertEndpoint(tx, { ...facts, sealed, order, cursor: await lastNumber(tx, { projectId }) })
    const { url, eventTypes } = facts
    const details = { url, event_types: eventTypes.join(' '), email: facts.contactEmail ?? '', order }
    await ctx.audit.record(tx, { projectId, actor, action: 'webhook_created', subject: facts.id, details })
  })
  return { id: facts.id, url: facts.url, eventTypes: facts.eventTypes, secret }
}
