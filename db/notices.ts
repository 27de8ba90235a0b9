// Notifications of PostgreSQL (LISTEN), for all who wait in a process, over one connection. It is opened when somebody first
// waits, and again when it was lost.
//
// A notification that comes while there is no connection is lost. So when one begins to listen, all who wait are told that
// they may have missed something: whoever subscribes and then reads misses nothing.

import pg from 'pg'

/** @param payload null: it may have missed some. */
type Heard = (payload: string | null) => void

export type Notices = {
  /** @returns a function that ends it. `heard` must not throw. */
  readonly subscribe: (heard: Heard) => () => void
  /** Those who still wait hear nothing more. */
  readonly close: () => Promise<void>
}

/** Before the next try after a connection that was lost or could not be opened. */
const PAUSE_MS = 1_000

/** Listens on one channel. @param input.channel a name that needs no quotes. */
export const openNotices = (input: { readonly config: pg.ClientConfig; readonly channel: string }): Notices => {
  const waiting = new Set<Heard>()
  let client: pg.Client | null = null
  let isClosed = false
  let pause: ReturnType<typeof setTimeout> | undefined

  const tellAll = (payload: string | null): void => {
    for (const heard of [...waiting]) heard(payload)
  }

  const lost = (of: pg.Client): void => {
    if (client !== of) return
    client = null
    of.end().catch(() => {})
    if (isClosed) return
    pause = setTimeout(() => {
      pause = undefined
      if (waiting.size > 0) connect()
    }, PAUSE_MS)
  }

  const connect = (): void => {
    if (client !== null || isClosed || pause !== undefined) return
    const opened = new pg.Client(input.config)
    client = opened
    opened.on('error', () => lost(opened))
    opened.on('end', () => lost(opened))
    opened.on('notification', ({ payload }) => tellAll(payload ?? null))
    opened
      .connect()
      .then(() => opened.query(`listen ${input.channel}`))
      .then(
        () => tellAll(null),
        // Whoever waits reads the database as well, and reports there that it is away.
        () => lost(opened),
      )
  }

  return {
    subscribe: (heard) => {
      waiting.add(heard)
      connect()
      return () => void waiting.delete(heard)
    },
    close: async () => {
      isClosed = true
      clearTimeout(pause)
      const open = client
      client = null
      await open?.end()
    },
  }
}
