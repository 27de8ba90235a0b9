// The worker process: config → context (without a vault) → graphile-worker → drain on SIGTERM.

import { countConnectionsMax, type HasClose } from '../../db/client.ts'
import { databaseTrouble } from '../../db/trouble.ts'
import type { JobsCtx } from '../../jobs/ctx.ts'
import { beginQueue, keepWorking, QUEUE_CONNECTIONS } from '../../jobs/queue.ts'
import { listenForScrapes } from '../api/metrics/listener.ts'
import { startWatchingKeys } from '../identity/retired-keys.ts'
import { startWritingEvents } from '../identity/security-events.ts'
import { readConfig } from '../platform/config.ts'
import { logConnections } from '../platform/environment/database.ts'
import { explainFailure } from '../platform/environment/failure.ts'
import { warnOfUnknown } from '../platform/environment/variables.ts'
import { NotReadyYet } from '../platform/errors.ts'
import { CORE_DUMPS_ALLOWED, forbidCoreDumps } from '../platform/process/libc.ts'
import { createLog } from '../platform/process/log.ts'
import { createWorkerCtx } from './asking-contexts.ts'

/** How long running jobs may take to end after SIGTERM; then the process exits. */
const DRAIN_MS = 10_000
/** How often a worker that came too early looks, and how often it says so. */
const EARLY_PAUSE_MS = 1_000
const EARLY_PAUSES_BETWEEN_LINES = 60

/** Waits for what the operator or the first vault has still to do, and says what it waits for. */
const createWhenReady = async (input: Parameters<typeof createWorkerCtx>[0]): Promise<JobsCtx & HasClose> => {
  const log = createLog(input)
  const giveUp = () => process.exit(0)
  process.on('SIGTERM', giveUp).on('SIGINT', giveUp)
  let reason = ''
  for (let pause = 0; ; pause += 1) {
    try {
      const ctx = await createWorkerCtx(input)
      process.off('SIGTERM', giveUp).off('SIGINT', giveUp)
      return ctx
    } catch (error) {
      if (!(error instanceof NotReadyYet)) throw error
      if (error.message !== reason || pause % EARLY_PAUSES_BETWEEN_LINES === 0) {
        reason = error.message
        log.warn({ reason }, 'the worker waits')
      }
    }
    await new Promise((resolve) => setTimeout(resolve, EARLY_PAUSE_MS))
  }
}

const main = async (): Promise<void> => {
  const dumpsNothing = await forbidCoreDumps()
  const config = readConfig(undefined, 'worker')
  const ctx = await createWhenReady({ config, process: 'worker' })
  if (!dumpsNothing) ctx.log.warn(CORE_DUMPS_ALLOWED)
  warnOfUnknown(ctx)
  const most =
    countConnectionsMax({ maxConnections: config.databaseMaxConnections, waitsForEvents: true }) + QUEUE_CONNECTIONS
  await logConnections(ctx, most)
  const stopWritingEvents = startWritingEvents(ctx.securityEvents)
  const stopWatchingKeys = startWatchingKeys(ctx)
  const stopping = new AbortController()
  const stop = (signal: string): void => {
    ctx.log.info({ signal }, 'stopping')
    setTimeout(() => process.exit(1), DRAIN_MS)
    stopping.abort()
  }
  // A queue that ends without a database releases its jobs in a promise that no code awaits (graphile-worker 0.18.0,
  // LocalQueue.setModeReleased). The next queue unlocks these jobs as those of a dead worker.
  process.on('unhandledRejection', (err) => ctx.log.error({ err }, 'unhandled rejection'))
  process.once('SIGTERM', () => stop('SIGTERM'))
  process.once('SIGINT', () => stop('SIGINT'))

  const metrics = listenForScrapes(ctx, { at: config.workerMetricsListener, read: ctx.metrics.text })
  const queue = await beginQueue(ctx).catch((error: unknown) => {
    // createWorkerCtx could use the database a moment ago, so it will work again; its disk may be full.
    if (databaseTrouble(error) !== null) return null
    throw error
  })
  ctx.log.info({ networks: ctx.chains.all.map((chain) => chain.network) }, 'working')
  await keepWorking(ctx, { queue, stopping: stopping.signal })
  await metrics?.stop(true)
  await Promise.all([stopWritingEvents(), stopWatchingKeys()])
  await Promise.all([ctx.tracer.close(), ctx.close({ timeoutSeconds: 2 })])
  process.exit(0)
}

main().catch((error: unknown) => {
  process.stderr.write(`The worker cannot start: ${explainFailure(error)}\n`)
  process.exit(1)
})
