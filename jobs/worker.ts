// The worker process: config → context (without a vault) → graphile-worker → drain on SIGTERM.

import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { Logger, parseCrontab, type Runner, run, type WorkerEvents } from 'graphile-worker'
import pg from 'pg'
import { enrolWorker, unlockJobsOfDeadWorkers } from '../db/queries/workers.ts'
import { readConfig } from '../src/config.ts'
import { createWorkerCtx, type WorkerCtx } from '../src/context.ts'
import type { Log } from '../src/log.ts'
import { CRONTAB } from './crontab.ts'
import { startFollowers } from './tasks/follow-blocks.ts'
import { createTasks } from './tasks/index.ts'

/** Once told to stop: running jobs are asked to end after the first time, and the process goes after the second. */
const ABORT_AFTER_MS = 50
const DRAIN_MS = 10_000
const POLL_INTERVAL_MS = 1_000
/** Beyond one a running job: for listening, and for taking jobs. */
const SPARE_CONNECTIONS = 2

const loggerOf = (log: Log): Logger =>
  new Logger(() => (level, message) => {
    if (level === 'error') log.error({ from: 'graphile-worker' }, message)
    else if (level === 'warning') log.warn({ from: 'graphile-worker' }, message)
    else log.debug({ from: 'graphile-worker' }, message)
  })

const startRunner = async (ctx: WorkerCtx): Promise<Runner> => {
  const applicationName = `strongroom-jobs-${randomUUID()}`
  const pgPool = new pg.Pool({
    connectionString: ctx.config.databaseUrl.reveal(),
    max: ctx.config.workerConcurrency + SPARE_CONNECTIONS,
    application_name: applicationName,
  })
  const lost = (err: Error) => ctx.log.warn({ err }, 'a connection of the job queue was lost')
  pgPool.on('error', lost)
  pgPool.on('connect', (client) => client.on('error', lost))
  const events: WorkerEvents = new EventEmitter()
  const enrolled = new Promise<void>((resolve, reject) => {
    events.on('pool:create', ({ workerPool }) => {
      enrolWorker(ctx.db, { id: workerPool.id, applicationName }).then(resolve, reject)
    })
  })
  const runner = await run({
    pgPool,
    events,
    noHandleSignals: true,
    taskList: createTasks(ctx),
    parsedCronItems: parseCrontab(CRONTAB),
    logger: loggerOf(ctx.log),
    preset: {
      worker: {
        concurrentJobs: ctx.config.workerConcurrency,
        maxPoolSize: ctx.config.workerConcurrency + SPARE_CONNECTIONS,
        pollInterval: POLL_INTERVAL_MS,
        localQueue: { size: ctx.config.workerConcurrency * 2 },
        completeJobBatchDelay: 0,
        gracefulShutdownAbortTimeout: ABORT_AFTER_MS,
      },
    },
  })
  await enrolled
  return runner
}

const main = async (): Promise<void> => {
  const config = readConfig()
  const ctx = await createWorkerCtx({ config, process: 'worker' })
  await unlockJobsOfDeadWorkers(ctx.db)
  await startFollowers(ctx)
  const runner = await startRunner(ctx)
  ctx.log.info({ networks: ctx.chains.all.map((chain) => chain.network) }, 'working')

  const stop = async (signal: string): Promise<void> => {
    ctx.log.info({ signal }, 'stopping')
    const givenUp = setTimeout(() => process.exit(1), DRAIN_MS)
    await runner.stop().catch((err: unknown) => ctx.log.error({ err }, 'the job queue did not stop cleanly'))
    await ctx.db.close({ timeoutSeconds: 2 })
    clearTimeout(givenUp)
    process.exit(0)
  }
  process.once('SIGTERM', () => void stop('SIGTERM'))
  process.once('SIGINT', () => void stop('SIGINT'))
}

main().catch((error: unknown) => {
  process.stderr.write(`The worker cannot start: ${error instanceof Error ? error.message : 'unknown failure'}\n`)
  process.exit(1)
})
