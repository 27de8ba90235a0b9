// The job pools and the vault processes that run.

import { sql } from 'drizzle-orm'
import type { Db, Queryable } from '../client.ts'
import { readRows } from '../rows.ts'
import { vaultProcesses } from '../schema.ts'

/** Others take a pool for dead after this time: its process hangs, or its host is lost. Also in db/views.sql. */
const DEAD_AFTER_SECONDS = 10

/** A new pool may lock a job before it writes its row: younger locks without a row are left alone. */
const ENROLMENT_GRACE_SECONDS = 3

/**
 * Says that a job pool works, so that no other pool unlocks its jobs. By the clock of the database: those of hosts
 * differ and jump. On the connections for prepared statements, so that it does not wait for jobs that hold all others.
 * @returns whether it had no row: at its start, or when other workers took it for dead.
 */
export const recordWorker = async (
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

/** Locked by dead pools; no worker will run those that were replaced meanwhile. */
const jobsOfDeadWorkers = (db: Queryable): Promise<readonly HeldJob[]> =>
  readRows<HeldJob>(db)`
    select job.id, job.locked_by as pool, job.key is null and job.attempts >= job.max_attempts as "isReplaced"
    from graphile_worker._private_jobs job
    where job.locked_by is not null
      and (
        job.locked_at < now() - make_interval(secs => ${ENROLMENT_GRACE_SECONDS})
        or exists (select from public.workers worker where worker.id = job.locked_by)
      )
      and not exists (select from public.workers worker where worker.id = job.locked_by and ${lives})`

const idsOf = (jobs: readonly HeldJob[]) => sql`${sql.param(jobs.map(({ id }) => id))}::bigint[]`

/** Whether a dead pool may still hold jobs. Cheap enough to ask every other second. */
export const hasDeadWorkers = async (db: Queryable) => {
  const { rows } = await db.execute(sql`select from public.workers worker where not (${lives}) limit 1`)
  return rows.length > 0
}

/**
 * Unlocks the jobs of dead pools: they would otherwise hold them for the queue's four hours. Their attempts are reset,
 * as the death of a process does not count as a failure of the job. Jobs that a newer one has replaced are deleted.
 * Idempotent. A pool that was only late goes on with what it has begun, beside the new owner: so every task may run
 * twice at once, and compares before it writes (`moveCursor`).
 * @returns how many dead pools with jobs were found.
 */
export const unlockJobsOfDeadWorkers = async (db: Db) => {
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

/** A process that was not seen for this time has ended, or cannot reach the database. */
const GONE_AFTER_SECONDS = 20

type VaultProcess = Pick<typeof vaultProcesses.$inferSelect, 'name' | 'rootKeyIds' | 'startedAt'>

/** Says that a vault process runs. By the clock of the database. */
export const recordVaultProcess = async (
  db: Pick<Db, 'prepared'>,
  { id, name, rootKeyIds }: { readonly id: string; readonly name: string; readonly rootKeyIds: readonly string[] },
) => {
  await db.prepared`
    insert into public.vault_processes (id, name, root_key_ids) values (${id}, ${name}, ${rootKeyIds})
    on conflict (id) do update set seen_at = now()`
}

/** Forgets a process that ends, and those that ended without a word. */
export const forgetVaultProcess = async (db: Queryable, id: string) => {
  await db
    .delete(vaultProcesses)
    .where(sql`id = ${id} or seen_at < now() - make_interval(secs => ${GONE_AFTER_SECONDS})`)
}

export const listVaultProcesses = (db: Queryable): Promise<readonly VaultProcess[]> =>
  db
    .select({ name: vaultProcesses.name, rootKeyIds: vaultProcesses.rootKeyIds, startedAt: vaultProcesses.startedAt })
    .from(vaultProcesses)
    .where(sql`seen_at >= now() - make_interval(secs => ${GONE_AFTER_SECONDS})`)
    .orderBy(vaultProcesses.startedAt, vaultProcesses.id)
