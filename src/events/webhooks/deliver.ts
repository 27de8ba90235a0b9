// One round of deliveries of an endpoint, in three steps:
//
//   lease    one transaction locks the endpoint, makes deliveries of the events since its cursor, and leases the first
//            delivery of each lane that is due. So no other worker sends it, or another one of its lane, for a while;
//   send     without a transaction: the request is signed and posted;
//   record   one transaction writes the outcome, and ends the lease.
//
// The transaction that records also leases, so that the next one of a lane needs no further round trip to the database.
//
// A worker that dies before it records has sent without a record: when the lease is over, another worker sends the same
// message with the same webhook-id. An endpoint that has failed several times in a row gets one request at a time. One
// whose receiver asked for a pause (`Retry-After`) gets only tests until the pause is over: the receiver may have asked
// because of all events, and one test is little.

import type { Tx } from '../../../db/client.ts'
import {
  type DeliveryRow,
  endWithoutEvent,
  findDelivery,
  type LeasedRow,
  leaseDeliveries,
  makeDue,
  markDelivered,
  markFailed,
  takeUpEvents,
} from '../../../db/queries/webhook-deliveries.ts'
import { type EndpointRow, endPause, lockEndpointById, numberEventsFor } from '../../../db/queries/webhooks.ts'
import type { TrackingCtx } from '../../signing/ctx.ts'
import type { ProjectEvent } from '../schema.ts'
import { type ShownCtx, shownEvents } from '../shown.ts'
import { openOurs, type Secrets, validSecrets } from './endpoint.ts'
import { giveUp } from './give-up.ts'
import { ANSWER_TIMEOUT_MS, type Posted, post } from './post.ts'
import { TEST_TYPE } from './schema.ts'
import { signedHeaders } from './sign.ts'

/** What a receiver gets. The id is the same each time. */
type Message = { readonly id: string; readonly body: string }

/** With its time: after a restore of the database another event may get the number of one that the receiver has. */
const writeMessage = (event: ProjectEvent): Message => ({
  id: `${event.project_id}-${event.id}-${Date.parse(event.created_at)}`,
  body: JSON.stringify(event),
})

