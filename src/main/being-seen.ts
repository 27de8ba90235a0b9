import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Db } from '../../db/client.ts'
import { forgetVaultProcess, recordVaultProcess } from '../../db/queries/processes.ts'
import type { Log } from '../platform/process/log.ts'

/** Others take a vault process for ended if three of these are missing. */
const SEEN_EVERY_MS = 5_000

/** Records every few seconds that this vault process runs and which root keys it has, until it is ended. */
export const startBeingSeen = (input: {
  readonly db: Db
  readonly log: Log
  readonly rootKeyIds: readonly string[]
}): (() => Promise<void>) => {
  const { db, log, rootKeyIds } = input
  const row = { id: randomUUID(), name: `${hostname()}:${process.pid}`, rootKeyIds }
  let last = Promise.resolve()
  const beat = () => {
    last = recordVaultProcess(db, row).catch((err: unknown) =>
      log.warn({ err }, 'could not tell others that this vault process runs'),
    )
  }
  beat()
  const timer = setInterval(beat, SEEN_EVERY_MS)
  return async () => {
    clearInterval(timer)
    await last
    await forgetVaultProcess(db, row.id).catch((err: unknown) => log.warn({ err }, 'could not say goodbye'))
  }
}
