import type { Tx } from '../../db/client.ts'
import { type EventRow, eventsWithNumbers } from '../../db/queries/events.ts'
import type { DeliveryRow } from '../../db/queries/webhook-deliveries.ts'
import { shownEvent } from '../events/read.ts'
import { TEST_TYPE } from './schema.ts'

/** What a receiver gets. The id is the same each time. */
export type Message = { readonly id: string; readonly body: string }

const messageOf = (event: EventRow): Message => ({
  id: `${event.projectId}-${event.number}`,
  body: JSON.stringify(shownEvent(event)),
})

const testOf = ({ id, projectId, endpointId, createdAt }: DeliveryRow): Message => ({
  id,
  body: JSON.stringify({
    id,
    type: TEST_TYPE,
    version: 1,
    created_at: createdAt.toISOString(),
    project_id: projectId,
    data: { webhook_id: endpointId },
  }),
})

/** The messages of deliveries of one project, by the deliveries' ids. An event that is no longer kept has none. */
export const messagesOf = async (tx: Tx, deliveries: readonly DeliveryRow[]): Promise<ReadonlyMap<string, Message>> => {
  const projectId = deliveries[0]?.projectId
  if (projectId === undefined) return new Map()
  const numbers = deliveries.flatMap(({ number }) => (number === null ? [] : [number]))
  const events = new Map((await eventsWithNumbers(tx, { projectId, numbers })).map((event) => [event.number, event]))
  return new Map(
    deliveries.flatMap((delivery) => {
      if (delivery.number === null) return [[delivery.id, testOf(delivery)] as const]
      const event = events.get(delivery.number)
      return event === undefined ? [] : [[delivery.id, messageOf(event)] as const]
    }),
  )
}
