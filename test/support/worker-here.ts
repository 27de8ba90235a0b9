// A worker in the test's own process, where the API is too: it starts in a tenth of the CPU time of a process. What a
// process does at its start, with signals or without its database is tested with a process, `service.startWorker`.

import { beginQueue, keepWorking } from '../../jobs/queue.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import type { Service } from './service.ts'

export type WorkerCtx = Awaited<ReturnType<typeof createWorkerCtx>>

export type WorkerHere = { readonly stop: () => Promise<void> }

/**
 * Starts a worker, with environment variables that differ from the service's, if any. It must be stopped before the
 * service.
 */
export const startWorkerHere = async (
  { variables, database }: Pick<Service, 'variables' | 'database'>,
  changes: Readonly<Record<string, string>> = {},
): Promise<WorkerHere> => {
  const own = { ...variables, ROOT_KEY: '', IDENTITY_KEY: '', DATABASE_URL: database.workerUrl, ...changes }
  const ctx = await createWorkerCtx({ config: readConfig(own), process: 'worker' })
  const stopping = new AbortController()
  const working = keepWorking(ctx, { queue: await beginQueue(ctx), stopping: stopping.signal })
  const stop = async () => {
    stopping.abort()
    await working
    await ctx.close({ timeoutSeconds: 2 })
  }
  return { stop }
}
