// Notifications of PostgreSQL (LISTEN), for all who wait in a process, over one connection. It is opened when somebody first
// waits, and again when it was lost.
//
// A notification that comes while there is no connection is lost. So when one begins to listen, all who wait are told that
// they may have missed something: whoever subscribes and then reads misses nothing.
//
// Not each transaction notifies: of those that commit at the same time or soon after each other only one does (db/events.ts). So those
// who wait are told again after a moment. Notifications that follow each other closely are told together.

import type pg from 'pg'
import { answers, cut, SILENT_MS, WritableClient } from './pool.ts'

/** It must not reject. It is not called again before it has ended. */
type Heard = () => Promise<void>

export type Notices = {
  /** @returns a function that ends it. */
  readonly subscribe: (heard: Heard) => () => void
  /** Those who still wait hear nothing more. */
  readonly close: () => Promise<void>
}

/** Before the next try after a connection that was lost or could not be opened. */
const PAUSE_MS = 1_000
/** The least between two tellings. */
const APART_MS = 20
/** After the last notification: transactions that committed beside or after it without one are visible by then. */
const AGAIN_MS = [25, 50, 250, 1_000] as const

/** Tells those who wait, at once and again. */
const createTeller = () => {
  const waiting = new Set<() => void>()
  let told = -APART_MS
  let next: ReturnType<typeof setTimeout> | undefined
  /** The pauses before those who wait are told again. */
  let later: readonly number[] = []

  const tellIn = (timeMs: number): void => {
    clearTimeout(next)
    next = setTimeout(tellAll, timeMs)
  }
  const tellAll = (): void => {
    told = performance.now()
    const [pauseMs, ...rest] = later
    later = rest
    if (pauseMs !== undefined) tellIn(pauseMs)
    for (const tell of [...waiting]) tell()
  }

  return {
    isWaitedFor: () => waiting.size > 0,
    /** Also if nobody waits: whoever begins now may read before a transaction that passed has ended. */
    notified: (): void => {
      const isSoon = later === AGAIN_MS
      later = AGAIN_MS
      if (!isSoon) tellIn(Math.max(0, told + APART_MS - performance.now()))
    },
    subscribe: (heard: Heard): (() => void) => {
      let isBusy = false
      let isTold = false
      const hear = async (): Promise<void> => {
        isTold = true
        if (isBusy) return
        isBusy = true
        while (isTold && waiting.has(tell)) {
          isTold = false
          await heard()
        }
        isBusy = false
      }
      const tell = () => void hear()
      waiting.add(tell)
      return () => void waiting.delete(tell)
    },
    stop: () => clearTimeout(next),
  }
}

/** Listens on one channel. @param input.channel a name that needs no quotes. */
export const openNotices = (input: { readonly config: pg.ClientConfig; readonly channel: string }): Notices => {
  const teller = createTeller()
  let client: pg.Client | null = null
  let isClosed = false
  let pause: ReturnType<typeof setTimeout> | undefined

  const notified = (): void => {
    if (!isClosed) teller.notified()
  }

  const lost = (of: pg.Client): void => {
    if (client !== of) return
    client = null
    cut(of)
    if (isClosed) return
    pause = setTimeout(() => {
      pause = undefined
      if (teller.isWaitedFor()) connect()
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
        // A lost host notifies nobody.
        // Listening once more changes nothing, and the server shows what the connection is for.
        const ask = () => answers(opened, `listen ${input.channel}`)
        const asking = setInterval(() => void ask().then((isThere) => isThere || lost(opened)), SILENT_MS)
        opened.once('end', () => clearInterval(asking))
      })
      // Whoever waits reads the database as well, and reports there that it is away.
      .catch(() => lost(opened))
  }

  return {
    subscribe: (heard) => {
      const end = teller.subscribe(heard)
      connect()
      return end
    },
    close: async () => {
      isClosed = true
      clearTimeout(pause)
      teller.stop()
      const open = client
      client = null
      await open?.end()
    },
  }
}
