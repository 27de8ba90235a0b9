// Hears at once that projects have events. A message that is lost, with its connection, costs a second: after each
// connection the worker looks what is due.

import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { poolConfig } from '../db/client.ts'
import { EVENTS_CHANNEL } from '../db/events.ts'
import type { WorkerCtx } from '../src/context.ts'

const PAUSE_MS = 1_000

type Heard = {
  /** A project has events. */
  readonly onProject: (projectId: string) => void
  /** From now on events are heard. There may have been others before. */
  readonly onListening: () => Promise<void>
}

/** @returns a function that ends it. */
export const listenForEvents = (
  { config, log }: Pick<WorkerCtx, 'config' | 'log'>,
  { onProject, onListening }: Heard,
): (() => Promise<void>) => {
  const stopping = new AbortController()
  const url = config.databaseUrl.reveal()
  const options = poolConfig({ url, maxConnections: 1, applicationName: 'strongroom-events' })

  /** Until the connection ends. */
  const listen = async (): Promise<void> => {
    const client = new pg.Client(options)
    const ended = new Promise<void>((resolve) => client.on('end', resolve))
    const end = () => void client.end().catch(() => {})
    client.on('error', end)
    client.on('notification', ({ payload }) => payload !== undefined && onProject(payload))
    stopping.signal.addEventListener('abort', end)
    try {
      await client.connect()
      await client.query(`listen ${EVENTS_CHANNEL}`)
      await onListening()
      if (!stopping.signal.aborted) await ended
    } finally {
      stopping.signal.removeEventListener('abort', end)
      end()
    }
  }

  const listening = (async () => {
    while (!stopping.signal.aborted) {
      await listen().catch((err: unknown) => log.warn({ err }, 'the connection that hears of events was lost'))
      await sleep(PAUSE_MS, undefined, stopping).catch(() => {})
    }
  })()
  return async () => {
    stopping.abort()
    await listening
  }
}
