// Who carries deliveries in a worker. A job only rings: it says that an endpoint has something to send, and ends at once, so that
// receivers that hang hold no place of the jobs. Each endpoint with work has one courier in a process, which leases, sends and records
// until nothing is due. What is under way is in the rows, so any number of workers may have a courier of the same endpoint.
//
// A courier works in a place, of which there are few, for a turn. Then it waits behind the others for the next one. Receivers that hang
// must not hold up those that answer, so a courier that waits for an answer at the end of its turn has its next one in a slow place.

import { setTimeout as sleep } from 'node:timers/promises'
import { addJob } from '../../../db/jobs.ts'
import { secondsUntilDue } from '../../../db/queries/webhook-deliveries.ts'
import { endpointsWithNews, endpointsWithWork } from '../../../db/queries/webhooks.ts'
import { createQueue } from '../../platform/queue.ts'
import {
  type Answered,
  AT_ONCE,
  type DeliverCtx,
  FAILURES_MAX,
  type Leased,
  numberNews,
  recordAndLease,
  recordOutcomes,
  sendLeased,
} from './deliver.ts'
import { ANSWER_TIMEOUT_MS } from './post.ts'

/** Endpoints that one worker serves at the same time; others wait. */
const PLACES = { quick: 64, slow: 32 } as const
type Place = keyof typeof PLACES
const TURN_MS: Readonly<Record<Place, number>> = { quick: 1_000, slow: ANSWER_TIMEOUT_MS }
/** A courier that has waited this long for an answer at the end of its turn is slow. */
const SLOW_MS = 500
/** While a process has this many requests under way, a courier that waits for an answer keeps its place: no other begins. */
const REQUESTS_MAX = 1_024
const ENDPOINTS_WAITING_MAX = 10_000
const RUNG_AT_ONCE = 1_000
/** A process that ends waits this long for what is under way. The rest is sent again, when its lease is over. */
const STOP_MS = 5_000

export type Couriers = {
  /** Says that an endpoint may have something to send. */
  ring(endpointId: string): void
  /**
   * Rings for the endpoints with new events. It leaves out receivers that are down: those are tried when a pause ends, and by the
   * reconciler, so that each further event costs nothing for them.
   */
  ringForNews(): Promise<void>
  /** Rings for all endpoints with something to send. */
  ringAll(): Promise<void>
  /** Takes up nothing more, and waits for what is under way. */
  stop(): Promise<void>
}

type Courier = {
  readonly endpointId: string
  /** When each request began whose outcome is not recorded yet, by its delivery; the oldest first. */
  readonly underWay: Map<string, number>
  /** Outcomes that are not recorded yet. They are recorded together, as each transaction locks the endpoint. */
  readonly answered: Answered[]
  /** Resolves when the outcomes that came while it was not served are recorded; later outcomes wait for it. */
  recorded: Promise<void>
  /** Whether it is in a place: then its turn records outcomes, and leases in the same transaction. */
  isServed: boolean
  /** There may be new events, or others are due. */
  rung: boolean
  wake: () => void
}

type Work = { readonly ctx: DeliverCtx; readonly isStopping: () => boolean; requests: number }

const ringAt = (courier: Courier): void => {
  courier.rung = true
  courier.wake()
}

/** Waits for the first of them, but not longer than a time. */
const firstOf = async (promises: Iterable<Promise<unknown>>, timeMs: number): Promise<void> => {
  const over = new AbortController()
  await Promise.race([...promises, sleep(timeMs, undefined, over).catch(() => {})])
  over.abort()
}

/** Runs `record` for these outcomes. If it fails, their deliveries are sent again when the leases are over. */
const recording = async <Result>(
  { ctx }: Work,
  { endpointId, underWay }: Courier,
  { outcomes, record }: { readonly outcomes: readonly Answered[]; readonly record: () => Promise<Result> },
): Promise<Result> => {
  try {
    return await record()
  } catch (err) {
    if (outcomes.length > 0) ctx.log.warn({ err, endpointId }, 'the outcome of a delivery was not recorded')
    throw err
  } finally {
    for (const { delivery } of outcomes) underWay.delete(delivery.id)
  }
}

/** Records what was answered to a courier that is not served now. */
const recordLater = (work: Work, courier: Courier): void => {
  const record = async (): Promise<void> => {
    const outcomes = courier.answered.splice(0)
    await recording(work, courier, { outcomes, record: () => recordOutcomes(work.ctx, outcomes) })
  }
  courier.recorded = courier.recorded
    .then(record)
    .catch(() => {})
    // The next one of its wallet is due.
    .finally(() => ringAt(courier))
}

const send = (work: Work, courier: Courier, leased: Leased): void => {
  const { endpointId, underWay, answered } = courier
  const { id } = leased.delivery
  work.requests += 1
  underWay.set(id, performance.now())
  sendLeased(work.ctx, leased)
    .then(
      (answer) => void answered.push({ ...leased, answer }),
      (err: unknown) => {
        underWay.delete(id)
        work.ctx.log.warn({ err, endpointId }, 'a delivery could not be sent')
      },
    )
    .finally(() => {
      work.requests -= 1
      if (courier.isServed) courier.wake()
      else recordLater(work, courier)
    })
}

