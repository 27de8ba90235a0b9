import { type Static, Type } from '@sinclair/typebox'
import { DELIVERY_STATES, EVENT_TYPES, POST_FAILURES, WEBHOOK_ORDERS, WEBHOOK_STATES } from '../../../db/words.ts'
import { ClosedObject, closed, OneOf, PagingFields, UuidField } from '../../platform/http/schema.ts'
import { OrNull, TimeField, WholeNumber } from '../../signing/schema.ts'
import { ProjectEvent } from '../schema.ts'

const TimeOrNull = (description: string) => OrNull(TimeField(description), description)

const WebhookIdField = UuidField('The webhook.')

const UrlField = Type.String({
  minLength: 1,
  maxLength: 2_048,
  description:
    'Where events are posted: `https`, on the public Internet. Redirects are not followed. An operator can allow further addresses.',
  rule: 'a URL of 1 to 2048 characters',
  examples: ['https://example.com/hooks'],
})

const EventTypesField = Type.Array(
  OneOf(EVENT_TYPES, { description: 'A type of events.', examples: ['transaction.updated'] }),
  {
    maxItems: EVENT_TYPES.length,
    description: 'Only events of these types; empty: all.',
    rule: `a list of ${EVENT_TYPES.join(', ')}`,
    examples: [['transaction.updated']],
  },
)

const EmailField = Type.Union([Type.String({ maxLength: 320 }), Type.Null()], {
  description:
    'Who gets a mail when the service disables the webhook, because it took nothing for three days or answered 410.',
  rule: 'an e-mail address or null',
  examples: ['ops@example.com'],
})

const OrderField = OneOf(WEBHOOK_ORDERS, {
  description:
    '`wallet`, the default: an event waits until the earlier ones of the same wallet are taken. `none`: no event waits for another one, so those of a busy wallet come faster, and in any order.',
  examples: ['wallet'],
})

const SecretField = Type.String({
  description: 'Verifies the signatures (Standard Webhooks). It is not shown again.',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
})

const FailureField = OrNull(
  OneOf(POST_FAILURES, { description: 'Why.', examples: ['status'] }),
  'Why the last request was not taken.',
)

export const Webhook = ClosedObject('Webhook', {
  id: UuidField("The webhook's id."),
  url: UrlField,
  types: EventTypesField,
  email: EmailField,
  order: OrderField,
  state: OneOf(WEBHOOK_STATES, { description: 'Whether events are sent to it.', examples: ['enabled'] }),
  disabled_at: TimeOrNull('Since when it is disabled.'),
  disabled_why: OrNull(Type.String({ examples: ['operator disabled it.'] }), 'Why it is disabled.'),
  paused_until: TimeOrNull(
    'Until when nothing but tests is sent to it, because its receiver asked for that (`Retry-After`).',
  ),
  waiting: Type.Integer({ minimum: 0, description: 'Deliveries that wait, counted up to 10,000.', examples: [0] }),
  waiting_since: TimeOrNull('Of the oldest of them.'),
  last_success_at: TimeOrNull('When it last took a message, to some seconds.'),
  last_failure_at: TimeOrNull('When a request last failed.'),
  last_failure: FailureField,
  created_at: TimeField('When it was created.'),
})
export type Webhook = Static<typeof Webhook>

export const CreateWebhookBody = ClosedObject('CreateWebhook', {
  url: UrlField,
  types: Type.Optional(EventTypesField),
  email: Type.Optional(EmailField),
  order: Type.Optional(OrderField),
})

export const CreatedWebhook = ClosedObject('CreatedWebhook', {
  id: UuidField("The webhook's id."),
  url: UrlField,
  types: EventTypesField,
  secret: SecretField,
})

