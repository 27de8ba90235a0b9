import { Command, InvalidArgumentError } from 'commander'
import type { Tx } from '../../db/client.ts'
import { JOB_PAYLOADS, type JobName } from '../../db/jobs.ts'
import { findJob, type JobFilter, type JobOverview, listJobs, retryJobs } from '../../db/queries/overview.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'
import { oneOf, wholeNumber } from './arguments.ts'
import { OPERATOR, print, printJson, shownRow, table, usageError, withServiceCtx } from './operator.ts'

/** More than this at once is asked for again. */
const BATCH = 1_000

const RUNS = 'A worker is running this job; what a dead one held is given back within a minute, where another one runs.'

type Input = { readonly actor: string }

/** @returns those that run again: one that a worker has taken meanwhile does not. */
const retry = async (
  ctx: Pick<WorkerCtx, 'audit'>,
  tx: Tx,
  input: Input & { readonly jobs: readonly JobOverview[] },
): Promise<readonly JobOverview[]> => {
  const ids = await retryJobs(
    tx,
    input.jobs.map((job) => job.id),
  )
  const retried = input.jobs.filter((job) => ids.has(job.id))
  for (const { id, projectId, task, key } of retried) {
    await ctx.audit.record(tx, {
      projectId,
      actor: input.actor,
      action: 'job_retried',
      subject: String(id),
      details: { task, ...(key === null ? {} : { key }) },
    })
  }
  return retried
}

/** Runs a job again now, as if it had never failed. @throws not_found, busy where a worker is at it. */
const retryJob = (ctx: Pick<WorkerCtx, 'db' | 'audit'>, input: Input & { readonly id: bigint }): Promise<JobOverview> =>
  ctx.db.transaction(async (tx) => {
    const job = await findJob(tx, input.id)
    if (job === null) throw new AppError('not_found', 'There is no job with this id: one that succeeded is gone.')
    const [retried] = await retry(ctx, tx, { ...input, jobs: [job] })
    if (retried === undefined) throw new AppError('busy', RUNS)
    return retried
  })

/** The same for those that failed, at most 1,000 at once. */
const retryFailedJobs = (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: Input & Pick<JobFilter, 'task'>,
): Promise<readonly JobOverview[]> =>
  ctx.db.transaction(async (tx) => {
    const { task } = input
    const jobs = await listJobs(tx, { ...(task === undefined ? {} : { task }), failed: true, limit: BATCH })
    return retry(ctx, tx, { ...input, jobs })
  })

const TASKS = Object.keys(JOB_PAYLOADS) as JobName[]

const jobId = (text: string): bigint => {
  if (!/^[1-9][0-9]{0,17}$/.test(text)) throw new InvalidArgumentError('It must be the number of a job.')
  return BigInt(text)
}

type ListOptions = { task?: JobName; failed?: boolean; limit: number; json?: boolean }

const list = ({ task, failed, limit, json }: ListOptions) =>
  withServiceCtx(async (ctx) => {
    const rows = await listJobs(ctx.db, {
      limit,
      ...(task === undefined ? {} : { task }),
      ...(failed === undefined ? {} : { failed }),
    })
    if (json) return printJson(rows.map(shownRow))
    if (rows.length === 0) return print('No such job.')
    const lines = rows.map((row) => [
      String(row.id),
      row.task,
      row.state,
      row.runAt.toISOString(),
      `${row.attempts} of ${row.maxAttempts}`,
      row.transactionId ?? row.network ?? '-',
      row.lastError ?? '',
    ])
    print(table([['ID', 'TASK', 'STATE', 'DUE', 'ATTEMPTS', 'ABOUT', 'ERROR'], ...lines]))
  })

type RetryOptions = { failed?: boolean; task?: JobName }

const runAgain = (id: bigint | undefined, { failed, task }: RetryOptions, command: Command) => {
  if ((id === undefined) === (failed === undefined)) usageError(command, 'name either a job or --failed.')
  if (task !== undefined && failed === undefined) usageError(command, '--task goes with --failed.')
  return withServiceCtx(async (ctx) => {
    if (id !== undefined) {
      const job = await retryJob(ctx, { id, actor: OPERATOR })
      return print(`Job ${job.id} (${job.task}) runs again now, where a worker runs.`)
    }
    const jobs = await retryFailedJobs(ctx, { actor: OPERATOR, ...(task === undefined ? {} : { task }) })
    for (const job of jobs) print(`Job ${job.id} (${job.task}) runs again now, where a worker runs.`)
    if (jobs.length === 0) print('No job has failed.')
  })
}

export const jobCommands = (): Command => {
  const command = new Command('jobs').description(
    "The workers' job queue. A job that succeeded is gone; one that failed is tried again by itself, later each time.",
  )
  command
    .command('list')
    .description('List the jobs, in the order in which they are to run.')
    .option('--task <task>', TASKS.join(', '), oneOf(TASKS))
    .option('--failed', 'only those that failed when they last ran')
    .option('--limit <rows>', 'at most so many', wholeNumber({ from: 1, to: 100_000 }), 100)
    .option('--json', 'print a JSON array, with all columns of the view strongroom_views.jobs')
    .action(list)
  command
    .command('retry')
    .description('Run a job again now, or all that failed (1,000 at once), as if they had never failed.')
    .argument('[job-id]', 'the job', jobId)
    .option('--failed', 'all that failed when they last ran')
    .option('--task <task>', 'with --failed, only those of a task', oneOf(TASKS))
    .action(runAgain)
  return command
}
