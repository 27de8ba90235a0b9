// Locks of the database, to stop a process at a statement.

import type { Sql } from 'postgres'

/**
 * Lets those who wait for a lock go on. The end of its block does so, too, so that a test that fails leaves no lock
 * behind.
 */
export type Release = (() => Promise<void>) & AsyncDisposable

/** Holds up everybody who writes to a table, or who reads it, too. @returns what lets them go on. */
export const holdTable = async (
  postgres: Sql,
  table: string,
  mode: 'exclusive' | 'access exclusive' = 'exclusive',
): Promise<Release> => {
  const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const holding = postgres.begin(async (tx) => {
    await tx`lock table ${tx(table)} in ${tx.unsafe(mode)} mode`
    held.resolve()
    await release.promise
  })
  await held.promise
  const go = async () => {
    release.resolve()
    await holding
  }
  return Object.assign(go, { [Symbol.asyncDispose]: go })
}

const waiting = (postgres: Sql) =>
  postgres`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`

/** Waits until so many sessions of the database wait for a lock. */
export const untilWaiting = async (postgres: Sql, sessions = 1): Promise<void> => {
  for (const deadline = Date.now() + 30_000; (await waiting(postgres)).length < sessions; ) {
    if (Date.now() > deadline) throw new Error('nobody waits for a lock')
  }
}

/** Waits until no session of the database waits for a lock. */
export const untilNobodyWaits = async (postgres: Sql): Promise<void> => {
  for (const deadline = Date.now() + 30_000; (await waiting(postgres)).length > 0; ) {
    if (Date.now() > deadline) throw new Error('somebody still waits for a lock')
  }
}

/** Waits until nobody holds a lock on a table that keeps others from reading it. */
export const untilReadable = async (postgres: Sql, table: string): Promise<void> => {
  const locked = () => postgres`
    select from pg_locks where relation = ${table}::regclass and mode = 'AccessExclusiveLock' and granted`
  for (const deadline = Date.now() + 60_000; (await locked()).length > 0; await Bun.sleep(50)) {
    if (Date.now() > deadline) throw new Error(`somebody still locks ${table}`)
  }
}
