import type { Task } from 'graphile-worker'
import type { Couriers } from '../../src/events/webhooks/couriers.ts'
import { taskOf } from './task.ts'

/** Has an endpoint's deliveries sent. Ends at once, while they are under way. */
export const deliverWebhooksTask = (couriers: Couriers): Task =>
  taskOf('deliver_webhooks', async ({ endpointId }) => couriers.ring(endpointId))
