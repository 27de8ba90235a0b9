// The job queue of one worker process: graphile-worker on a pool of its own.

import { randomUUID } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { Logger, parseCrontab, type Runner, run, type WorkerEvents } from 'graphile-worker'
import pg from 'pg'
import { EndingClient, poolConfig } from '../db/client.ts'
import { addJob } from '../db/jobs.ts'
import { closeLost } from '../db/pool.ts'
import { hasDeadWorkers, recordWorker, unlockJobsOfDeadWorkers } from '../db/queries/processes.ts'
import { createDeliverers, type Deliverers } from '../src/events/webhooks/deliverers.ts'
import type { Metrics } from '../src/platform/metrics/metrics.ts'
import type { Log } from '../src/platform/process/log.ts'
import type { JobsCtx } from './ctx.ts'
import { createTasks, startFollowers } from './tasks/index.ts'

/** Measures how long jobs waited and ran. The wait compares the database's clock with this machine's. */
const countJobs = (events: WorkerEvents, { jobs }: Metrics): void => {
  const begunAtMs = new Map<string, number>()
  events.on('job:start', ({ job }) => {
    begunAtMs.set(job.id, performance.now())
    const waitedMs = Math.max(0, Date.now() - job.run_at.getTime())
    jobs.wait.observe({ task: job.task_identifier }, waitedMs / 1000)
  })
  events.on('job:error', ({ job }) => jobs.errors.inc({ task: job.task_identifier }))
  events.on('job:complete', ({ job }) => {
    const begun = begunAtMs.get(job.id)
    begunAtMs.delete(job.id)
    if (begun === undefined) return
    jobs.duration.observe({ task: job.task_identifier }, (performance.now() - begun) / 1000)
  })
}

export const CRONTAB = [
  // Every 30 s: a crontab's smallest unit is a minute, so the task adds the second run itself.
  '* * * * * reconcile ?max=5&jobKey=reconcile {"again":true}',
  '17 * * * * drop_idempotency_keys',
  '41 * * * * clean_logins',
  '53 * * * * drop_events',
  '* * * * * expire_approvals ?max=5&jobKey=expire_approvals',
  '* * * * * note_heads ?max=1&jobKey=note_heads',
].join('\n')

/** Running jobs get the abort signal this long after the queue begins to stop. */
const ABORT_AFTER_MS = 50
const POLL_INTERVAL_MS = 1_000
/** For listening, and for taking and completing jobs in batches: a job itself uses the pool of its process. */
export const QUEUE_CONNECTIONS = 7

/** A queue that ends by itself may wait for ever for its lost connections. */
const ABANDON_AFTER_MS = 2_000
/** A worker that was just killed has the same lock as one that just starts, so its jobs are unlocked later. */
const FIRST_RECONCILE_SECONDS = 4

type Queue = {
  /** Resolves when the queue has ended, for any reason. Never rejects. */
  readonly ended: Promise<void>
  /** Lets running jobs end. May be called again. */
  readonly stop: () => Promise<void>
}

const loggerOf = (log: Log, onError: (error: unknown) => void): Logger =>
  new Logger(() => (level, message, meta) => {
    const from = 'graphile-worker'
    // Do not log the message of a failed job: it repeats the error's, with the values of a failed statement.
    if (meta?.error !== undefined) {
      log.error({ from, err: meta.error }, 'a job or the queue failed')
      onError(meta.error)
    } else if (level === 'error') log.error({ from }, message)
    else if (level === 'warning') log.warn({ from }, message)
    else log.debug({ from }, message)
  })

type Started = {
  readonly runner: Runner
  /** Resolves when a statement got no answer. */
  readonly unanswered: Promise<void>
  /** Resolves when the runner begins to end, for any reason. */
  readonly ending: Promise<void>
  readonly disconnect: () => void
}

/** A pool that is silent for ten seconds counts as dead; five of its messages may be late. */
const SEEN_EVERY_MS = 2_000

/** Records every two seconds that this pool works, and gives the jobs of dead pools to the living, until `stop`. */
const keepSeen = async (
  ctx: JobsCtx,
  row: { readonly id: string; readonly applicationName: string },
): Promise<{ readonly stop: () => void }> => {
  await recordWorker(ctx.db, row)
  let isBusy = false
  const beat = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      const { isNew } = await recordWorker(ctx.db, row)
      if (isNew)
        ctx.log.warn('others took this worker for dead: it hung, or did not reach the database, and goes on now')
      if (await hasDeadWorkers(ctx.db)) await unlockJobsOfDeadWorkers(ctx.db)
    } catch (err) {
      ctx.log.warn({ err }, 'could not tell the other workers that this one works')
    } finally {
      isBusy = false
    }
  }
  const timer = setInterval(() => void beat(), SEEN_EVERY_MS)
  return { stop: () => clearInterval(timer) }
}

const idOfPool = (events: WorkerEvents): Promise<string> =>
  new Promise((resolve) => events.once('pool:create', ({ workerPool }) => resolve(workerPool.id)))

/** @returns `disconnect` closes every connection, also those in use: other pools then unlock its jobs. */
const keepConnections = (ctx: JobsCtx, pgPool: pg.Pool): Pick<Started, 'unanswered' | 'disconnect'> => {
  const clients = new Set<pg.PoolClient>()
  const unanswered = Promise.withResolvers<void>()
  const lost = (err: Error) => ctx.log.warn({ err }, 'a connection of the job queue was lost')
  pgPool.on('error', lost)
  pgPool.on('connect', (client) => {
    clients.add(client)
    client.on('error', lost)
    const emitter: EventEmitter = client
    emitter.on('unanswered', unanswered.resolve)
  })
  pgPool.on('remove', (client) => clients.delete(client))
  return {
    unanswered: unanswered.promise,
    disconnect: () => {
      pgPool.end().catch(lost)
      // The pool waits for clients in use, so close these too; the pool's type hides their end().
      for (const client of clients) (client as pg.ClientBase as pg.Client).end().catch(lost)
    },
  }
}

