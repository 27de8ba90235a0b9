// One signer's requests in arrival order: they queue here, in the process, before they take a database connection.

import PQueue from 'p-queue'
import { AppError } from '../errors.ts'

/** More than this waiting for one signer is not patience but a fault. */
const MAX_WAITING = 2_000

export type Mailboxes = {
  /** Runs `work` after everything that was handed in before for the same signer. @throws busy. */
  run<T>(signer: { readonly network: string; readonly address: string }, work: () => Promise<T>): Promise<T>
}

export const createMailboxes = (): Mailboxes => {
  const queues = new Map<string, PQueue>()
  return {
    run: async (signer, work) => {
      const key = `${signer.network}/${signer.address}`
      const queue = queues.get(key) ?? new PQueue({ concurrency: 1 })
      if (queue.size >= MAX_WAITING) {
        throw new AppError('busy', 'Too many transactions of this wallet wait to be recorded; try again later.', {
          retryAfterSeconds: 1,
        })
      }
      queues.set(key, queue)
      try {
        return await queue.add(work)
      } finally {
        if (queue.size === 0 && queue.pending === 0) queues.delete(key)
      }
    },
  }
}
