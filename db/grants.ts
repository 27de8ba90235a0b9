// What each kind of process may do in the database, as idempotent SQL. The rights on a table are beside it, in schema/.
// The group roles cannot log in: an operator makes login users members of them.

import { EVENTS } from './events.ts'
import * as schema from './schema.ts'
import { TableAccess } from './tables.ts'

export const API_ROLE = 'strongroom_api'
/** The vault. Alone it reads and writes keys, locks and policies. */
export const VAULT_ROLE = 'strongroom_vault'
export const WORKER_ROLE = 'strongroom_worker'
/** The operators' console: reads much, and writes what an operator may change. */
export const CONSOLE_ROLE = 'strongroom_console'
/**
 * Owns the job queue's tables, the functions that add jobs, and the operators' views. Only the migrating role is a
 * member: an owner could change these functions and views, and so act with the rights of their other users.
 */
export const JOBS_ROLE = 'strongroom_jobs'
/** Reads the operators' views (views.sql), and no table. */
const VIEWER_ROLE = 'strongroom_viewer'

export const ACCESS = Object.values(schema).filter((each) => each instanceof TableAccess)

const TABLE_GRANTS = ACCESS.flatMap(({ table, rights }) => {
  const grant = (privileges: string | undefined, role: string) =>
    privileges === undefined ? [] : [`grant ${privileges} on public.${table} to ${role};`]
  return [
    ...grant(rights.api, API_ROLE),
    ...grant(rights.vault, VAULT_ROLE),
    ...grant(rights.worker, WORKER_ROLE),
    ...grant(rights.console, CONSOLE_ROLE),
    ...grant(rights.views, JOBS_ROLE),
  ]
}).join('\n')

/**
 * The worker may delete only expired rows, by a function. Live throttles stop guesses, live sessions are in use, and
 * without its idempotency key a repeated request is executed again. References to a user prevent its deletion. No
 * row-level security: every process switches it off, so that it hides no rows.
 */
const CLEARING = `
create or replace function public.strongroom_clear_expired(of_table text) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare cleared integer;
begin
  case of_table
${ACCESS.flatMap(({ table, rights }) =>
  rights.workerDeletes === undefined
    ? []
    : [`    when '${table}' then delete from public.${table} where ${rights.workerDeletes};`],
).join('\n')}
  end case;
  get diagnostics cleared = row_count;
  return cleared;
end $$;
revoke all on function public.strongroom_clear_expired from public;
grant execute on function public.strongroom_clear_expired to ${WORKER_ROLE};
do $$ declare filtered regclass; policy name; begin
  for filtered, policy in select polrelid, polname from pg_policy join pg_class on pg_class.oid = polrelid
    where relnamespace = 'public'::regnamespace loop
    execute format('drop policy %I on %s', policy, filtered);
  end loop;
  for filtered in select oid from pg_class where relnamespace = 'public'::regnamespace and relrowsecurity loop
    execute format('alter table %s disable row level security', filtered);
  end loop;
end $$;
`

export const CREATE_ROLES = [API_ROLE, VAULT_ROLE, WORKER_ROLE, CONSOLE_ROLE, JOBS_ROLE, VIEWER_ROLE]
  .map(
    (role) => `do $$ begin
  if not exists (select from pg_roles where rolname = '${role}') then create role ${role} nologin; end if;
exception when duplicate_object or unique_violation then null;
end $$;`,
  )
  .join('\n')

/** Add and retry jobs with the rights of the queue's owner: the API and the console have no other access to jobs. */
const JOB_FUNCTIONS = `
create or replace function public.add_strongroom_job(
  task text, payload json, job_key text, job_key_mode text, run_at timestamptz, max_attempts int
) returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  -- Backfills have the lowest priority.
  its_priority constant smallint := case task when 'backfill_wallet' then 10 else 0 end;
begin
  if job_key_mode = 'unsafe_dedupe' and exists (select from graphile_worker._private_tasks where identifier = task) then
    -- As add_job does (graphile-worker 0.18.0), which takes several times as long.
    insert into graphile_worker._private_jobs (task_id, payload, run_at, max_attempts, key, priority)
    select id, payload, run_at, max_attempts, job_key, its_priority
    from graphile_worker._private_tasks where identifier = task
    on conflict (key) do nothing;
    if found then perform pg_notify('jobs:insert', format('{"r":%s,"count":1}', random())); end if;
    return;
  end if;
  perform graphile_worker.add_job(task, payload, null, run_at, max_attempts, job_key, its_priority, null, job_key_mode);
end $$;
create or replace function public.retry_strongroom_jobs(job_ids bigint[])
returns setof bigint language sql security definer set search_path = pg_catalog, pg_temp as $$
  select id from graphile_worker.reschedule_jobs(job_ids, run_at := now(), attempts := 0);
$$;
${['add_strongroom_job', 'retry_strongroom_jobs']
  .map(
    (name) => `revoke all on function public.${name} from public;
grant execute on function public.${name} to ${API_ROLE}, ${WORKER_ROLE}, ${CONSOLE_ROLE};
alter function public.${name} owner to ${JOBS_ROLE};`,
  )
  .join('\n')}
`

/** The worker may change rows of the queue's tables, and nothing else about them. */
const QUEUE = `
grant usage on schema graphile_worker to ${WORKER_ROLE};
revoke all on all tables in schema graphile_worker from ${WORKER_ROLE};
grant select, insert, update, delete on all tables in schema graphile_worker to ${WORKER_ROLE};
revoke insert, update, delete on graphile_worker.migrations from ${WORKER_ROLE};
grant usage on all sequences in schema graphile_worker to ${WORKER_ROLE};
-- graphile-worker enables row level security so that only the owner reads its tables; here the grants decide that.
do $$ declare closed regclass; begin
  for closed in select oid from pg_class where relnamespace = 'graphile_worker'::regnamespace and relrowsecurity loop
    execute format('alter table %s disable row level security', closed);
  end loop;
end $$;
`

