// Waits for events without polling: PostgreSQL notifies when events are committed (db/notices.ts).

import type { HasDb } from '../../db/client.ts'
import { type EventRow, numberEvents, readEvents, readReached } from '../../db/queries/events.ts'
import type { HasConfig } from '../platform/config.ts'
import { AppError } from '../platform/errors.ts'
import type { HasLog } from '../platform/process/log.ts'
import { invalidInput } from '../signing/schema.ts'

export type EventsAsked = {
  readonly projectId: string
  /** 0n: from the oldest that is kept. */
  readonly after: bigint
  /** null: all. */
  readonly types: readonly string[] | null
  readonly limit: number
}

/** `next`: what to read after. `hasMore`: that can be read at once. */
type EventsRead = {
  readonly rows: readonly EventRow[]
  readonly next: bigint
  readonly hasMore: boolean
}

const NUMBERED_AT_ONCE = 1_000

/** Numbers events that have no number yet. @throws events_gone, invalid_input if there is no such number yet */
export const readAfter = async (ctx: HasDb, input: EventsAsked): Promise<EventsRead> => {
  const { projectId, after, limit } = input
  const numbered = await numberEvents(ctx.db, { projectId, atMost: NUMBERED_AT_ONCE })
  const { rows, readTo, lastNumber, droppedNumber } = await readEvents(ctx.db, input)
  if (after !== 0n && after < droppedNumber) {
    throw new AppError('events_gone', `Events are kept from id ${droppedNumber + 1n} on: continue with "after" 0.`)
  }
  if (after > lastNumber) {
    // Perhaps the database was restored, and lacks what the caller has seen.
    throw invalidInput(`Field "after" must be at most ${lastNumber}, the id of the last event.`)
  }
  const hasMore = rows.length === limit || readTo < lastNumber || numbered === NUMBERED_AT_ONCE
  return { rows, next: readTo, hasMore }
}

const READERS_MAX = 1_000
const READERS_OF_A_PROJECT_MAX = 20

/** Bounds the callers that wait in this process. */
export const createReaders = () => {
  const counts = new Map<string, number>()
  let all = 0
  return {
    /** @throws rate_limited if too many wait. @returns a function that gives the place back, once. */
    enter: (projectId: string): (() => void) => {
      const ofProject = counts.get(projectId) ?? 0
      if (all >= READERS_MAX || ofProject >= READERS_OF_A_PROJECT_MAX) {
        throw new AppError('rate_limited', 'Too many requests wait for events; ask without "wait", or later.', {
          retryable: true,
          retryAfterSeconds: 5,
        })
      }
      all += 1
      counts.set(projectId, ofProject + 1)
      let isInside = true
      return () => {
        if (!isInside) return
        isInside = false
        all -= 1
        const left = (counts.get(projectId) ?? 1) - 1
        if (left === 0) counts.delete(projectId)
        else counts.set(projectId, left)
      }
    },
  }
}

const pause = (timeMs: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, timeMs)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
  })

type Waiter = { readonly projectId: string; after: bigint; wake: () => void }

/** Wakes the callers that wait in this process. One look at the database serves all of them. */
export const createWaiters = (ctx: HasDb & HasLog) => {
  const all = new Set<Waiter>()
  let end = () => {}

  const wakeForNews = async (): Promise<void> => {
    const reached = await readReached(ctx.db, [...new Set([...all].map(({ projectId }) => projectId))])
    for (const { projectId, after, wake } of all) {
      const { lastNumber, hasMore } = reached.get(projectId) ?? { lastNumber: 0n, hasMore: false }
      if (hasMore || lastNumber > after) wake()
    }
  }
  const look = (): Promise<void> =>
    wakeForNews().catch((err: unknown) => {
      ctx.log.warn({ err }, 'could not look for new events')
      // They read, and report what is wrong.
      for (const { wake } of all) wake()
    })
  return {
    /** `after` may change. @returns a function that ends the wait. */
    add: (waiter: Waiter) => {
      if (all.size === 0) end = ctx.db.eventNotices.subscribe(look)
      all.add(waiter)
      return () => {
        all.delete(waiter)
        if (all.size === 0) end()
      }
    },
  }
}

export type WaitCtx = HasDb & HasLog & HasConfig & { readonly waiters: ReturnType<typeof createWaiters> }

/** Waits for events if there are none. @param input.signal ends the wait; the answer then has no events. */
export const waitForEvents = async (
  ctx: WaitCtx,
  input: EventsAsked & { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<EventsRead> => {
  const { projectId, waitMs, signal } = input
  if (waitMs === 0) return readAfter(ctx, input)
  const deadline = performance.now() + waitMs
  let woken = new AbortController()
  const waiter: Waiter = { projectId, after: input.after, wake: () => woken.abort() }
  const end = ctx.waiters.add(waiter)
  try {
    for (;;) {
      // Before it is read: what comes meanwhile wakes again.
      woken = new AbortController()
      const read = await readAfter(ctx, { ...input, after: waiter.after })
      const leftMs = deadline - performance.now()
      if (read.rows.length > 0 || leftMs <= 0 || signal.aborted) return read
      waiter.after = read.next
      if (!read.hasMore) await pause(leftMs, AbortSignal.any([woken.signal, signal]))
    }
  } finally {
    end()
  }
}
