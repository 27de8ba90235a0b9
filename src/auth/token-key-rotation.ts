// The API changes the keys of access tokens itself, as the worker can neither read nor make one. Every process looks; a lock
// in the database sees to it that one of them makes the next key.

import type { Ctx } from '../context.ts'
import { rotateTokenKeys } from './access-token.ts'

/** A key signs for 30 days, and the next one is published an hour before it signs: a few minutes do not matter. */
const LOOK_INTERVAL_MS = 600_000

/**
 * Makes the next key of access tokens when it is due, and drops old ones: looks at once, and then every ten minutes.
 * @returns what a process calls before it closes its database.
 */
export const startRotatingTokenKeys = (
  ctx: Pick<Ctx, 'db' | 'identity' | 'config' | 'now' | 'log'>,
): (() => Promise<void>) => {
  let looking = Promise.resolve()
  const look = (): void => {
    looking = rotateTokenKeys(ctx, ctx.now()).catch((err: unknown) => {
      ctx.log.warn({ err }, 'could not look whether the keys of access tokens are due for a change')
    })
  }
  look()
  const timer = setInterval(look, LOOK_INTERVAL_MS)
  return async () => {
    clearInterval(timer)
    await looking
  }
}
