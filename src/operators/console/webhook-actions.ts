// What an operator can do with webhooks at the console.

import { switchEndpoint } from '../../events/webhooks/change.ts'
import { nameWebhook, replay } from '../../events/webhooks/deliveries.ts'
import { type Fields, idIn, type Prepared } from './prepared.ts'

const of = (id: string) => ({ fields: { id }, asks: null, back: `/webhooks/${id}` })

const enable = (fields: Fields): Prepared => {
  const id = idIn(fields, 'id')
  return {
    ...of(id),
    title: 'Enable this webhook?',
    sentences: [
      `The webhook ${id} gets events again: first what it missed, as far as events are kept.`,
      'If it takes nothing for three days, or answers 410, it is disabled again.',
    ],
    button: 'Enable it',
    run: async (ctx, { actor }) => {
      await switchEndpoint(ctx, { ...(await nameWebhook(ctx, id)), actor, enabled: true })
      return 'It is enabled. A worker sends what it missed now.'
    },
  }
}

const disable = (fields: Fields): Prepared => {
  const id = idIn(fields, 'id')
  return {
    ...of(id),
    title: 'Disable this webhook?',
    sentences: [
      `Nothing more is sent to the webhook ${id} until somebody enables it. Its project can do that too.`,
      'Events wait for it as long as they are kept.',
    ],
    button: 'Disable it',
    run: async (ctx, { actor }) => {
      await switchEndpoint(ctx, { ...(await nameWebhook(ctx, id)), actor, enabled: false })
      return 'It is disabled. Requests that were under way may still arrive.'
    },
  }
}

const replayFailed = (fields: Fields): Prepared => {
  const id = idIn(fields, 'id')
  return {
    ...of(id),
    title: 'Send failed deliveries again?',
    sentences: [
      `The webhook ${id} gets again what it did not take within three days, as far as events are kept.`,
      'The webhook-ids are the same as before, so a receiver knows what it has already.',
    ],
    button: 'Send them again',
    run: async (ctx, { actor }) => {
      const named = await nameWebhook(ctx, id)
      const count = await replay(ctx, { ...named, actor, replayed: { what: 'failed' } })
      return count === 0 ? 'No delivery has failed.' : `Deliveries that a worker sends again now: ${count}.`
    },
  }
}

const replayOne = (fields: Fields): Prepared => {
  const id = idIn(fields, 'id')
  const deliveryId = idIn(fields, 'delivery')
  return {
    ...of(id),
    title: 'Send this delivery again?',
    sentences: [
      `The webhook ${id} gets the delivery ${deliveryId} once more, with the same webhook-id.`,
      'If its receiver has it already, it should do nothing.',
    ],
    button: 'Send it again',
    fields: { id, delivery: deliveryId },
    run: async (ctx, { actor }) => {
      const named = await nameWebhook(ctx, id)
      await replay(ctx, { ...named, actor, replayed: { what: 'delivery', deliveryId } })
      return 'A worker sends it now.'
    },
  }
}

export const WEBHOOK_ACTIONS: Readonly<Record<string, (fields: Fields) => Prepared>> = {
  'webhook-enable': enable,
  'webhook-disable': disable,
  'webhook-replay': replayFailed,
  'webhook-delivery': replayOne,
}
