// Delivers to webhooks in a worker. A job only wakes: it says that an endpoint has something to send, and ends at once,
// so that receivers that hang take no place of the jobs. Each endpoint with work has one deliverer in a process, which
// leases, sends and records until nothing is due. The rows say what is under way, so any number of workers may have a
// deliverer of the same endpoint.
//
// A deliverer works in a place, of which there are few, for a turn. Then it queues for the next one. Receivers that
// hang must not delay those that answer, so a deliverer that waits for an answer at the end of its turn has its next
// one in a slow place.

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

/** Endpoints that one worker serves at the same time. */
const PLACES = { quick: 64, slow: 32 } as const
type Place = keyof typeof PLACES
const TURN_MS: Readonly<Record<Place, number>> = { quick: 1_000, slow: ANSWER_TIMEOUT_MS }
/** A deliverer that has waited this long for an answer at the end of its turn is slow. */
const SLOW_MS = 500
/** While a process has so many requests under way, a deliverer that waits for an answer keeps its place. */
const REQUESTS_MAX = 1_024
const ENDPOINTS_WAITING_MAX = 10_000
const WOKEN_AT_ONCE = 1_000
/** A process that ends waits this long for what is under way. The rest is sent again, when its lease is over. */
const STOP_MS = 5_000

type Deliverer = {
  readonly endpointId: string
  /** When each request began whose outcome is not recorded yet, by its delivery; the oldest first. */
  readonly underWay: Map<string, number>
  /** Outcomes that are not recorded yet. They are recorded together, as each transaction locks the endpoint. */
  readonly answered: Answered[]
  /** Resolves when the outcomes that came while it was not served are recorded; later outcomes wait for it. */
  recorded: Promise<void>
  /** Whether it is in a place: then its turn records outcomes, and leases in the same transaction. */
  isServed: boolean
  /** There may be new events, or deliveries are due. */
  isWoken: boolean
  /** Ends the wait of its turn. */
  interrupt: () => void
}

type Work = { readonly ctx: DeliverCtx; readonly isStopping: () => boolean; requests: number }

const wakeUp = (deliverer: Deliverer): void => {
  deliverer.isWoken = true
  deliverer.interrupt()
}

const waitForFirst = async (promises: Iterable<Promise<unknown>>, timeMs: number): Promise<void> => {
  const over = new AbortController()
  await Promise.race([...promises, sleep(timeMs, undefined, over).catch(() => {})])
  over.abort()
}

/** Runs `record` for these outcomes. If it fails, their deliveries are sent again when the leases are over. */
const recording = async <Result>(
  { ctx }: Work,
  { endpointId, underWay }: Deliverer,
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

/** Records what was answered to a deliverer that is not served now. */
const recordLater = (work: Work, deliverer: Deliverer): void => {
  const record = async (): Promise<void> => {
    const outcomes = deliverer.answered.splice(0)
    await recording(work, deliverer, { outcomes, record: () => recordOutcomes(work.ctx, outcomes) })
  }
  deliverer.recorded = deliverer.recorded
    .then(record)
    .catch(() => {})
    // The next one of its wallet is due.
    .finally(() => wakeUp(deliverer))
}

const send = (work: Work, deliverer: Deliverer, leased: Leased): void => {
  const { endpointId, underWay, answered } = deliverer
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
      if (deliverer.isServed) deliverer.interrupt()
      else recordLater(work, deliverer)
    })
}

const takeStep = async (work: Work, deliverer: Deliverer): Promise<void> => {
  const { endpointId, underWay, answered } = deliverer
  const outcomes = answered.splice(0)
  const atOnce = work.isStopping() ? 0 : AT_ONCE - underWay.size + outcomes.length
  const wasWoken = deliverer.isWoken && atOnce > 0
  if (outcomes.length === 0 && !wasWoken) return
  if (wasWoken) deliverer.isWoken = false
  const record = async () => {
    if (wasWoken && (await numberNews(work.ctx, endpointId))) deliverer.isWoken = true
    return recordAndLease(work.ctx, { endpointId, outcomes, atOnce })
  }
  const { leased, hasMore } = await recording(work, deliverer, { outcomes, record })
  for (const each of leased) send(work, deliverer, each)
  if (hasMore) deliverer.isWoken = true
}

