// A budget: how many wrong developer secrets one API key may send in a while. A key whose budget is spent tries no more, not
// even the right one, until the window ends; no wallet and no other key is locked by it.
//
// It is counted in this process's memory, so that n processes are n budgets and a restart begins new ones: a secret of at
// least 16 characters is not found by that. PINs are (pin-limits.ts counts these in the database).

import { LRUCache } from 'lru-cache'
import { AppError } from '../../errors.ts'

const ACTORS_MAX = 10_000

export type Budget = {
  /**
   * Runs the check of a credential. It is charged before, so that many at once cannot overspend, and given back unless
   * the credential turns out to be wrong. @throws rate_limited, before the check; and whatever the check throws.
   */
  run<Result>(input: {
    readonly projectId: string
    readonly actor: string
    readonly check: () => Promise<Result>
  }): Promise<Result>
}

const isWrong = (error: unknown): boolean => error instanceof AppError && error.code === 'INVALID_SECRET'

/** At most `wrongMax` wrong credentials an actor in `windowMs`, from the first one on. */
export const createBudget = (limit: { readonly wrongMax: number; readonly windowMs: number }): Budget => {
  const windows = new LRUCache<string, { spent: number }>({ max: ACTORS_MAX, ttl: limit.windowMs })

  const windowOf = (actor: string): { spent: number } => {
    const open = windows.get(actor)
    if (open !== undefined) return open
    const opened = { spent: 0 }
    windows.set(actor, opened)
    return opened
  }

  return {
    run: async ({ projectId, actor, check }) => {
      const window = windowOf(actor)
      if (window.spent >= limit.wrongMax) {
        throw new AppError('rate_limited', 'Too many wrong credentials came with this API key: wait and try again.', {
          retryable: true,
          retryAfterSeconds: Math.max(1, Math.ceil(windows.getRemainingTTL(actor) / 1000)),
          event: { kind: 'wrong_secrets_spent', projectId, actor, subject: projectId },
        })
      }
      window.spent += 1
      try {
        const result = await check()
        window.spent -= 1
        return result
      } catch (error) {
        if (!isWrong(error)) window.spent -= 1
        throw error
      }
    },
  }
}