const startRunner = async (ctx: JobsCtx, deliverers: Deliverers): Promise<Started> => {
  const applicationName = `strongroom-jobs-${randomUUID()}`
  const url = ctx.config.databaseUrl.reveal()
  const pgPool = new pg.Pool({
    ...poolConfig({ url, maxConnections: QUEUE_CONNECTIONS, applicationName }),
    Client: EndingClient,
  })
  closeLost(pgPool)
  const { unanswered, disconnect } = keepConnections(ctx, pgPool)
  const events: WorkerEvents = new EventEmitter()
  countJobs(events, ctx.metrics)
  const poolId = idOfPool(events)
  // Listen from the first moment on: a runner can begin to end before it is returned.
  const ending = new Promise<void>((resolve) => events.once('pool:gracefulShutdown', () => resolve()))
  const firstLook = Promise.withResolvers<void>()
  firstLook.promise.catch(() => {})
  events.once('localQueue:getJobs:complete', () => firstLook.resolve())
  const runner = await run({
    pgPool,
    events,
    noHandleSignals: true,
    taskList: createTasks(ctx, deliverers),
    parsedCronItems: parseCrontab(CRONTAB),
    logger: loggerOf(ctx.log, firstLook.reject),
    preset: {
      worker: {
        concurrentJobs: ctx.config.workerConcurrency,
        maxPoolSize: QUEUE_CONNECTIONS,
        pollInterval: POLL_INTERVAL_MS,
        localQueue: { size: ctx.config.workerConcurrency * 2 },
        completeJobBatchDelay: 0,
        // Without this, a job whose failure cannot be stored ends the process.
        failJobBatchDelay: 0,
        gracefulShutdownAbortTimeout: ABORT_AFTER_MS,
      },
    },
  }).catch((error: unknown) => {
    disconnect()
    throw error
  })
  try {
    // A queue whose first look for jobs failed never finds one: graphile-worker 0.18.0 keeps that failure
    // (getTaskDetails).
    await Promise.race([firstLook.promise, ending, runner.promise])
    const process = await keepSeen(ctx, { id: await poolId, applicationName })
    return {
      runner,
      unanswered,
      ending,
      disconnect: () => {
        process.stop()
        disconnect()
      },
    }
  } catch (error) {
    runner.stop().catch(() => {})
    disconnect()
    throw error
  }
}

/** Unlocks the jobs of dead workers, starts the followers, and begins to take jobs. */
export const beginQueue = async (ctx: JobsCtx): Promise<Queue> => {
  await unlockJobsOfDeadWorkers(ctx.db)
  await startFollowers(ctx)
  await addJob(ctx.db, 'reconcile', { again: false }, { key: 'reconcile:start', delaySeconds: FIRST_RECONCILE_SECONDS })
  const deliverers = createDeliverers(ctx)
  const { runner, unanswered, ending, disconnect } = await startRunner(ctx, deliverers)
  const stopListening = ctx.db.eventNotices.subscribe(() =>
    deliverers
      .wakeForNews()
      .catch((err: unknown) => ctx.log.warn({ err }, 'could not look for webhooks with new events')),
  )
  let isStopping = false
  const abandoned = new Promise<void>((resolve) => {
    void ending.then(() => {
      if (!isStopping) setTimeout(resolve, ABANDON_AFTER_MS)
    })
  })
  const stopRunner = () =>
    runner.stop().catch((err: unknown) => ctx.log.debug({ err }, 'the job queue was ending already'))
  const over = runner.promise.catch((err: unknown) => ctx.log.error({ err }, 'the job queue failed'))
  const ended = Promise.race([over, abandoned]).then(() => {
    isStopping = true
    // Its crontab would go on.
    void stopRunner()
    disconnect()
    stopListening()
  })
  // The statement may have taken jobs, of which graphile-worker does not know: no worker would run them for four hours.
  // The next queue unlocks them as those of a dead worker.
  void unanswered.then(() => {
    if (isStopping) return
    ctx.log.warn('the database did not answer the job queue, which begins again')
    void stopRunner()
  })
  return {
    ended,
    stop: async () => {
      if (!isStopping) void stopRunner()
      isStopping = true
      await Promise.all([ended, deliverers.stop()])
    },
  }
}

const FIRST_PAUSE_MS = 200
const MAX_PAUSE_MS = 10_000

/** Runs one queue after the other: a queue ends by itself when it loses the database, or could not begin (null). */
export const keepWorking = async (
  ctx: JobsCtx,
  input: { readonly queue: Queue | null; readonly stopping: AbortSignal },
): Promise<void> => {
  const { stopping } = input
  let { queue } = input
  stopping.addEventListener('abort', () => void queue?.stop())
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    // If the signal came while the queue started, no code has stopped it yet.
    if (stopping.aborted) await queue?.stop()
    await queue?.ended
    // Its jobs have ended; the outcomes of its webhooks' requests are still to be recorded.
    if (stopping.aborted) return queue?.stop()
    if (queue !== null) {
      ctx.log.error('the job queue ended by itself')
      pauseMs = FIRST_PAUSE_MS
    }
    queue = await beginQueue(ctx).catch((err: unknown) => {
      ctx.log.error({ err }, 'the job queue cannot start')
      return null
    })
    if (queue === null) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
