// What each kind of process may do in the database, as SQL that can run again and again.
// The group roles cannot log in: an operator's login users are made members of them.

import { getTableName } from 'drizzle-orm'
import { COUNT_TRANSACTIONS } from './counting.ts'
import * as schema from './schema.ts'

export const API_ROLE = 'strongroom_api'
export const WORKER_ROLE = 'strongroom_worker'
/**
 * Owns the job queue's tables, the functions that add jobs, and the operators' views. Nobody is a member but who migrates.
 * These functions and views run with the rights of their owner, or of whoever calls them: a process that owned them could
 * change what they do, and so act with the rights of the others.
 */
export const JOBS_ROLE = 'strongroom_jobs'
/** Reads the operators' views (views.sql), and no table. */
export const VIEWER_ROLE = 'strongroom_viewer'

/** Where keys lie, even sealed: closed to the worker, and to nobody else's eyes than the API's. */
const CUSTODY_TABLES = [
  schema.projectKeys,
  schema.developerKeys,
  schema.userKeys,
  schema.pinGuesses,
  schema.keyrings,
  schema.ownerLocks,
  schema.walletKeys,
  schema.policyLocks,
].map(getTableName)

const WORKER_READS = [
  schema.deployment,
  schema.projects,
  schema.wallets,
  schema.signers,
  schema.transactions,
  schema.attempts,
  schema.cursors,
  schema.followedNetworks,
  schema.seenBlocks,
  schema.movements,
  schema.backfills,
  schema.doubtfulContracts,
  schema.abiItems,
  schema.contractFacts,
  schema.tokenUris,
  schema.collections,
  schema.metadataDocuments,
  schema.workers,
  schema.idempotencyKeys,
].map(getTableName)

const WORKER_WRITES = [
  schema.cursors,
  schema.followedNetworks,
  schema.seenBlocks,
  schema.movements,
  schema.backfills,
  schema.doubtfulContracts,
  schema.contractFacts,
  schema.tokenUris,
  schema.workers,
].map(getTableName)

/**
 * The worker tells what becomes of a transaction. It changes no column that says what the transaction does, and makes no row:
 * the API signs again by these (speed-up), and judges later intents behind them.
 */
const WORKER_TELLS: readonly (readonly [string, readonly string[]])[] = [
  [
    getTableName(schema.transactions),
    [
      ...[
        'status',
        'error_code',
        'error',
        'holds_nonce',
        'final',
        'chosen',
        'chosen_at',
        'given_up',
        'clock_started_at',
      ],
      ...['shown_hash', 'mined_block_number', 'mined_block_hash', 'contract_address'],
      ...['broadcast_at', 'settled_at', 'updated_at'],
    ],
  ],
  [getTableName(schema.attempts), ['raw', 'broadcast_at', 'last_error']],
  [getTableName(schema.signers), ['mined_count', 'pending_count', 'balance', 'heard_at']],
]

const TELLING_GRANTS = WORKER_TELLS.map(
  ([table, columns]) => `grant update (${columns.join(', ')}) on public.${table} to ${WORKER_ROLE};`,
).join('\n')

const WORKER_DELETES = [
  schema.seenBlocks,
  schema.movements,
  schema.doubtfulContracts,
  schema.workers,
  schema.idempotencyKeys,
].map(getTableName)

const API_READS_AND_WRITES = [
  schema.deployment,
  schema.projects,
  schema.apiKeys,
  schema.wallets,
  schema.policies,
  schema.signers,
  schema.transactions,
  schema.attempts,
  schema.contractFacts,
  schema.tokenUris,
  schema.collections,
  schema.metadataDocuments,
  schema.idempotencyKeys,
  schema.users,
].map(getTableName)

/** Ways in and sessions. Whoever uses up a row of them deletes it. */
const LOGIN_TABLES = [
  schema.emailCodes,
  schema.nonces,
  schema.sessionChallenges,
  schema.sessions,
  schema.throttles,
].map(getTableName)

/**
 * The worker clears away what is over of these, and sees of them what tells that. Nothing else: with a code's MAC, a session's
 * id or the secret of a link it could try to be somebody.
 */
