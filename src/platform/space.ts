import type { Db } from '../../db/client.ts'
import { tryDisk } from '../../db/queries/server.ts'
import { databaseTrouble } from '../../db/trouble.ts'
import type { Log } from './process/log.ts'

export type HasSpace = { readonly space: ReturnType<typeof watchSpace> }

const TRY_INTERVAL_MS = 5_000

export const watchSpace = ({ db, log }: { readonly db: Db; readonly log: Log }) => {
  let full = false
  let triedAtMs = Number.NEGATIVE_INFINITY
  let trying: Promise<void> | null = null

  const change = (isFull: boolean): void => {
    if (isFull && !full) log.error('the database has no space or memory left')
    if (!isFull && full) log.warn('the database has space again')
    full = isFull
  }

  /** Remembers it if this error says that the database has no space or memory left. */
  const note = (error: unknown): void => {
    if (databaseTrouble(error) !== 'full') return
    change(true)
    triedAtMs = performance.now()
  }

  const attempt = async (): Promise<void> => {
    try {
      await tryDisk(db)
      change(false)
    } catch (error) {
      // Another trouble says nothing about the space.
      note(error)
    } finally {
      triedAtMs = performance.now()
      trying = null
    }
  }

  return {
    note,
    /** Whether the database was full at the last failure or trial. Tries at most every five seconds. */
    isFull: async (): Promise<boolean> => {
      if (trying === null && performance.now() - triedAtMs > TRY_INTERVAL_MS) trying = attempt()
      await trying
      return full
    },
  }
}
