// One round of deliveries of an endpoint, in three steps:
//
//   lease    one transaction locks the endpoint, makes deliveries of the events since its cursor, and leases the first delivery of
//            each lane that is due. So nobody else sends it, or another one of its lane, for a while;
//   send     without a transaction: the request is signed and posted;
//   record   one transaction writes the outcome, and ends the lease.
//
// A worker that dies between the last two has sent without a record: when the lease is over, another one sends the same message
// with the same webhook-id. An endpoint that has failed several times in a row gets one request at a time.

import type { Tx } from '../../db/client.ts'
import { numberEvents } from '../../db/queries/events.ts'
import {
  type DeliveryRow,
  endWithoutEvent,
  findDelivery,
  leaseDeliveries,
  makeDue,
  markDelivered,
  markFailed,
  takeUpEvents,
} from '../../db/queries/webhook-deliveries.ts'
import { type EndpointRow, findEndpoint, lockEndpointById } from '../../db/queries/webhooks.ts'
import type { WorkerCtx } from '../context.ts'
import { openOurs, validSecrets } from './endpoint.ts'
import { giveUp } from './give-up.ts'
import { type Message, messagesOf } from './message.ts'
import { ANSWER_TIMEOUT_MS, type Posted, post } from './post.ts'
import { pauseSeconds, TRIED_SECONDS } from './retry-pause.ts'
import { signedHeaders } from './sign.ts'

/** Requests to one endpoint at the same time, by all workers. */
export const AT_ONCE = 8
/** After so many failures in a row an endpoint gets one request at a time. */
export const FAILURES_MAX = 5
const NUMBERED_AT_ONCE = 500
/** Longer than a request may take, and its outcome needs to be written. */
const LEASE_SECONDS = ANSWER_TIMEOUT_MS / 1_000 + 15

export type DeliverCtx = Pick<
  WorkerCtx,
  'db' | 'sealer' | 'config' | 'log' | 'audit' | 'securityEvents' | 'metrics' | 'now'
>

/** A delivery to send now, and what is needed for that. */
export type Leased = {
  readonly endpoint: EndpointRow
  readonly delivery: DeliveryRow
  readonly secrets: readonly string[]
  readonly message: Message
}

type Wanted = { readonly endpointId: string; readonly atOnce: number }

/** `hasMore`: nothing was found perhaps, and yet there may be something to send. */
type Looked = { readonly leased: readonly Leased[]; readonly hasMore: boolean }

const NOTHING: Looked = { leased: [], hasMore: false }

const look = async (ctx: DeliverCtx, { endpointId, atOnce }: Wanted): Promise<Looked> => {
  const found = await findEndpoint(ctx.db, endpointId)
  if (found?.state !== 'enabled') return NOTHING
  await numberEvents(ctx.db, { projectId: found.projectId, atMost: NUMBERED_AT_ONCE })
  return ctx.db.transaction(async (tx) => {
    const endpoint = await lockEndpointById(tx, endpointId)
    if (endpoint?.state !== 'enabled') return NOTHING
    const secrets = await openOurs(ctx, endpoint)
    if (secrets === null) return NOTHING
    const hasMoreEvents = await takeUpEvents(tx, endpointId)
    const most = endpoint.failures < FAILURES_MAX ? AT_ONCE : 1
    const rows = await leaseDeliveries(tx, { endpointId, atOnce: most, limit: atOnce, leaseSeconds: LEASE_SECONDS })
    const messages = await messagesOf({ ...ctx, db: tx }, rows)
    const gone = rows.flatMap(({ id }) => (messages.has(id) ? [] : [id]))
    if (gone.length > 0) await endWithoutEvent(tx, gone)
    const leased = rows.flatMap((delivery) => {
      const message = messages.get(delivery.id)
      return message === undefined ? [] : [{ endpoint, delivery, message, secrets: validSecrets(secrets, ctx.now()) }]
    })
    return { leased, hasMore: hasMoreEvents || gone.length > 0 }
  })
}

/** @param input.atOnce how many more this process would send. @returns those that it should send now. */
export const leaseDue = async (ctx: DeliverCtx, input: Wanted): Promise<readonly Leased[]> => {
  for (;;) {
    const { leased, hasMore } = await look(ctx, input)
    // The events of one look may all be of types that the endpoint does not want, or of wallets that wait.
    if (leased.length > 0 || !hasMore) return leased
  }
}

/** Sends one delivery. */
export const sendLeased = (ctx: DeliverCtx, { endpoint, secrets, message }: Leased): Promise<Posted> =>
  post(ctx, {
    url: endpoint.url,
    body: message.body,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Strongroom-Webhooks/1',
      ...signedHeaders({ secrets, messageId: message.id, at: ctx.now(), body: message.body }),
    },
  })

const recordFailure = async (
  ctx: DeliverCtx,
  tx: Tx,
  { endpoint, delivery, answer }: Pick<Leased, 'endpoint' | 'delivery'> & { readonly answer: Posted },
): Promise<void> => {
  // Meanwhile it may have been replayed, or its endpoint enabled again: then it has three days from now on.
  const { firstTriedAt, attempts } = (await findDelivery(tx, delivery.id)) ?? delivery
  const begunAt = firstTriedAt ?? ctx.now()
  const isOver = ctx.now().getTime() - begunAt.getTime() >= TRIED_SECONDS * 1_000
  const tookNothing = endpoint.lastSuccessAt === null || endpoint.lastSuccessAt < begunAt
  // What a disabled endpoint did not take waits, so that nothing is lost when it is enabled again.
  const isLost = isOver && !tookNothing
  const pause = pauseSeconds({ attempts: attempts + 1, random: Math.random() })
  await markFailed(tx, {
    id: delivery.id,
    endpointId: endpoint.id,
    ...answer,
    pauseSeconds: isLost ? null : pause,
  })
  if (isOver && tookNothing) await giveUp(ctx, tx, { endpoint, answer, since: begunAt })
}

/** Writes what became of a delivery. */
export const recordOutcome = async (
  ctx: DeliverCtx,
  {
    endpoint: { id: endpointId },
    delivery,
    answer,
  }: Pick<Leased, 'endpoint' | 'delivery'> & { readonly answer: Posted },
): Promise<void> => {
  await ctx.db.transaction(async (tx) => {
    const endpoint = await lockEndpointById(tx, endpointId)
    // It was removed meanwhile.
    if (endpoint === null) return
    if (answer.failure !== null) return recordFailure(ctx, tx, { endpoint, delivery, answer })
    if (endpoint.failures >= FAILURES_MAX) await makeDue(tx, endpointId)
    await markDelivered(tx, { id: delivery.id, endpointId, ...answer })
  })
  ctx.metrics.webhooks.inc({ outcome: answer.failure ?? 'delivered' })
}
