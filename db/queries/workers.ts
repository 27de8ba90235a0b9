import { sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { workers } from '../schema.ts'

/** A pool writes its row just after it was made: a lock younger than this without a row may be of one that has not yet. */
const ENROLMENT_GRACE_SECONDS = 3

/** Makes a job pool known, so that its locks are taken for a living one's. */
export const enrolWorker = async (
  db: Queryable,
  input: { readonly id: string; readonly applicationName: string },
): Promise<void> => {
  await db.insert(workers).values(input).onConflictDoNothing()
}

/**
 * Gives back the jobs that were locked by pools without a connection: a killed process would otherwise hold them for
 * the queue's four hours. Idempotent; every task may run twice, and a pool that only lost its connections for a moment
 * enrols again with the next one. @returns how many pools were found dead with jobs.
 */
export const unlockJobsOfDeadWorkers = async (db: Queryable): Promise<number> => {
  const rows = await db.execute<{ id: string }>(sql`
    select distinct job.locked_by as id
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
  const dead = rows.map((row) => row.id)
  if (dead.length > 0) {
    await db.execute(sql`select graphile_worker.force_unlock_workers(${sql.param(dead)}::text[])`)
  }
  await db.execute(sql`
    delete from public.workers worker
    where not exists (select from pg_stat_activity session where session.application_name = worker.application_name)`)
  return dead.length
}