export const UpdateWebhookBody = ClosedObject(
  'UpdateWebhook',
  {
    webhook_id: WebhookIdField,
    url: Type.Optional(UrlField),
    types: Type.Optional(EventTypesField),
    email: Type.Optional(EmailField),
    order: Type.Optional(OrderField),
    enabled: Type.Optional(
      Type.Boolean({ description: 'Whether events are sent to it. Enabled again, it first gets what it missed.' }),
    ),
  },
  { examples: [{ webhook_id: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f', enabled: true }] },
)

export const NamedWebhookBody = ClosedObject('NamedWebhook', { webhook_id: WebhookIdField })

const OVERLAP_SECONDS = 86_400
const OVERLAP_SECONDS_MAX = 7 * 86_400

export const RotateWebhookSecretBody = ClosedObject('RotateWebhookSecret', {
  webhook_id: WebhookIdField,
  overlap_seconds: Type.Optional(
    WholeNumber(`How long the secret before signs too: ${OVERLAP_SECONDS}, a day, by default.`, {
      range: [0, OVERLAP_SECONDS_MAX],
      example: OVERLAP_SECONDS,
    }),
  ),
})

export const overlapOf = (body: Static<typeof RotateWebhookSecretBody>): number =>
  body.overlap_seconds ?? OVERLAP_SECONDS

export const RotatedWebhookSecret = ClosedObject('RotatedWebhookSecret', { secret: SecretField })

export const TestedWebhook = ClosedObject('TestedWebhook', {
  delivery_id: UuidField('Of the test message, whose type is `webhook.test`.'),
})

export const ReplayWebhookBody = ClosedObject(
  'ReplayWebhook',
  {
    webhook_id: WebhookIdField,
    delivery_id: Type.Optional(UuidField('This delivery alone.')),
    after: Type.Optional(
      Type.String({
        pattern: '^(?:0|[1-9][0-9]{0,17})$',
        description: 'All events after the one with this id, at most 10,000.',
        rule: 'the id of an event, or 0',
        examples: ['42'],
      }),
    ),
  },
  {
    description: 'With neither `delivery_id` nor `after`: what was not taken within three days.',
    examples: [{ webhook_id: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f', after: '42' }],
  },
)

export const ReplayedWebhook = ClosedObject('ReplayedWebhook', {
  deliveries: Type.Integer({ minimum: 0, description: 'How many are sent again.', examples: [3] }),
})

export const WebhookDelivery = ClosedObject('WebhookDelivery', {
  delivery_id: UuidField('Names it.'),
  event_id: OrNull(Type.String({ examples: ['42'] }), 'The event; null for a test.'),
  state: OneOf(DELIVERY_STATES, {
    description: '`failed`: it was not taken within three days.',
    examples: ['delivered'],
  }),
  attempts: Type.Integer({ minimum: 0, description: 'How often it was sent.', examples: [1] }),
  created_at: TimeField('When it began to wait.'),
  next_at: TimeOrNull(
    'When it is sent next, at the earliest; null if it has ended, and while an earlier one of the same wallet waits.',
  ),
  ended_at: TimeOrNull('When it was delivered, or given up.'),
  status: OrNull(Type.Integer({ examples: [200] }), "The last answer's status."),
  failure: FailureField,
  excerpt: OrNull(Type.String({ examples: ['try later'] }), 'The beginning of the last answer, if it refused.'),
})
export type WebhookDelivery = Static<typeof WebhookDelivery>

export const ListDeliveriesQuery = Type.Object(
  {
    webhook_id: Type.String({ ...UuidField('The webhook.') }),
    state: Type.Optional(OneOf(DELIVERY_STATES, { description: 'Only those in this state.' })),
    ...PagingFields,
  },
  closed,
)

export const TEST_TYPE = 'webhook.test'

export const WebhookTestMessage = ClosedObject(
  'WebhookTestMessage',
  {
    id: UuidField('Of the message.'),
    type: Type.Literal(TEST_TYPE, { examples: [TEST_TYPE] }),
    version: Type.Literal(1, { description: 'Of the form of `data`.', examples: [1] }),
    created_at: TimeField('When it was asked for: ISO 8601, UTC.'),
    project_id: UuidField('The project.'),
    data: ClosedObject('WebhookTestMessageData', { webhook_id: WebhookIdField }),
  },
  { description: 'What `POST /webhooks/test` sends.' },
)

const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string', examples: [example] },
})

/** What a receiver gets, for the OpenAPI document (3.1, `webhooks`). */
export const WEBHOOKS = {
  project_event: {
    post: {
      operationId: 'project_event',
      tags: ['Webhooks'],
      summary: 'An event of the project',
      description:
        'Posted to each webhook that wants its type, at least once, and in order for each wallet unless its `order` is `none`. Verify the signature by Standard Webhooks.',
      security: [],
      parameters: [
        header('webhook-id', 'The same each time that this message is sent.', 'msg_1'),
        header('webhook-timestamp', 'When it was sent: seconds since 1970.', '1769860800'),
        header(
          'webhook-signature',
          'One signature for each valid secret, separated by spaces.',
          'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { anyOf: [ProjectEvent, WebhookTestMessage] } } },
      },
      responses: {
        '2XX': { description: 'It was taken. Anything else is sent again.' },
        410: { description: 'No more events are wanted: the webhook is disabled.' },
        default: {
          description:
            'It is sent again, not before the time of `Retry-After`, if that is not more than eight hours away.',
          headers: {
            'Retry-After': { description: 'Seconds, or a date.', schema: { type: 'string', examples: ['120'] } },
          },
        },
      },
    },
  },
}
