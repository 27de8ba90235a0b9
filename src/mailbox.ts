// Requests that must not overtake each other (those of one signer, or of one idempotency key) queue here, in the process,
// before they take a database connection.

import PQueue from 'p-queue'
import { AppError } from './errors.ts'

/** More than this waiting for one thing is not patience but a fault. */
const MAX_WAITING = 2_000
/** Likewise for a time; what then begins must still be answered before the server gives the connection up (http/listen.ts). */
const MAX_WAIT_MS = 45_000

export type Mailboxes = {
  /** Runs `work` after everything that was handed in before under the same name. @throws busy. */
  run<T>(name: string, work: () => Promise<T>): Promise<T>
}

const busy = (): AppError =>
  new AppError('busy', 'Too many requests wait for their turn here; try again later.', { retryAfterSeconds: 1 })

export const createMailboxes = ({ maxWaitMs = MAX_WAIT_MS }: { readonly maxWaitMs?: number } = {}): Mailboxes => {
  const queues = new Map<string, PQueue>()
  return {
    run: async (name, work) => {
      const queue = queues.get(name) ?? new PQueue({ concurrency: 1 })
      if (queue.size >= MAX_WAITING) throw busy()
      queues.set(name, queue)
      const beginBefore = performance.now() + maxWaitMs
      try {
        return await queue.add(() => {
          if (performance.now() > beginBefore) throw busy()
          return work()
        })
      } finally {
        if (queue.size === 0 && queue.pending === 0) queues.delete(name)
      }
    },
  }
}
