// Waiting for events. Nobody polls: PostgreSQL notifies when events are committed (db/notices.ts).

import type { HasDb } from '../../db/client.ts'
import { readReached } from '../../db/queries/events.ts'
import type { HasConfig } from '../platform/config.ts'
import { AppError } from '../platform/errors.ts'
import type { HasLog } from '../platform/process/log.ts'
import { type EventsAsked, type EventsRead, readAfter } from './read.ts'

const READERS_MAX = 1_000
const READERS_OF_A_PROJECT_MAX = 20

type Readers = {
  /** @throws rate_limited if too many wait. @returns a function that gives the place back, once. */
  enter(projectId: string): () => void
}

/** Counts the callers that wait in this process. */
export const createReaders = (): Readers => {
  const counts = new Map<string, number>()
  let all = 0
  return {
    enter: (projectId) => {
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

/** Resolves after a time, or as soon as the signal is aborted. */
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

type Waiting = { readonly projectId: string; after: bigint; ring: () => void }

type BellCtx = HasDb & HasLog

/** Rings for those who wait in this process. One look at the database is for all of them. */
type Bell = {
  /** `after` may change. @returns a function that ends it. */
  add(waiting: Waiting): () => void
}

export const createBell = (ctx: BellCtx): Bell => {
  const all = new Set<Waiting>()
  let end = () => {}

  const ringForNews = async (): Promise<void> => {
    const reached = await readReached(ctx.db, [...new Set([...all].map(({ projectId }) => projectId))])
    for (const { projectId, after, ring } of all) {
      const { lastNumber, hasMore } = reached.get(projectId) ?? { lastNumber: 0n, hasMore: false }
      if (hasMore || lastNumber > after) ring()
    }
  }
  const look = (): Promise<void> =>
    ringForNews().catch((err: unknown) => {
      ctx.log.warn({ err }, 'could not look for new events')
      // They read, and report what is wrong.
      for (const { ring } of all) ring()
    })
  return {
    add: (waiting) => {
      if (all.size === 0) end = ctx.db.eventNotices.subscribe(look)
      all.add(waiting)
      return () => {
        all.delete(waiting)
        if (all.size === 0) end()
      }
    },
  }
}

export type WaitCtx = BellCtx & HasConfig & { readonly bell: Bell }

/**
 * Reads a project's events, and if there are none waits for some.
 * @param input.signal ends the wait; the answer then has no events.
 */
export const waitForEvents = async (
  ctx: WaitCtx,
  input: EventsAsked & { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<EventsRead> => {
  const { projectId, waitMs, signal } = input
  if (waitMs === 0) return readAfter(ctx, input)
  const deadline = performance.now() + waitMs
  let rung = new AbortController()
  const waiting: Waiting = { projectId, after: input.after, ring: () => rung.abort() }
  const end = ctx.bell.add(waiting)
  try {
    for (;;) {
      // Before it is read: what comes meanwhile rings again.
      rung = new AbortController()
      const read = await readAfter(ctx, { ...input, after: waiting.after })
      const leftMs = deadline - performance.now()
      if (read.rows.length > 0 || leftMs <= 0 || signal.aborted) return read
      waiting.after = read.next
      if (!read.hasMore) await pause(leftMs, AbortSignal.any([rung.signal, signal]))
    }
  } finally {
    end()
  }
}