const writeTest = ({ id, projectId, endpointId, createdAt }: DeliveryRow): Message => ({
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

const readMessages = async (ctx: ShownCtx, leased: readonly LeasedRow[]): Promise<ReadonlyMap<string, Message>> => {
  const shown = await shownEvents(
    ctx,
    leased.flatMap(({ event }) => event ?? []),
  )
  const events = new Map(shown.map((event) => [event.id, event]))
  return new Map(
    leased.flatMap(({ delivery }) => {
      if (delivery.number === null) return [[delivery.id, writeTest(delivery)] as const]
      const event = events.get(delivery.number.toString())
      return event === undefined ? [] : [[delivery.id, writeMessage(event)] as const]
    }),
  )
}

// When a delivery that was not taken is tried again: after pauses that grow, for three days. Pure.

const [MINUTE, HOUR] = [60, 3_600]
/** In seconds. The last one is repeated. */
const PAUSES = [5, 30, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR] as const
const LAST_PAUSE = 8 * HOUR
/** The part of a pause that is random, so that many deliveries do not come back together. */
const JITTER = 0.2

const RETRY_AFTER_MAX_SECONDS = LAST_PAUSE

const TRIED_SECONDS = 72 * HOUR

/** @param input.attempts how often it has failed, at least once. @param input.random from 0 to 1. */
const pauseSeconds = ({ attempts, random }: { readonly attempts: number; readonly random: number }): number => {
  const pause = PAUSES[attempts - 1] ?? LAST_PAUSE
  return pause * (1 - JITTER / 2 + JITTER * random)
}

/** Requests to one endpoint at the same time, by all workers. */
export const AT_ONCE = 8
/** After so many failures in a row an endpoint gets one request at a time. */
export const FAILURES_MAX = 5
const NUMBERED_AT_ONCE = 500
/** While something is sent, so many that wait are enough: they are counted each time. */
const WAITING_ENOUGH = 1_000
/** Where nothing that waits can be sent now, there may be events of other wallets behind it. */
const WAITING_MAX = 10_000
/** RFC 9110 §15.5.11. Standard Webhooks: the receiver wants no more events. */
const GONE = 410
/** Longer than a request may take, together with the write of its outcome. */
const LEASE_SECONDS = ANSWER_TIMEOUT_MS / 1_000 + 15

export type DeliverCtx = Pick<
  TrackingCtx,
  'db' | 'sealer' | 'config' | 'log' | 'audit' | 'securityEvents' | 'metrics' | 'now'
>

export type Leased = {
  readonly endpoint: EndpointRow
  readonly delivery: DeliveryRow
  readonly secrets: readonly string[]
  readonly message: Message
}

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

const ofDelivery = ({ id, endpointId, lane }: DeliveryRow) => ({ id, endpointId, lane })

type Failed = Pick<Leased, 'endpoint' | 'delivery'> & {
  /** The URL to which it was sent: the endpoint may have another one now. */
  readonly sentTo: string
  readonly answer: Posted
}

const recordFailure = async (ctx: DeliverCtx, tx: Tx, { endpoint, delivery, sentTo, answer }: Failed) => {
  // Meanwhile it may have been replayed, or its endpoint enabled again: then it has three days from now on.
  const { firstTriedAt, attempts } = (await findDelivery(tx, delivery.id)) ?? delivery
  // What was answered before that, or at another URL, decides nothing about the endpoint as it is now.
  const isPresent = firstTriedAt !== null && sentTo === endpoint.url
  const retryAfter = isPresent ? Math.min(answer.retryAfterSeconds ?? 0, RETRY_AFTER_MAX_SECONDS) : 0
  const begunAt = firstTriedAt ?? ctx.now()
  const isOver = ctx.now().getTime() - begunAt.getTime() >= TRIED_SECONDS * 1_000
  const tookNothing = endpoint.lastSuccessAt === null || endpoint.lastSuccessAt < begunAt
  // What a disabled endpoint did not take waits, so that nothing is lost when it is enabled again.
  const isLost = isOver && !tookNothing
  const pause = pauseSeconds({ attempts: attempts + 1, random: Math.random() })
  await markFailed(tx, {
    ...ofDelivery(delivery),
    ...answer,
    pauseSeconds: isLost ? null : Math.max(pause, retryAfter),
    endpointPauseSeconds: retryAfter,
  })
  if (isPresent && answer.status === GONE) await giveUp(ctx, tx, { endpoint, answer, given: { why: 'gone' } })
  else if (isOver && tookNothing) {
    await giveUp(ctx, tx, { endpoint, answer, given: { why: 'took_nothing', since: begunAt } })
  }
}

export type Answered = Pick<Leased, 'endpoint' | 'delivery'> & { readonly answer: Posted }

const recordOutcome = async (ctx: DeliverCtx, tx: Tx, { endpoint, delivery, answer }: Answered): Promise<void> => {
  const now = await lockEndpointById(tx, endpoint.id)
  // It was removed meanwhile.
  if (now === null) return
  if (answer.failure !== null) {
    return recordFailure(ctx, tx, { endpoint: now, delivery, sentTo: endpoint.url, answer })
  }
  if (now.failures >= FAILURES_MAX) await makeDue(tx, now.id)
  // The caller wanted to know whether it works again.
  if (delivery.number === null && now.pausedUntil !== null) await endPause(tx, now.id)
  await markDelivered(tx, { endpointId: now.id, rows: [{ ...ofDelivery(delivery), ...answer }] })
}

const count = (ctx: DeliverCtx, outcomes: readonly Answered[]): void => {
  for (const { answer } of outcomes) ctx.metrics.webhooks.inc({ outcome: answer.failure ?? 'delivered' })
}

/** Records the outcomes of deliveries of one endpoint, in the order given. */
export const recordOutcomes = async (ctx: DeliverCtx, outcomes: readonly Answered[]): Promise<void> => {
  if (outcomes.length === 0) return
  await ctx.db.transaction(async (tx) => {
    for (const outcome of outcomes) await recordOutcome(ctx, tx, outcome)
  })
  count(ctx, outcomes)
}

/**
 * Gives numbers to new events of an endpoint's project, so that they can be leased. @returns whether there may be more.
 */
export const numberNews = async (ctx: Pick<DeliverCtx, 'db'>, endpointId: string): Promise<boolean> =>
  (await numberEventsFor(ctx.db, { endpointId, atMost: NUMBERED_AT_ONCE })) === NUMBERED_AT_ONCE

/** `hasMore`: fewer were found than wanted, and yet there may be more to send. */
type Looked = { readonly leased: readonly Leased[]; readonly hasMore: boolean }

/** Leases what is due once `taken` is recorded, which it does in the same message. The endpoint must be locked. */
const lease = async (
  ctx: DeliverCtx,
  tx: Tx,
  input: {
    readonly endpoint: EndpointRow
    readonly secrets: Secrets
    readonly taken: readonly Answered[]
    readonly atOnce: number
  },
): Promise<Looked> => {
  const { endpoint, secrets, taken, atOnce } = input
  const endpointId = endpoint.id
  const most = endpoint.failures < FAILURES_MAX ? AT_ONCE : 1
  const wanted = { endpointId, atOnce: most, limit: atOnce, leaseSeconds: LEASE_SECONDS }
  const takeUpAndLease = (waitingMax: number) =>
    // In one message; the second one sees what the first one made.
    Promise.all([takeUpEvents(tx, { endpointId, waitingMax }), leaseDeliveries(tx, wanted)])
  const recorded = markDelivered(tx, {
    endpointId,
    rows: taken.map(({ delivery, answer }) => ({ ...ofDelivery(delivery), ...answer })),
  })
  let [[{ hasMore, isFull }, rows]] = await Promise.all([takeUpAndLease(WAITING_ENOUGH), recorded])
  const isStuck = isFull && rows.length === 0 && atOnce === AT_ONCE
  if (isStuck) [{ hasMore, isFull }, rows] = await takeUpAndLease(WAITING_MAX)
  const messages = await readMessages({ ...ctx, db: tx }, rows)
  const gone = rows.flatMap(({ delivery }) => (messages.has(delivery.id) ? [] : [delivery]))
  await endWithoutEvent(tx, gone)
  const leased = rows.flatMap(({ delivery }) => {
    const message = messages.get(delivery.id)
    return message === undefined ? [] : [{ endpoint, delivery, message, secrets: validSecrets(secrets, ctx.now()) }]
  })
  // The events of one look may all be of types that the endpoint does not want, or of wallets that wait.
  return { leased, hasMore: leased.length < atOnce && (hasMore || gone.length > 0) }
}

/** Records outcomes in the order given, and leases what is due then. @param input.atOnce how many more to send. */
export const recordAndLease = async (
  ctx: DeliverCtx,
  input: { readonly endpointId: string; readonly outcomes: readonly Answered[]; readonly atOnce: number },
): Promise<Looked> => {
  const { endpointId, outcomes, atOnce } = input
  const looked = await ctx.db.transaction(async (tx) => {
    let endpoint = await lockEndpointById(tx, endpointId)
    // The usual case, in which one outcome decides nothing about another one.
    const isPlain =
      endpoint !== null &&
      endpoint.failures < FAILURES_MAX &&
      endpoint.pausedUntil === null &&
      outcomes.every(({ answer }) => answer.failure === null)
    if (!isPlain && outcomes.length > 0) {
      for (const outcome of outcomes) await recordOutcome(ctx, tx, outcome)
      endpoint = await lockEndpointById(tx, endpointId)
    }
    const secrets = endpoint?.state === 'enabled' && atOnce > 0 ? await openOurs(ctx, endpoint) : null
    const taken = isPlain ? outcomes : []
    if (endpoint !== null && secrets !== null) return lease(ctx, tx, { endpoint, secrets, taken, atOnce })
    for (const outcome of taken) await recordOutcome(ctx, tx, outcome)
    return { leased: [], hasMore: false }
  })
  count(ctx, outcomes)
  return looked
}