/** Serves one endpoint for a turn. @returns where it goes on; null if nothing is due and nothing under way. */
const serve = async (work: Work, deliverer: Deliverer, turnMs: number): Promise<Place | null> => {
  const { underWay } = deliverer
  const endMs = performance.now() + turnMs
  for (;;) {
    const woken = new Promise<void>((resolve) => {
      deliverer.interrupt = resolve
    })
    await takeStep(work, deliverer)
    const [oldestMs] = underWay.values()
    const nowMs = performance.now()
    const mayLeave = work.requests < REQUESTS_MAX
    if (oldestMs !== undefined && nowMs >= endMs && mayLeave) return nowMs - oldestMs > SLOW_MS ? 'slow' : 'quick'
    const mayTake = deliverer.isWoken && underWay.size < AT_ONCE && !work.isStopping()
    if (mayTake || deliverer.answered.length > 0) continue
    if (oldestMs === undefined) return null
    await waitForFirst([woken], mayLeave ? endMs - nowMs : turnMs)
  }
}

/** Records the answers that come after the turn, too. */
const serveTurn = async (work: Work, deliverer: Deliverer, turnMs: number): Promise<Place | null> => {
  deliverer.isServed = true
  // Deliveries may have become due meanwhile, also by what other workers recorded.
  deliverer.isWoken = true
  try {
    return await serve(work, deliverer, turnMs)
  } finally {
    deliverer.isServed = false
    if (deliverer.answered.length > 0) recordLater(work, deliverer)
  }
}

/** Adds a job for the time at which the next delivery is due after its pause. */
const remind = async (ctx: DeliverCtx, endpointId: string): Promise<void> => {
  const seconds = await secondsUntilDue(ctx.db, endpointId)
  if (seconds === null) return
  const options = { key: `webhooks:${endpointId}:later`, delaySeconds: Math.max(0, seconds) }
  await addJob(ctx.db, 'deliver_webhooks', { endpointId }, options)
}

const createPlaces = (atOnce: number) =>
  createQueue({ atOnce, waitingMax: ENDPOINTS_WAITING_MAX, waitMaxMs: Number.POSITIVE_INFINITY })

export const createDeliverers = (ctx: DeliverCtx, placesMax: Readonly<Record<Place, number>> = PLACES) => {
  const places = { quick: createPlaces(placesMax.quick), slow: createPlaces(placesMax.slow) }
  const deliverers = new Map<string, Deliverer>()
  const ends = new Set<Promise<void>>()
  let isStopping = false
  const work: Work = { ctx, isStopping: () => isStopping, requests: 0 }

  const inPlace = async (deliverer: Deliverer, place: Place): Promise<Place | null> => {
    using _place = await places[place].enter()
    return await serveTurn(work, deliverer, TURN_MS[place])
  }
  const deliver = async (deliverer: Deliverer): Promise<void> => {
    for (let place: Place | null = 'quick'; place !== null; ) place = await inPlace(deliverer, place)
  }

  const begin = (endpointId: string): void => {
    const deliverer: Deliverer = {
      endpointId,
      underWay: new Map(),
      answered: [],
      recorded: Promise.resolve(),
      isServed: false,
      isWoken: false,
      interrupt: () => {},
    }
    deliverers.set(endpointId, deliverer)
    const end = deliver(deliverer)
      .finally(() => {
        deliverers.delete(endpointId)
        // A job woke it when it had just found nothing more.
        if (deliverer.isWoken) wake(endpointId)
      })
      .then(() => (isStopping ? undefined : remind(ctx, endpointId)))
      // The reconciler finds what is due, within half a minute.
      .catch((err: unknown) => ctx.log.warn({ err, endpointId }, 'a webhook could not be served'))
      .finally(() => ends.delete(end))
    ends.add(end)
  }

  const wake = (endpointId: string): void => {
    const deliverer = deliverers.get(endpointId)
    if (deliverer !== undefined) wakeUp(deliverer)
    else if (!isStopping) begin(endpointId)
  }

  const wakeEach = (endpointIds: readonly string[]): void => {
    for (const endpointId of endpointIds) wake(endpointId)
  }

  return {
    /** Says that an endpoint may have something to send. */
    wake,
    /** Leaves out receivers that are down, so that further events cost nothing: a pause's end wakes for those. */
    wakeForNews: async () =>
      wakeEach(await endpointsWithNews(ctx.db, { failuresMax: FAILURES_MAX, limit: WOKEN_AT_ONCE })),
    /** Wakes for all endpoints with something to send. */
    wakeAll: async () => wakeEach(await endpointsWithWork(ctx.db, WOKEN_AT_ONCE)),
    /** Takes up nothing more, and waits for what is under way. */
    stop: async () => {
      isStopping = true
      await waitForFirst([Promise.all(ends)], STOP_MS)
    },
  }
}

export type Deliverers = ReturnType<typeof createDeliverers>
