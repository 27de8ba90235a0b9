// A PostgreSQL server that a test kills (SIGKILL), all of its processes at once, and starts again on the same folder
// and port.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { type PostgresOptions, startPostgres } from '../../devnet/postgres.ts'
import { startTestPostgres } from './postgres.ts'

const POLL_MS = 20

/**
 * Its sessions would end by themselves without their parent, but only after what they are doing. Empty on other systems
 * than Linux.
 */
const sessionsOf = async (pid: number): Promise<readonly number[]> => {
  const pids = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  return pids.split(' ').filter(Boolean).map(Number)
}

/** FATAL: its session was ended, for instance because the server's first process is dead. */
const ADMIN_SHUTDOWN = '57P01'

const killNow = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

/**
 * Connections of a test to a server that may die at any time. Without array types: the driver asks for these on each
 * new connection in a promise that nobody awaits (postgres 3.4, fetchArrayTypes), and its failure would end the test.
 * So arrays are read as JSON.
 */
export const connectToMortal = (url: string): Sql => postgres(url, { max: 2, onnotice: () => {}, fetch_types: false })

/**
 * Asks, and asks again if the error is of the session before. The driver keeps the error that ended a session, and
 * answers the first question of the next one with it (postgres 3.4, `errorResponse`).
 */
export const askAfresh = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof postgres.PostgresError && error.code === ADMIN_SHUTDOWN) return ask()
    throw error
  }
}

/** Settings of a server whose log can be decoded: its changes are read in the order of their commits. */
export const LOGICAL = { wal_level: 'logical' } as const

/** A server with durable settings: what was committed survives. */
export const startMortalPostgres = async (settings: PostgresOptions['settings'] = {}) => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-mortal-'))
  const options = { dataDirectory: join(folder, 'postgres'), durable: true, settings }
  let starting = startTestPostgres(options.dataDirectory, options)
  const { url, port } = await starting
  let ended = Promise.withResolvers<void>()
  let isAlive = true
  let kills = 0
  return {
    url,
    isAlive: (): boolean => isAlive,
    connect: (): Sql => connectToMortal(url),
    /** Resolves when it was killed. */
    ended: (): Promise<void> => ended.promise,
    /** Kills it, or as soon as it has started. */
    kill: async (): Promise<void> => {
      isAlive = false
      kills += 1
      const { pid, exited } = (await starting).process
      for (const each of [pid, ...(await sessionsOf(pid))]) killNow(each)
      await exited
      ended.resolve()
    },
    /** Starts it again after a kill, and resolves when it is ready. */
    start: async (): Promise<void> => {
      const killsBefore = kills
      ended = Promise.withResolvers()
      starting = startPostgres({ ...options, port })
      await starting
      isAlive = kills === killsBefore
    },
    /** Asks it something, again if it is killed meanwhile. */
    asked: async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
      for (;;) {
        while (!isAlive) await sleep(POLL_MS)
        const killsBefore = kills
        try {
          return await askAfresh(ask)
        } catch (error) {
          if (kills === killsBefore) throw error
        }
      }
    },
    stop: async (): Promise<void> => {
      await (await starting).stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export type MortalPostgres = Awaited<ReturnType<typeof startMortalPostgres>>
