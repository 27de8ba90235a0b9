import { ProjectEvent } from '../schema.ts'
import { WebhookTestMessage } from './schema.ts'

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
