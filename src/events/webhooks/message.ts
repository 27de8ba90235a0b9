import type { DeliveryRow, LeasedRow } from '../../../db/queries/webhook-deliveries.ts'
import type { ProjectEvent } from '../schema.ts'
import { type ShownCtx, shownEvents } from '../shown.ts'
import { TEST_TYPE } from './schema.ts'

/** What a receiver gets. The id is the same each time. */
export type Message = { readonly id: string; readonly body: string }

/** With its time: after a restore of the database another event may get the number of one that the receiver has. */
const messageOf = (event: ProjectEvent): Message => ({
  id: `${event.project_id}-${event.id}-${Date.parse(event.created_at)}`,
  body: JSON.stringify(event),
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

/** The messages of deliveries, by the deliveries' ids. An event that is no longer kept has none. */
export const messagesOf = async (
  ctx: ShownCtx,
  leased: readonly LeasedRow[],
): Promise<ReadonlyMap<string, Message>> => {
  const shown = await shownEvents(
    ctx,
    leased.flatMap(({ event }) => event ?? []),
  )
  const events = new Map(shown.map((event) => [event.id, event]))
  return new Map(
    leased.flatMap(({ delivery }) => {
      if (delivery.number === null) return [[delivery.id, testOf(delivery)] as const]
      const event = events.get(delivery.number.toString())
      return event === undefined ? [] : [[delivery.id, messageOf(event)] as const]
    }),
  )
}
