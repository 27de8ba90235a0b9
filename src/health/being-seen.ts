import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { forgetApiProcess, seeApiProcess } from '../../db/queries/api-processes.ts'
import type { Ctx } from '../context.ts'

/** Others take an API process for ended if three of these are missing. */
const SEEN_EVERY_MS = 5_000

/**
 * Says every few seconds that this API process runs and which root keys it has, for who changes the root key.
 * @returns ends it.
 */
export const startBeingSeen = (ctx: Pick<Ctx, 'db' | 'log' | 'vault'>): (() => Promise<void>) => {
  const row = { id: randomUUID(), name: `${hostname()}:${process.pid}` }
  let last = Promise.resolve()
  const see = async () => {
    const { rootKeyIds } = await ctx.vault.status()
    await seeApiProcess(ctx.db, { ...row, rootKeyIds })
  }
  const beat = () => {
    last = see().catch((err: unknown) => ctx.log.warn({ err }, 'could not tell others that this API process runs'))
  }
  beat()
  const timer = setInterval(beat, SEEN_EVERY_MS)
  return async () => {
    clearInterval(timer)
    await last
    await forgetApiProcess(ctx.db, row.id).catch((err: unknown) => ctx.log.warn({ err }, 'could not say goodbye'))
  }
}
