import { sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { workers } from '../schema.ts'

/** A pool writes its row just after it was made: a lock younger than this without a row may be of one that has not yet. */
const ENROLMENT_GRACE_SECONDS = 3

/** Registers a job pool, so that others do not unlock its jobs. */
export const enrolWorker = async (
  db: Queryable,
  input: { readonly id: string; readonly applicationName: string },
): Promise<void> => {
  await db.insert(workers).values(input).onConflictDoNothing()
}

type HeldJob = { readonly id: string; readonly pool: string; readonly isReplaced: boolean }

/** Locked by pools without a connection; those that were replaced meanwhile will not be run by anybody. */
const jobsOfDeadWorkers = async (db: Queryable): Promise<readonly HeldJob[]> => {
  const { rows } = await db.execute<HeldJob>(sql`
    select job.id, job.locked_by as pool, job.key is null and job.attempts >= job.max_attempts as "isReplaced"
    from graphile_worker._private_jobs job
    where job.locked_by is not null
      and (
        job.locked_at < now() - make_interval(secs => ${ENROLMENT_GRACE_SECONDS})
        or exists (select from public.workers worker where worker.id = job.locked_by)
      )
      and not exists (
        select from public.workers worker
        join pg_stat_activity session on session.application_name = worker.application_name
        where worker.id = job.locked_by
      )`)
  return rows
}

const idsOf = (jobs: readonly HeldJob[]) => sql`${sql.param(jobs.map(({ id }) => id))}::bigint[]`

/**
 * Unlocks the jobs of pools without a connection: a killed process would otherwise hold them for the queue's four hours. Their
 * attempts are reset, as the death of a process is no failure of the job. Jobs that a newer one has replaced are deleted.
 * Idempotent. A pool that lost its connections only for a moment enrols again; every task may run twice.
 * @returns how many dead pools with jobs were found.
 */
export const unlockJobsOfDeadWorkers = async (db: Queryable): Promise<number> => {
  const dead = await db.transaction(async (tx) => {
    const jobs = await jobsOfDeadWorkers(tx)
    const pools = [...new Set(jobs.map(({ pool }) => pool))]
    if (pools.length === 0) return 0
    await tx.execute(sql`select graphile_worker.force_unlock_workers(${sql.param(pools)}::text[])`)
    await tx.execute(sql`select graphile_worker.complete_jobs(${idsOf(jobs.filter((job) => job.isReplaced))})`)
    await tx.execute(
      sql`select graphile_worker.reschedule_jobs(${idsOf(jobs.filter((job) => !job.isReplaced))}, attempts := 0)`,
    )
    return pools.length
  })
  // Not in the transaction, where the list of sessions does not change: it would lack a worker that has come since.
  await db.execute(sql`
    delete from public.workers worker
    where not exists (select from pg_stat_activity session where session.application_name = worker.application_name)
      and not exists (select from graphile_worker._private_jobs job where job.locked_by = worker.id)`)
  return dead
}
