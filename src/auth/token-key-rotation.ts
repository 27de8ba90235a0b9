// The API rotates the keys of access tokens itself, because the worker can neither read nor create one. Every process
// checks; a database lock makes sure that only one of them creates the next key.

import type { Ctx } from '../context.ts'
import { rotateTokenKeys } from './access-token.ts'

/** A key signs for 30 days and is published an hour before, so a few minutes do not matter. */
const CHECK_INTERVAL_MS = 600_000

/**
 * Rotates the keys of access tokens when due: checks now, and then every ten minutes.
 * @returns a function that stops the checks; call it before the database is closed.
 */
export const startRotatingTokenKeys = (
  ctx: Pick<Ctx, 'db' | 'identity' | 'config' | 'now' | 'log'>,
): (() => Promise<void>) => {
  let check = Promise.resolve()
  const start = (): void => {
    check = rotateTokenKeys(ctx, ctx.now()).catch((err: unknown) => {
      ctx.log.warn({ err }, 'could not check whether the keys of access tokens are due for rotation')
    })
  }
  start()
  const timer = setInterval(start, CHECK_INTERVAL_MS)
  return async () => {
    clearInterval(timer)
    await check
  }
}
