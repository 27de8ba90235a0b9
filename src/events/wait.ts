// Waiting for events. Nobody polls: PostgreSQL notifies when a transaction with an event commits (db/notices.ts).

import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { type EventsAsked, type EventsRead, readAfter } from './read.ts'

const READERS_MAX = 1_000
const READERS_OF_A_PROJECT_MAX = 20
/** Events that are written one shortly after the other are read together. */
const COLLECT_MS = 20

type Readers = {
  /** @throws rate_limited if too many wait. @returns a function that gives the place back, once. */
  enter(projectId: string): () => void
}

/** Counts who waits in this process. */
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

/** Notices of a project's new events that have come since the last wait for one. */
const listenFor = (ctx: Pick<Ctx, 'db'>, projectId: string) => {
  let rung = new AbortController()
  const end = ctx.db.eventNotices.subscribe((payload) => {
    if (payload === null || payload === projectId) rung.abort()
  })
  return {
    end,
    forget: () => {
      if (rung.signal.aborted) rung = new AbortController()
    },
    /** Resolves with the next notice, after a time, or when `signal` is aborted. */
    next: async (timeMs: number, signal: AbortSignal): Promise<void> => {
      await pause(timeMs, AbortSignal.any([rung.signal, signal]))
      if (rung.signal.aborted) await pause(Math.min(COLLECT_MS, timeMs), signal)
    },
  }
}

/**
 * Reads a project's events, and if there are none waits for some.
 * @param input.signal ends the wait, and then the answer has none.
 */
export const waitForEvents = async (
  ctx: Pick<Ctx, 'db'>,
  input: EventsAsked & { readonly waitMs: number; readonly signal: AbortSignal },
): Promise<EventsRead> => {
  const { waitMs, signal } = input
  if (waitMs === 0) return readAfter(ctx, input)
  const deadline = performance.now() + waitMs
  const notices = listenFor(ctx, input.projectId)
  try {
    for (let { after } = input; ; ) {
      // Before it is read: what comes meanwhile rings again.
      notices.forget()
      const read = await readAfter(ctx, { ...input, after })
      const leftMs = deadline - performance.now()
      if (read.rows.length > 0 || leftMs <= 0 || signal.aborted) return read
      after = read.next
      if (!read.hasMore) await notices.next(leftMs, signal)
    }
  } finally {
    notices.end()
  }
}