const WORKER_CLEARS: readonly (readonly [string, readonly string[]])[] = [
  [getTableName(schema.emailCodes), ['expires_at']],
  [getTableName(schema.nonces), ['expires_at']],
  [getTableName(schema.sessionChallenges), ['expires_at']],
  [getTableName(schema.throttles), ['window_ends_at']],
  [getTableName(schema.sessions), ['expires_at', 'project_id', 'user_id']],
  [getTableName(schema.users), ['id', 'project_id', 'email', 'sign_in_wallet', 'created_at']],
]

const CLEARING_GRANTS = WORKER_CLEARS.map(
  ([table, columns]) => `grant select (${columns.join(', ')}), delete on public.${table} to ${WORKER_ROLE};`,
).join('\n')

/**
 * What the worker may delete is over: live throttles stop guesses, live sessions are somebody's, and without the key of a
 * request its repetition would be done once more. Users are held by what refers to them.
 */
const OVER: readonly (readonly [table: string, is: string])[] = [
  ...WORKER_CLEARS.filter(([table]) => table !== getTableName(schema.users)).map(
    ([table, [end]]) => [table, `${end} < now()`] as const,
  ),
  [getTableName(schema.idempotencyKeys), `created_at <= now() - interval '24 hours'`],
]

const CLEARING_POLICIES = OVER.map(([table, isOver]) => {
  const policy = (name: string, is: string) =>
    `drop policy if exists ${name} on public.${table};\ncreate policy ${name} on public.${table} ${is};`
  return [
    `alter table public.${table} enable row level security;`,
    policy('api', `to ${API_ROLE} using (true) with check (true)`),
    policy('worker_sees', `for select to ${WORKER_ROLE} using (true)`),
    policy('worker_clears', `for delete to ${WORKER_ROLE} using (${isOver})`),
  ].join('\n')
}).join('\n')

const API_READS = [schema.cursors, schema.movements, schema.doubtfulContracts].map(getTableName)

/** What the operators' views stand on. */
const VIEWED_TABLES = [
  schema.signers,
  schema.transactions,
  schema.attempts,
  schema.cursors,
  schema.followedNetworks,
  schema.backfills,
  schema.workers,
].map(getTableName)

const list = (tables: readonly string[]) => tables.map((table) => `public.${table}`).join(', ')

export const CREATE_ROLES = [API_ROLE, WORKER_ROLE, JOBS_ROLE, VIEWER_ROLE]
  .map(
    (role) => `do $$ begin
  if not exists (select from pg_roles where rolname = '${role}') then create role ${role} nologin; end if;
exception when duplicate_object or unique_violation then null;
end $$;`,
  )
  .join('\n')

/**
 * Adding a job, and running a failed one again, are functions with the rights of the queue's owner: the API can call them, and can neither
 * change a job otherwise nor read one but through the operators' views.
 */
const JOB_FUNCTIONS = `
create or replace function public.add_strongroom_job(
  task text, payload json, job_key text, job_key_mode text, run_at timestamptz, max_attempts int
) returns void language sql security definer set search_path = pg_catalog, pg_temp as $$
  -- What was is found again only when nothing else waits.
  select graphile_worker.add_job(task, payload, null, run_at, max_attempts, job_key,
    case task when 'backfill_wallet' then 10 else 0 end, null, job_key_mode);
$$;
create or replace function public.retry_strongroom_jobs(job_ids bigint[])
returns setof bigint language sql security definer set search_path = pg_catalog, pg_temp as $$
  select id from graphile_worker.reschedule_jobs(job_ids, run_at := now(), attempts := 0);
$$;
${['add_strongroom_job', 'retry_strongroom_jobs']
  .map(
    (name) => `revoke all on function public.${name} from public;
grant execute on function public.${name} to ${API_ROLE}, ${WORKER_ROLE};
alter function public.${name} owner to ${JOBS_ROLE};`,
  )
  .join('\n')}
`

