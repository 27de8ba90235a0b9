import { sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'

/**
 * A pool that was not seen for this time is dead for the others, although it may have a connection: its process hangs, or its
 * host is lost. Also in db/views.sql.
 */
const DEAD_AFTER_SECONDS = 10

/** A pool writes its row just after it was made: a lock younger than this without a row may be of one that has not yet. */
const ENROLMENT_GRACE_SECONDS = 3

/**
 * Says that a job pool works, so that others do not unlock its jobs. By the clock of the database: those of hosts differ and
 * jump. On the connections for prepared statements, so that it does not wait for jobs that hold all others.
 * @returns whether it had no row: at its start, or when others took it for dead.
 */
export const seeWorker = async (
  db: Pick<Db, 'prepared'>,
  { id, applicationName }: { readonly id: string; readonly applicationName: string },
): Promise<{ readonly isNew: boolean }> => {
  const [row] = await db.prepared<{ isNew: boolean }>`
    insert into public.workers (id, application_name) values (${id}, ${applicationName})
    on conflict (id) do update set seen_at = now()
    returning (xmax = 0) as "isNew"`
  return { isNew: row?.isNew ?? true }
}

/** The condition that a row `worker` of `workers` is of a living pool. */
const lives = sql`worker.seen_at > now() - make_interval(secs => ${DEAD_AFTER_SECONDS})
  and exists (select from pg_stat_activity session where session.application_name = worker.application_name)`

type HeldJob = { readonly id: string; readonly pool: string; readonly isReplaced: boolean }

/** Locked by dead pools; those that were replaced meanwhile will not be run by anybody. */
const jobsOfDeadWorkers = async (db: Queryable): Promise<readonly HeldJob[]> => {
  const { rows } = await db.execute<HeldJob>(sql`
    select job.id, job.locked_by as pool, job.key is null and job.attempts >= job.max_attempts as "isReplaced"
    from graphile_worker._private_jobs job
    where job.locked_by is not null
      and (
        job.locked_at < now() - make_interval(secs => ${ENROLMENT_GRACE_SECONDS})
        or exists (select from public.workers worker where worker.id = job.locked_by)
      )
      and not exists (select from public.workers worker where worker.id = job.locked_by and ${lives})`)
  return rows
}

const idsOf = (jobs: readonly HeldJob[]) => sql`${sql.param(jobs.map(({ id }) => id))}::bigint[]`

/** Whether a dead pool may still hold jobs. Cheap enough to ask every other second. */
export const hasDeadWorkers = async (db: Queryable): Promise<boolean> => {
  const { rows } = await db.execute(sql`select from public.workers worker where not (${lives}) limit 1`)
  return rows.length > 0
}

/**
 * Unlocks the jobs of dead pools: they would otherwise hold them for the queue's four hours. Their attempts are reset, as the
 * death of a process is no failure of the job. Jobs that a newer one has replaced are deleted. Idempotent. A pool that was only
 * late goes on with what it has begun, beside the new owner: so every task may run twice at once, and compares before it writes
 * (`moveCursor`).
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
    where not (${lives})
      and not exists (select from graphile_worker._private_jobs job where job.locked_by = worker.id)`)
  return dead
}
