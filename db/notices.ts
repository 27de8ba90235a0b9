// Notifications of PostgreSQL (LISTEN), for all subscribers of a process, over one connection. It is opened for the
// first subscriber, and again when it was lost. When it begins to listen, all subscribers are woken, as they may have
// missed a notification: a caller that subscribes and then reads misses nothing.
//
// Of transactions that commit at the same time or soon after each other only one notifies (db/events.ts). So
// subscribers are woken again after a moment, and once for notifications that follow each other closely.

import type pg from 'pg'
import { closeAtOnce, isAnswering, SILENT_MS, WritableClient } from './pool.ts'

/** It must not reject. It is not called again before it has ended. */
type Act = () => Promise<void>

export type Notices = {
  /** @returns a function that ends it. */
  readonly subscribe: (act: Act) => () => void
  /** Subscribers are woken no more. */
  readonly close: () => Promise<void>
}

/** Before the next try after a connection that was lost or could not be opened. */
const PAUSE_MS = 1_000
/** The least between two wakings. */
const APART_MS = 20
/** After the last notification: transactions that committed beside or after it without one are visible by then. */
const AGAIN_MS = [25, 50, 250, 1_000] as const

/** Wakes subscribers, at once and again. */
const createAlarm = () => {
  const waiting = new Set<() => void>()
  let wokeAtMs = -APART_MS
  let next: ReturnType<typeof setTimeout> | undefined
  /** The pauses before subscribers are woken again. */
  let later: readonly number[] = []

  const wakeIn = (timeMs: number): void => {
    clearTimeout(next)
    next = setTimeout(wakeAll, timeMs)
  }
  const wakeAll = (): void => {
    wokeAtMs = performance.now()
    const [pauseMs, ...rest] = later
    later = rest
    if (pauseMs !== undefined) wakeIn(pauseMs)
    for (const wake of [...waiting]) wake()
  }

  return {
    isWaitedFor: () => waiting.size > 0,
    /** Also without a subscriber: a new one may read before a transaction that did not notify has ended. */
    notified: (): void => {
      const isSoon = later === AGAIN_MS
      later = AGAIN_MS
      if (!isSoon) wakeIn(Math.max(0, wokeAtMs + APART_MS - performance.now()))
    },
    subscribe: (act: Act): (() => void) => {
      let isBusy = false
      let isDue = false
      const run = async (): Promise<void> => {
        isDue = true
        if (isBusy) return
        isBusy = true
        while (isDue && waiting.has(wake)) {
          isDue = false
          await act()
        }
        isBusy = false
      }
      const wake = () => void run()
      waiting.add(wake)
      return () => void waiting.delete(wake)
    },
    stop: () => clearTimeout(next),
  }
}

/** Listens on one channel. @param input.channel a name that needs no quotes. */
export const openNotices = (input: { readonly config: pg.ClientConfig; readonly channel: string }): Notices => {
  const alarm = createAlarm()
  let client: pg.Client | null = null
  let isClosed = false
  let pause: ReturnType<typeof setTimeout> | undefined

  const notified = (): void => {
    if (!isClosed) alarm.notified()
  }

  const lost = (ended: pg.Client): void => {
    if (client !== ended) return
    client = null
    closeAtOnce(ended)
    if (isClosed) return
    pause = setTimeout(() => {
      pause = undefined
      if (alarm.isWaitedFor()) connect()
    }, PAUSE_MS)
  }

  const connect = (): void => {
    if (client !== null || isClosed || pause !== undefined) return
    const opened: pg.Client = new WritableClient(input.config)
    client = opened
    opened.on('error', () => lost(opened))
    opened.on('end', () => lost(opened))
    opened.on('notification', notified)
    opened
      .connect()
      .then(() => opened.query(`listen ${input.channel}`))
      .then(() => {
        notified()
        // A lost host sends no notice. Listening once more changes nothing, and the server shows what the connection is
        // for.
        const ask = () => isAnswering(opened, `listen ${input.channel}`)
        const asking = setInterval(() => void ask().then((isThere) => isThere || lost(opened)), SILENT_MS)
        opened.once('end', () => clearInterval(asking))
      })
      // Subscribers read the database as well, and report there that it is away.
      .catch(() => lost(opened))
  }

  return {
    subscribe: (act) => {
      const end = alarm.subscribe(act)
      connect()
      return end
    },
    close: async () => {
      isClosed = true
      clearTimeout(pause)
      alarm.stop()
      const open = client
      client = null
      await open?.end()
    },
  }
}
