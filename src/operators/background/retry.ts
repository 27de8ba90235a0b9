import type { HasDb, Tx } from '../../../db/client.ts'
import { findJob, type JobFilter, type JobOverview, listJobs, retryJobs } from '../../../db/queries/overview.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import { AppError } from '../../platform/errors.ts'

const BATCH = 1_000

const RUNS = 'A worker is running this job. If that worker died, another one takes the job back within a minute.'

/** @returns the jobs that will run again. It skips a job that a worker has taken in the meantime. */
const retry = async (
  ctx: HasAudit,
  tx: Tx,
  { jobs, actor }: { readonly jobs: readonly JobOverview[]; readonly actor: string },
): Promise<readonly JobOverview[]> => {
  const ids = await retryJobs(
    tx,
    jobs.map((job) => job.id),
  )
  const retried = jobs.filter((job) => ids.has(job.id))
  for (const { id, projectId, task, key } of retried) {
    const details = { task, ...(key === null ? {} : { key }) }
    await ctx.audit.record(tx, { projectId, actor, action: 'job_retried', subject: String(id), details })
  }
  return retried
}

/** Makes a job run now, as if it had never failed. @throws not_found, busy if a worker is running it. */
export const retryJob = (
  ctx: HasDb & HasAudit,
  { id, actor }: { readonly id: bigint; readonly actor: string },
): Promise<JobOverview> =>
  ctx.db.transaction(async (tx) => {
    const job = await findJob(tx, id)
    if (job === null) throw new AppError('not_found', 'There is no job with this id; jobs that succeeded are deleted.')
    const [retried] = await retry(ctx, tx, { jobs: [job], actor })
    if (retried === undefined) throw new AppError('busy', RUNS)
    return retried
  })

/** Makes failed jobs run now, at most 1,000. */
export const retryFailedJobs = (
  ctx: HasDb & HasAudit,
  { actor, ...filter }: Pick<JobFilter, 'task'> & { readonly actor: string },
): Promise<readonly JobOverview[]> =>
  ctx.db.transaction(async (tx) =>
    retry(ctx, tx, { jobs: await listJobs(tx, { ...filter, failed: true, limit: BATCH }), actor }),
  )
