// Who carries deliveries in a worker. A job only rings: it says that an endpoint has something to send, and ends at once, so that
// receivers that hang hold no place of the jobs. Each endpoint with work has one courier in a process, which leases, sends and records
// until nothing is due. What is under way is in the rows, so any number of workers may have a courier of the same endpoint.

import { setTimeout as sleep } from 'node:timers/promises'
import { addJob } from '../../db/jobs.ts'
import { secondsUntilDue } from '../../db/queries/webhook-deliveries.ts'
import { endpointsWithNews, endpointsWithWork } from '../../db/queries/webhooks.ts'
import { createQueue } from '../queue.ts'
import { AT_ONCE, type DeliverCtx, FAILURES_MAX, type Leased, leaseDue, recordOutcome, sendLeased } from './deliver.ts'

/** Endpoints that one worker serves at the same time; others wait. */
const ENDPOINTS_AT_ONCE = 64
const ENDPOINTS_WAITING_MAX = 10_000
const RUNG_AT_ONCE = 1_000
/** A process that ends waits so long for what is under way. The rest is sent again, when its lease is over. */
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

type Bell = { rung: boolean; ring: () => void }

type Work = { readonly ctx: DeliverCtx; readonly isStopping: () => boolean }

/** Serves one endpoint until nothing is due and nothing under way. */
const serve = async ({ ctx, isStopping }: Work, endpointId: string, bell: Bell): Promise<void> => {
  const underWay = new Set<Promise<void>>()
  const begin = (leased: Leased): void => {
    const carried = sendLeased(ctx, leased)
      .then((answer) => recordOutcome(ctx, { ...leased, answer }))
      .catch((err: unknown) => ctx.log.warn({ err, endpointId }, 'the outcome of a delivery was not recorded'))
      .finally(() => underWay.delete(carried))
    underWay.add(carried)
  }
  for (;;) {
    bell.rung = false
    const rung = new Promise<void>((resolve) => {
      bell.ring = resolve
    })
    const free = AT_ONCE - underWay.size
    const due = free === 0 || isStopping() ? [] : await leaseDue(ctx, { endpointId, atOnce: free })
    due.forEach(begin)
    if (due.length > 0 && underWay.size < AT_ONCE) continue
    if (underWay.size > 0) await Promise.race([rung, ...underWay])
    else if (!bell.rung) return
  }
}

/** Whoever comes back after a pause is reminded by a job. */
const remind = async (ctx: DeliverCtx, endpointId: string): Promise<void> => {
  const seconds = await secondsUntilDue(ctx.db, endpointId)
  if (seconds === null) return
  const options = { key: `webhooks:${endpointId}:later`, delaySeconds: Math.max(0, seconds) }
  await addJob(ctx.db, 'deliver_webhooks', { endpointId }, options)
}

export const createCouriers = (ctx: DeliverCtx): Couriers => {
  const places = createQueue({
    atOnce: ENDPOINTS_AT_ONCE,
    waitingMax: ENDPOINTS_WAITING_MAX,
    waitMaxMs: Number.POSITIVE_INFINITY,
  })
  const bells = new Map<string, Bell>()
  const couriers = new Set<Promise<void>>()
  let isStopping = false
  const work: Work = { ctx, isStopping: () => isStopping }

  const inPlace = async (endpointId: string, bell: Bell): Promise<void> => {
    using _place = await places.enter()
    await serve(work, endpointId, bell)
  }

  const begin = (endpointId: string): void => {
    const bell: Bell = { rung: false, ring: () => {} }
    bells.set(endpointId, bell)
    const courier = inPlace(endpointId, bell)
      .finally(() => bells.delete(endpointId))
      .then(() => (isStopping ? undefined : remind(ctx, endpointId)))
      // The reconciler finds what is due, within half a minute.
      .catch((err: unknown) => ctx.log.warn({ err, endpointId }, 'a webhook could not be served'))
      .finally(() => couriers.delete(courier))
    couriers.add(courier)
  }

  const ring = (endpointId: string): void => {
    const bell = bells.get(endpointId)
    if (bell !== undefined) {
      bell.rung = true
      bell.ring()
    } else if (!isStopping) begin(endpointId)
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
      const late = new AbortController()
      await Promise.race([Promise.all(couriers), sleep(STOP_MS, undefined, late).catch(() => {})])
      late.abort()
    },
  }
}
