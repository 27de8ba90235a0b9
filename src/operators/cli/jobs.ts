import { Command, InvalidArgumentError } from 'commander'
import { JOB_PAYLOADS, type JobName } from '../../../db/jobs.ts'
import { listJobs } from '../../../db/queries/overview.ts'
import { retryFailedJobs, retryJob } from '../background/retry.ts'
import { OPERATOR, oneOf, rowAsJson, table, usageError, wholeNumber } from './arguments.ts'
import type { Shell } from './shell.ts'

const TASKS = Object.keys(JOB_PAYLOADS) as JobName[]

const jobId = (text: string): bigint => {
  if (!/^[1-9][0-9]{0,17}$/.test(text)) throw new InvalidArgumentError('It must be the number of a job.')
  return BigInt(text)
}

type ListOptions = { task?: JobName; failed?: boolean; limit: number; json?: boolean }

const list = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('list')
    .description('List the jobs, in the order in which they will run.')
    .option('--task <task>', TASKS.join(', '), oneOf(TASKS))
    .option('--failed', 'only those whose last run failed')
    .option('--limit <rows>', 'at most this many', wholeNumber({ from: 1, to: 100_000 }), 100)
    .option('--json', 'print a JSON array with all columns of the view strongroom_views.jobs')
    .action(({ task, failed, limit, json }: ListOptions) =>
      withReadingCtx(async (ctx) => {
        const rows = await listJobs(ctx.db, {
          limit,
          ...(task === undefined ? {} : { task }),
          ...(failed === undefined ? {} : { failed }),
        })
        if (json) return printJson(rows.map(rowAsJson))
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
      }),
    )

type RetryOptions = { failed?: boolean; task?: JobName }

const runAgain = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('retry')
    .description('Run a job again now, or all failed jobs (1,000 at a time), as if they had never failed.')
    .argument('[job-id]', 'the job', jobId)
    .option('--failed', 'all jobs whose last run failed')
    .option('--task <task>', 'with --failed, only jobs of this task', oneOf(TASKS))
    .action((id: bigint | undefined, { failed, task }: RetryOptions, command: Command) => {
      if ((id === undefined) === (failed === undefined)) usageError(command, 'name either a job or --failed.')
      if (task !== undefined && failed === undefined) usageError(command, '--task needs --failed.')
      return withIdentityCtx(async (ctx) => {
        const jobs =
          id === undefined
            ? await retryFailedJobs(ctx, { actor: OPERATOR, ...(task === undefined ? {} : { task }) })
            : [await retryJob(ctx, { id, actor: OPERATOR })]
        for (const job of jobs) print(`Job ${job.id} (${job.task}) runs again now, if a worker runs.`)
        if (jobs.length === 0) print('No job has failed.')
      })
    })

export const jobCommands = (shell: Shell): Command =>
  new Command('jobs')
    .description(
      "The workers' job queue. Jobs that succeed are deleted. Jobs that fail are retried by themselves, with growing delays.",
    )
    .addCommand(list(shell))
    .addCommand(runAgain(shell))
