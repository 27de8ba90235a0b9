import type { Tx } from '../../../db/client.ts'
import { addJob } from '../../../db/jobs.ts'
import {
  deleteEndpoint,
  type EndpointRow,
  endPause,
  lockEndpoint,
  markDisabled,
  markEnabled,
  writeEndpoint,
  writeOrder,
} from '../../../db/queries/webhooks.ts'
import type { WebhookOrder } from '../../../db/words.ts'
import { readEmailAddress } from '../../identity/mail/address.ts'
import { notFound } from '../../platform/errors.ts'
import { invalidInput } from '../../signing/schema.ts'
import { orderedTypes, type WebhookCtx } from './create.ts'
import { openSecrets, readEndpointUrl, sealSecrets } from './endpoint.ts'
import { newSecret } from './sign.ts'

export type Named = { readonly projectId: string; readonly id: string; readonly actor: string }

const EARLIER_SECRETS_MAX = 2

/** Locks one of the project's endpoints. @throws not_found */
export const lockOwn = async (tx: Tx, named: Named): Promise<EndpointRow> => {
  const row = await lockEndpoint(tx, named)
  if (row === null) throw notFound('webhook')
  return row
}

/** Locks an endpoint and opens its secrets, which the caller seals anew. @throws not_found, invalid_input */
const lockOpened = async (ctx: WebhookCtx, tx: Tx, named: Named) => {
  const row = await lockOwn(tx, named)
  const secrets = openSecrets(ctx.sealer, row)
  // A change would seal the secrets for what an intruder wrote.
  if (secrets === null) throw invalidInput('This webhook was changed in the database: delete it, and create it again.')
  return { row, secrets }
}

/** The workers learn that an endpoint may have something to send. */
export const wakeDeliverer = (tx: Tx, endpointId: string): Promise<void> =>
  addJob(tx, 'deliver_webhooks', { endpointId }, { key: `webhooks:${endpointId}` })

/** Absent fields stay as they are. */
type Change = {
  readonly url?: string | undefined
  readonly eventTypes?: readonly string[] | undefined
  readonly email?: string | null | undefined
  readonly order?: WebhookOrder | undefined
  readonly enabled?: boolean | undefined
}

const switchRow = async (
  ctx: Pick<WebhookCtx, 'audit'>,
  tx: Tx,
  { row, enabled, actor }: { readonly row: EndpointRow; readonly enabled: boolean; readonly actor: string },
): Promise<void> => {
  const { id, projectId, state, url } = row
  if (enabled === (state === 'enabled')) return
  if (enabled) {
    await markEnabled(tx, id)
    await wakeDeliverer(tx, id)
  } else await markDisabled(tx, { id, why: `${actor} disabled it.` })
  const action = enabled ? 'webhook_enabled' : 'webhook_disabled'
  await ctx.audit.record(tx, { projectId, actor, action, subject: id, details: { url } })
}

/** Changes an endpoint. One that is enabled again gets first what it missed. @throws not_found, invalid_input */
export const changeEndpoint = (
  ctx: WebhookCtx,
  { url, eventTypes, email, order, enabled, ...named }: Named & Change,
): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    const { row, secrets } = await lockOpened(ctx, tx, named)
    const facts = {
      ...factsOf(row),
      url: url === undefined ? row.url : readEndpointUrl(ctx.config, url),
      eventTypes: eventTypes === undefined ? row.eventTypes : orderedTypes(eventTypes),
      contactEmail: email === undefined ? row.contactEmail : email && readEmailAddress(email),
    }
    if (order !== undefined && order !== row.order) {
      await writeOrder(tx, { id: row.id, order })
      await wakeDeliverer(tx, row.id)
    }
    if ([url, eventTypes, email, order].some((each) => each !== undefined)) {
      await writeEndpoint(tx, { ...facts, sealed: sealSecrets(ctx.sealer, { ...facts, secrets }) })
      const details = {
        url: facts.url,
        event_types: facts.eventTypes.join(' '),
        email: facts.contactEmail ?? '',
        order: order ?? row.order,
      }
      const { projectId, actor } = named
      await ctx.audit.record(tx, { projectId, actor, action: 'webhook_changed', subject: row.id, details })
    }
    // What waits for a receiver that was down, or asked for a pause, goes to the other one at once.
    if (facts.url !== row.url && row.state === 'enabled') {
      await endPause(tx, row.id)
      await wakeDeliverer(tx, row.id)
    }
    if (enabled !== undefined) await switchRow(ctx, tx, { row, enabled, actor: named.actor })
  })

/** Enables or disables an endpoint. For operators. @throws not_found */
export const switchEndpoint = (
  ctx: Pick<WebhookCtx, 'db' | 'audit'>,
  { enabled, ...named }: Named & { readonly enabled: boolean },
): Promise<void> =>
  ctx.db.transaction(async (tx) => switchRow(ctx, tx, { row: await lockOwn(tx, named), enabled, actor: named.actor }))

/** Both secrets sign for a while, so that the receiver can learn the new one. @throws not_found, invalid_input */
export const rotateSecret = (
  ctx: WebhookCtx,
  { overlapSeconds, ...named }: Named & { readonly overlapSeconds: number },
): Promise<string> =>
  ctx.db.transaction(async (tx) => {
    const { row, secrets } = await lockOpened(ctx, tx, named)
    const secret = newSecret()
    const end = new Date(ctx.now().getTime() + overlapSeconds * 1_000)
    const earlier = secrets
      .map((each) => {
        const until = each.until !== null && new Date(each.until) < end ? each.until : end.toISOString()
        return { secret: each.secret, until }
      })
      .filter(({ until }) => new Date(until) > ctx.now())
      .slice(0, EARLIER_SECRETS_MAX)
    const sealed = sealSecrets(ctx.sealer, { ...row, secrets: [{ secret, until: null }, ...earlier] })
    await writeEndpoint(tx, { ...factsOf(row), sealed })
    const { projectId, actor } = named
    const details = { overlap_seconds: String(overlapSeconds) }
    await ctx.audit.record(tx, { projectId, actor, action: 'webhook_secret_rotated', subject: row.id, details })
    return secret
  })

const factsOf = ({ id, projectId, url, eventTypes, contactEmail }: EndpointRow) => ({
  id,
  projectId,
  url,
  eventTypes,
  contactEmail,
})

/** Removes an endpoint with its deliveries. @throws not_found */
export const removeEndpoint = (ctx: Pick<WebhookCtx, 'db' | 'audit'>, named: Named): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    const { id, url } = await lockOwn(tx, named)
    const { projectId, actor } = named
    await deleteEndpoint(tx, { projectId, id })
    await ctx.audit.record(tx, { projectId, actor, action: 'webhook_removed', subject: id, details: { url } })
  })