/** Numbers of jobs by task, for the metrics: the API may not read jobs. */
const JOB_NUMBERS = `
create or replace function public.strongroom_job_numbers()
returns table (task text, ready bigint, failed bigint, oldest_ready_seconds double precision)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select task.identifier,
    count(*) filter (where job.is_available and job.run_at <= now()),
    -- A job that a newer one of its key replaced has no error.
    count(*) filter (where job.attempts >= job.max_attempts and job.locked_at is null and job.last_error is not null),
    extract(epoch from now() - min(job.run_at) filter (where job.is_available and job.run_at <= now()))
  from graphile_worker._private_jobs job join graphile_worker._private_tasks task on task.id = job.task_id
  group by task.identifier;
$$;
revoke all on function public.strongroom_job_numbers from public;
grant execute on function public.strongroom_job_numbers to ${API_ROLE}, ${WORKER_ROLE}, ${CONSOLE_ROLE};
alter function public.strongroom_job_numbers owner to ${JOBS_ROLE};
`

/**
 * Audit rows are append-only: to change one, even the owner must drop this trigger. Only a vault deletes rows, by a
 * function and before a checkpoint. The owner could set the function's mark, too: `audit verify` finds what is gone.
 */
const APPEND_ONLY_AUDIT = `
create or replace function public.refuse_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('strongroom.drops_archived', true) = 'yes' then return null; end if;
  raise exception '% is append-only', tg_table_name;
end $$;
${['audit', 'audit_chain', 'audit_checkpoints']
  .map(
    (table) => `drop trigger if exists append_only on public.${table};
create trigger append_only before update or delete or truncate on public.${table}
  for each statement execute function public.refuse_change();`,
  )
  .join('\n')}
create or replace function public.strongroom_drop_archived(of_chain text, ids bigint[]) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare dropped bigint[];
begin
  -- Not by SET of the function, which a superuser would have to allow.
  perform set_config('strongroom.drops_archived', 'yes', true);
  with links as (
    delete from public.audit_chain where chain = of_chain and audit_id = any(ids)
      and position <= (select max(position) from public.audit_checkpoints where chain = of_chain)
    returning audit_id
  ) select array_agg(audit_id) into dropped from links;
  delete from public.audit where id = any(dropped);
  perform set_config('strongroom.drops_archived', '', true);
  return coalesce(cardinality(dropped), 0);
end $$;
revoke all on function public.strongroom_drop_archived from public;
grant execute on function public.strongroom_drop_archived to ${VAULT_ROLE};
`

/** Adds a statement's movements to the holdings. Writers of one network wait for each other by the indexer's cursor. */
const addToHoldings = (changed: string): string => `
    merge into public.holdings held using (
      select network, address, contract, token_id, sum(sign * case direction when 'in' then amount else -amount end) as amount
      from (${changed}) changed
      where token_id is not null and of_wallet
      group by network, address, contract, token_id
    ) change
    on held.network = change.network and held.address = change.address and held.contract = change.contract
      and held.token_id = change.token_id
    when matched and held.amount + change.amount = 0 then delete
    when matched then update set amount = held.amount + change.amount
    when not matched and change.amount <> 0 then
      insert (network, address, contract, token_id, amount)
      values (change.network, change.address, change.contract, change.token_id, change.amount)`

const ADDED = 'select 1 as sign, * from added'
const REMOVED = 'select -1 as sign, * from removed'

/** Looks each holding up by its key: the planner knows nothing of the rows, and might read the whole table. */
const HOLDINGS = `
create or replace function public.keep_holdings() returns trigger language plpgsql set search_path = pg_catalog, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
begin
  if tg_op = 'INSERT' then ${addToHoldings(ADDED)};
  elsif tg_op = 'DELETE' then ${addToHoldings(REMOVED)};
  else ${addToHoldings(`${ADDED} union all ${REMOVED}`)};
  end if;
  return null;
end $$;
create or replace trigger keep_holdings_added after insert on public.movements
  referencing new table as added for each statement execute function public.keep_holdings();
create or replace trigger keep_holdings_removed after delete on public.movements
  referencing old table as removed for each statement execute function public.keep_holdings();
create or replace trigger keep_holdings_changed after update on public.movements
  referencing old table as removed new table as added for each statement execute function public.keep_holdings();
`

export const PROCESS_ROLES = [API_ROLE, VAULT_ROLE, WORKER_ROLE, CONSOLE_ROLE] as const
const OWN_ROLES = PROCESS_ROLES.join(', ')

const TABLES = `
revoke all on all tables in schema public from ${OWN_ROLES}, ${JOBS_ROLE};
grant usage on schema public to ${OWN_ROLES}, ${JOBS_ROLE};
${TABLE_GRANTS}
-- An update finds room in its page: then it writes neither the whole row to the log nor the indexes.
alter table public.ladders set (fillfactor = 70);
alter table public.transactions set (fillfactor = 80);
`

const FUNCTIONS = `
-- Without superuser rights, a function can only be given to a role that may create one.
grant create on schema public to ${JOBS_ROLE};
${JOB_FUNCTIONS}
${JOB_NUMBERS}
revoke create on schema public from ${JOBS_ROLE};
`

/** What follows the tables, in the order in which it is made. db/objects.ts applies what has changed. */
export const GRANTS = {
  tables: TABLES,
  clearing: CLEARING,
  queue: QUEUE,
  functions: FUNCTIONS,
  audit: APPEND_ONLY_AUDIT,
  holdings: HOLDINGS,
  events: EVENTS,
} as const