/** The worker takes jobs from the queue's tables and changes their rows, and can change nothing else of them. */
const QUEUE = `
grant usage on schema graphile_worker to ${WORKER_ROLE};
revoke all on all tables in schema graphile_worker from ${WORKER_ROLE};
grant select, insert, update, delete on all tables in schema graphile_worker to ${WORKER_ROLE};
revoke insert, update, delete on graphile_worker.migrations from ${WORKER_ROLE};
grant usage on all sequences in schema graphile_worker to ${WORKER_ROLE};
-- graphile-worker closes its tables to all but their owner in this way too; here the grants say who reads them.
do $$ declare closed regclass; begin
  for closed in select oid from pg_class where relnamespace = 'graphile_worker'::regnamespace and relrowsecurity loop
    execute format('alter table %s disable row level security', closed);
  end loop;
end $$;
`

/** How the queue does, a task: numbers alone, as the API may see no job. */
const JOB_NUMBERS = `
create or replace function public.strongroom_job_numbers()
returns table (task text, ready bigint, failed bigint, oldest_ready_seconds double precision)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select task.identifier,
    count(*) filter (where job.is_available and job.run_at <= now()),
    -- One that was overtaken by another of its key has no error.
    count(*) filter (where job.attempts >= job.max_attempts and job.locked_at is null and job.last_error is not null),
    extract(epoch from now() - min(job.run_at) filter (where job.is_available and job.run_at <= now()))
  from graphile_worker._private_jobs job join graphile_worker._private_tasks task on task.id = job.task_id
  group by task.identifier;
$$;
revoke all on function public.strongroom_job_numbers from public;
grant execute on function public.strongroom_job_numbers to ${API_ROLE}, ${WORKER_ROLE};
alter function public.strongroom_job_numbers owner to ${JOBS_ROLE};
`

/** Audit rows are written once: not even their table's owner changes or removes one without dropping this trigger. */
const APPEND_ONLY_AUDIT = `
create or replace function public.refuse_change() returns trigger language plpgsql as $$
begin raise exception '% is append-only', tg_table_name; end $$;
${['audit', 'audit_chain']
  .map(
    (table) => `drop trigger if exists append_only on public.${table};
create trigger append_only before update or delete or truncate on public.${table}
  for each statement execute function public.refuse_change();`,
  )
  .join('\n')}
`

export const GRANTS = `
revoke all on all tables in schema public from ${API_ROLE}, ${WORKER_ROLE}, ${JOBS_ROLE};
grant usage on schema public to ${API_ROLE}, ${WORKER_ROLE};
grant select, insert, update on ${list([...CUSTODY_TABLES, ...API_READS_AND_WRITES])} to ${API_ROLE};
grant select on ${list(API_READS)} to ${API_ROLE};
grant select on ${list(WORKER_READS)} to ${WORKER_ROLE};
grant insert, update on ${list(WORKER_WRITES)} to ${WORKER_ROLE};
${TELLING_GRANTS}
grant delete on ${list(WORKER_DELETES)} to ${WORKER_ROLE};
grant select, insert on public.audit, public.audit_chain to ${API_ROLE}, ${WORKER_ROLE};
grant delete on public.policy_locks to ${API_ROLE};
-- What was never sent, where a transaction is signed anew.
grant delete on public.attempts to ${API_ROLE};
grant select, insert, delete on public.freezes, public.abi_items, public.listed_tokens to ${API_ROLE};
grant select, insert, update, delete on ${list(LOGIN_TABLES)}, public.passkeys, public.token_keys to ${API_ROLE};
${CLEARING_GRANTS}
${CLEARING_POLICIES}
grant select (project_id, user_id) on public.passkeys to ${WORKER_ROLE};
grant select, insert on public.mails to ${API_ROLE};
grant select, update, delete on public.mails to ${WORKER_ROLE};
grant select, insert on public.backfills to ${API_ROLE};
grant select, insert on public.counts to ${API_ROLE}, ${WORKER_ROLE};
grant delete on public.counts to ${WORKER_ROLE};
grant select on ${list(VIEWED_TABLES)} to ${JOBS_ROLE};
${QUEUE}
-- Whoever is no superuser gives a function only to a role that could have made it.
grant usage, create on schema public to ${JOBS_ROLE};
${JOB_FUNCTIONS}
${JOB_NUMBERS}
revoke create on schema public from ${JOBS_ROLE};
${COUNT_TRANSACTIONS}
${APPEND_ONLY_AUDIT}
`
