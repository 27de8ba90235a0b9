// The worker process: config → context (without a vault) → graphile-worker → drain on SIGTERM.

import { isDatabaseAway } from '../db/client.ts'
import { readConfig } from '../src/config.ts'
import { createWorkerCtx, type WorkerCtx } from '../src/context.ts'
import { listenForScrapes } from '../src/metrics/listen.ts'
import { CORE_DUMPS_ALLOWED, forbidCoreDumps } from '../src/security/core-dumps.ts'
import { startWritingEvents } from '../src/security/events.ts'
import { beginQueue, type Queue } from './queue.ts'

/** Running jobs are asked to end when the process is told to stop; it goes after this, whether they have or not. */
const DRAIN_MS = 10_000
const FIRST_PAUSE_MS = 200
const MAX_PAUSE_MS = 10_000

/** The queue ends by itself where it loses the database at a bad moment: then another takes its place. */
const keepWorking = async (ctx: WorkerCtx, input: { readonly queue: Queue | null; readonly stopping: AbortSignal }) => {
  const { stopping } = input
  let { queue } = input
  stopping.addEventListener('abort', () => void queue?.stop())
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    // Told to stop while it began: nobody has stopped it yet.
    if (stopping.aborted) await queue?.stop()
    await queue?.ended
    if (stopping.aborted) return
    if (queue !== null) {
      ctx.log.error('the job queue ended by itself')
      pauseMs = FIRST_PAUSE_MS
    }
    queue = await beginQueue(ctx).catch((err: unknown) => {
      ctx.log.error({ err }, 'the job queue cannot begin')
      return null
    })
    if (queue === null) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

const main = async (): Promise<void> => {
  const dumpsNothing = await forbidCoreDumps()
  const config = readConfig()
  const ctx = await createWorkerCtx({ config, process: 'worker' })
  if (!dumpsNothing) ctx.log.warn(CORE_DUMPS_ALLOWED)
  const stopTelling = startWritingEvents(ctx.securityEvents)
  const stopping = new AbortController()
  const stop = (signal: string): void => {
    ctx.log.info({ signal }, 'stopping')
    setTimeout(() => process.exit(1), DRAIN_MS)
    stopping.abort()
  }
  // A queue that ends while the database is away gives its jobs back in a promise that nobody waits for (graphile-worker
  // 0.18.0, LocalQueue.setModeReleased); another queue takes its place, and the jobs of the old one are a dead one's.
  process.on('unhandledRejection', (err) => ctx.log.error({ err }, 'something failed that nobody waited for'))
  process.once('SIGTERM', () => stop('SIGTERM'))
  process.once('SIGINT', () => stop('SIGINT'))

  const metrics = listenForScrapes(ctx, { at: config.workerMetricsListener, read: ctx.metrics.text })
  const queue = await beginQueue(ctx).catch((error: unknown) => {
    // It was there a moment ago: it comes back.
    if (isDatabaseAway(error)) return null
    throw error
  })
  ctx.log.info({ networks: ctx.chains.all.map((chain) => chain.network) }, 'working')
  await keepWorking(ctx, { queue, stopping: stopping.signal })
  await metrics?.stop(true)
  await stopTelling()
  await ctx.db.close({ timeoutSeconds: 2 })
  process.exit(0)
}

main().catch((error: unknown) => {
  process.stderr.write(`The worker cannot start: ${error instanceof Error ? error.message : 'unknown failure'}\n`)
  process.exit(1)
})