/** Numbers new events if there may be some, records what was answered, and sends what is due. */
const takeStep = async (work: Work, courier: Courier): Promise<void> => {
  const { endpointId, underWay, answered } = courier
  const outcomes = answered.splice(0)
  const atOnce = work.isStopping() ? 0 : AT_ONCE - underWay.size + outcomes.length
  const isRung = courier.rung && atOnce > 0
  if (outcomes.length === 0 && !isRung) return
  if (isRung) courier.rung = false
  const record = async () => {
    if (isRung && (await numberNews(work.ctx, endpointId))) courier.rung = true
    return recordAndLease(work.ctx, { endpointId, outcomes, atOnce })
  }
  const { leased, hasMore } = await recording(work, courier, { outcomes, record })
  for (const each of leased) send(work, courier, each)
  if (hasMore) courier.rung = true
}

/**
 * Serves one endpoint for a turn.
 * @returns where it goes on; null if nothing is due and nothing under way.
 */
const serve = async (work: Work, courier: Courier, turnMs: number): Promise<Place | null> => {
  const { underWay } = courier
  const endMs = performance.now() + turnMs
  for (;;) {
    const woken = new Promise<void>((resolve) => {
      courier.wake = resolve
    })
    await takeStep(work, courier)
    const [oldestMs] = underWay.values()
    const nowMs = performance.now()
    const mayLeave = work.requests < REQUESTS_MAX
    if (oldestMs !== undefined && nowMs >= endMs && mayLeave) return nowMs - oldestMs > SLOW_MS ? 'slow' : 'quick'
    const mayTake = courier.rung && underWay.size < AT_ONCE && !work.isStopping()
    if (mayTake || courier.answered.length > 0) continue
    if (oldestMs === undefined) return null
    await firstOf([woken], mayLeave ? endMs - nowMs : turnMs)
  }
}

/** The same; answers that come after the turn are recorded too. */
const serveTurn = async (work: Work, courier: Courier, turnMs: number): Promise<Place | null> => {
  courier.isServed = true
  // What became due meanwhile, also of what other workers recorded.
  courier.rung = true
  try {
    return await serve(work, courier, turnMs)
  } finally {
    courier.isServed = false
    if (courier.answered.length > 0) recordLater(work, courier)
  }
}

/** Adds a job for the time at which the next delivery is due after its pause. */
const remind = async (ctx: DeliverCtx, endpointId: string): Promise<void> => {
  const seconds = await secondsUntilDue(ctx.db, endpointId)
  if (seconds === null) return
  const options = { key: `webhooks:${endpointId}:later`, delaySeconds: Math.max(0, seconds) }
  await addJob(ctx.db, 'deliver_webhooks', { endpointId }, options)
}

const placesFor = (atOnce: number) =>
  createQueue({ atOnce, waitingMax: ENDPOINTS_WAITING_MAX, waitMaxMs: Number.POSITIVE_INFINITY })

/** @param placesMax how many there are. */
export const createCouriers = (ctx: DeliverCtx, placesMax: Readonly<Record<Place, number>> = PLACES): Couriers => {
  const places = { quick: placesFor(placesMax.quick), slow: placesFor(placesMax.slow) }
  const couriers = new Map<string, Courier>()
  const ends = new Set<Promise<void>>()
  let isStopping = false
  const work: Work = { ctx, isStopping: () => isStopping, requests: 0 }

  const inPlace = async (courier: Courier, place: Place): Promise<Place | null> => {
    using _place = await places[place].enter()
    return await serveTurn(work, courier, TURN_MS[place])
  }
  const carry = async (courier: Courier): Promise<void> => {
    for (let place: Place | null = 'quick'; place !== null; ) place = await inPlace(courier, place)
  }

  const begin = (endpointId: string): void => {
    const courier: Courier = {
      endpointId,
      underWay: new Map(),
      answered: [],
      recorded: Promise.resolve(),
      isServed: false,
      rung: false,
      wake: () => {},
    }
    couriers.set(endpointId, courier)
    const end = carry(courier)
      .finally(() => {
        couriers.delete(endpointId)
        // It was rung when it had just found nothing more.
        if (courier.rung) ring(endpointId)
      })
      .then(() => (isStopping ? undefined : remind(ctx, endpointId)))
      // The reconciler finds what is due, within half a minute.
      .catch((err: unknown) => ctx.log.warn({ err, endpointId }, 'a webhook could not be served'))
      .finally(() => ends.delete(end))
    ends.add(end)
  }

  const ring = (endpointId: string): void => {
    const courier = couriers.get(endpointId)
    if (courier !== undefined) ringAt(courier)
    else if (!isStopping) begin(endpointId)
  }

  return {
    ring,
    ringForNews: async () => {
      const some = { failuresMax: FAILURES_MAX, limit: RUNG_AT_ONCE }
      for (const endpointId of await endpointsWithNews(ctx.db, some)) ring(endpointId)
    },
    ringAll: async () => {
      for (const endpointId of await endpointsWithWork(ctx.db, RUNG_AT_ONCE)) ring(endpointId)
    },
    stop: async () => {
      isStopping = true
      await firstOf([Promise.all(ends)], STOP_MS)
    },
  }
}
