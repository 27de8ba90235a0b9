import { Command, InvalidArgumentError } from 'commander'
import { JOB_PAYLOADS, type JobName } from '../../db/jobs.ts'
import { listJobs } from '../../db/queries/overview.ts'
import { retryFailedJobs, retryJob } from '../jobs/retry.ts'
import { oneOf, wholeNumber } from './arguments.ts'
import { OPERATOR, print, printJson, usageError, withServiceCtx } from './operator.ts'
import { shownRow, table } from './shown.ts'

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
      ...[String(row.id), row.task, row.state, row.runAt.toISOString(), `${row.attempts} of ${row.maxAttempts}`],
      ...[row.transactionId ?? row.network ?? '-', row.lastError ?? ''],
    ])
    print(table([['ID', 'TASK', 'STATE', 'DUE', 'ATTEMPTS', 'ABOUT', 'ERROR'], ...lines]))
  })

type RetryOptions = { failed?: boolean; task?: JobName }

const retry = (id: bigint | undefined, { failed, task }: RetryOptions, command: Command) => {
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
    .action(retry)
  return command
}
