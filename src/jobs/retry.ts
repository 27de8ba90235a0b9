import type { Tx } from '../../db/client.ts'
import { findJob, type JobFilter, type JobOverview, listJobs, retryJobs } from '../../db/queries/overview.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'

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
export const retryJob = (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: Input & { readonly id: bigint },
): Promise<JobOverview> =>
  ctx.db.transaction(async (tx) => {
    const job = await findJob(tx, input.id)
    if (job === null) throw new AppError('not_found', 'There is no job with this id: one that succeeded is gone.')
    const [retried] = await retry(ctx, tx, { ...input, jobs: [job] })
    if (retried === undefined) throw new AppError('busy', RUNS)
    return retried
  })

/** The same for those that failed, at most 1,000 at once. */
export const retryFailedJobs = (
  ctx: Pick<WorkerCtx, 'db' | 'audit'>,
  input: Input & Pick<JobFilter, 'task'>,
): Promise<readonly JobOverview[]> =>
  ctx.db.transaction(async (tx) => {
    const { task } = input
    const jobs = await listJobs(tx, { ...(task === undefined ? {} : { task }), failed: true, limit: BATCH })
    return retry(ctx, tx, { ...input, jobs })
  })
