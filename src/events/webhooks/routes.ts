import { type Static, Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { DeliveryRow } from '../../../db/queries/webhook-deliveries.ts'
import type { EndpointView } from '../../../db/queries/webhooks.ts'
import { EVENT_TYPES, type EventType } from '../../../db/words.ts'
import { actorOf, type Caller, requireApiKey } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { describedAs, pagingOf, Success, successOf } from '../../platform/http/schema.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { changeEndpoint, removeEndpoint, rotateSecret } from './change.ts'
import { createEndpoint } from './create.ts'
import { listDeliveries, listEndpoints, type Replayed, replay, sendTest } from './deliveries.ts'
import { knownFailure } from './failure-words.ts'
import * as schema from './schema.ts'

const time = (at: Date | null): string | null => at?.toISOString() ?? null

/** Leaves out words of a row that an intruder edited. */
const knownTypes = (words: readonly string[]): EventType[] => EVENT_TYPES.filter((type) => words.includes(type))

const shown = (row: EndpointView): schema.Webhook => ({
  id: row.id,
  url: row.url,
  types: knownTypes(row.eventTypes),
  email: row.contactEmail,
  order: row.order,
  state: row.state,
  disabled_at: time(row.disabledAt),
  disabled_why: row.disabledWhy,
  paused_until: time(row.pausedUntil),
  waiting: row.waiting,
  waiting_since: time(row.lateSince),
  last_success_at: time(row.lastSuccessAt),
  last_failure_at: time(row.lastFailureAt),
  last_failure: knownFailure(row.lastFailure),
  created_at: row.createdAt.toISOString(),
})

const shownDelivery = (row: DeliveryRow): schema.WebhookDelivery => ({
  delivery_id: row.id,
  event_id: row.number?.toString() ?? null,
  state: row.state,
  attempts: row.attempts,
  created_at: row.createdAt.toISOString(),
  next_at: (row.state === 'waiting' && row.nextAt?.toISOString()) || null,
  ended_at: time(row.endedAt),
  status: row.status,
  failure: knownFailure(row.failure),
  excerpt: row.excerpt,
})

const readNamed = (caller: Caller, body: { readonly webhook_id: string }) => {
  requireApiKey(caller)
  return { projectId: caller.projectId, id: body.webhook_id.toLowerCase(), actor: actorOf(caller) }
}

const readReplayed = ({ delivery_id, after }: Static<typeof schema.ReplayWebhookBody>): Replayed => {
  if (delivery_id !== undefined) return { what: 'delivery', deliveryId: delivery_id.toLowerCase() }
  return after === undefined ? { what: 'failed' } : { what: 'after', number: BigInt(after) }
}

const { detail } = describedAs('Webhooks')

const endpointRoutes = (ctx: SigningCtx, authentication: Authentication) =>
  new Elysia({ normalize: false })
    .use(authentication)
    .get(
      '',
      async ({ caller }) => {
        requireApiKey(caller)
        return (await listEndpoints(ctx, { projectId: caller.projectId })).map(shown)
      },
      {
        response: { 200: Type.Array(schema.Webhook) },
        ...detail('List webhooks', "The project's webhooks, oldest first. Secrets are not shown. For API keys only."),
      },
    )
    .post(
      '',
      async ({ body, caller }) => {
        requireApiKey(caller)
        const { id, url, eventTypes, secret } = await createEndpoint(ctx, {
          projectId: caller.projectId,
          actor: actorOf(caller),
          url: body.url,
          eventTypes: body.types ?? [],
          email: body.email ?? null,
          order: body.order ?? 'wallet',
        })
        return { id, url, types: knownTypes(eventTypes), secret }
      },
      {
        body: schema.CreateWebhookBody,
        response: { 200: schema.CreatedWebhook },
        ...detail(
          'Create a webhook',
          'A URL that gets the events of the project from now on, signed by Standard Webhooks: those of one wallet in their order, unless `order` is `none`, each at least once. At most 20.',
        ),
      },
    )
    .post(
      '/update',
      ({ body, caller }) =>
        successOf(
          changeEndpoint(ctx, {
            ...readNamed(caller, body),
            url: body.url,
            eventTypes: body.types,
            email: body.email,
            order: body.order,
            enabled: body.enabled,
          }),
        ),
      {
        body: schema.UpdateWebhookBody,
        response: { 200: Success },
        ...detail('Change a webhook', 'Absent fields stay as they are.', ['not_found']),
      },
    )
    .post('/remove', ({ body, caller }) => successOf(removeEndpoint(ctx, readNamed(caller, body))), {
      body: schema.NamedWebhookBody,
      response: { 200: Success },
      ...detail('Delete a webhook', 'What waits for it is not sent any more.', ['not_found']),
    })
    .post(
      '/rotate',
      async ({ body, caller }) => ({
        secret: await rotateSecret(ctx, { ...readNamed(caller, body), overlapSeconds: schema.overlapOf(body) }),
      }),
      {
        body: schema.RotateWebhookSecretBody,
        response: { 200: schema.RotatedWebhookSecret },
        ...detail(
          'Rotate the secret of a webhook',
          'For a while each request has two signatures, by the new secret and by the one before.',
          ['not_found'],
        ),
      },
    )

const deliveryRoutes = (ctx: SigningCtx, authentication: Authentication) =>
  new Elysia({ normalize: false })
    .use(authentication)
    .post('/test', async ({ body, caller }) => ({ delivery_id: await sendTest(ctx, readNamed(caller, body)) }), {
      body: schema.NamedWebhookBody,
      response: { 200: schema.TestedWebhook },
      ...detail(
        'Test a webhook',
        'Sends a message of the type `webhook.test`, past what waits. What became of it is in the deliveries.',
        ['not_found'],
      ),
    })
    .post(
      '/replay',
      async ({ body, caller }) => ({
        deliveries: await replay(ctx, { ...readNamed(caller, body), replayed: readReplayed(body) }),
      }),
      {
        body: schema.ReplayWebhookBody,
        response: { 200: schema.ReplayedWebhook },
        ...detail('Send events again', 'With the same `webhook-id` as before.', ['not_found']),
      },
    )
    .get(
      '/deliveries',
      async ({ query, caller }) => {
        const { projectId, id: endpointId } = readNamed(caller, query)
        const state = query.state ?? null
        const rows = await listDeliveries(ctx, { projectId, endpointId, state, ...pagingOf(query) })
        return rows.map(shownDelivery)
      },
      {
        query: schema.ListDeliveriesQuery,
        response: { 200: Type.Array(schema.WebhookDelivery) },
        ...detail('List deliveries', 'Newest first. Those that have ended are kept for a week.', ['not_found']),
      },
    )

export const webhookRoutes = (ctx: SigningCtx, authentication: Authentication) =>
  new Elysia({ prefix: '/webhooks', normalize: false })
    .use(endpointRoutes(ctx, authentication))
    .use(deliveryRoutes(ctx, authentication))
