// The check after a crash: each cause has its event, and no project's ids have a gap.

import type { Sql } from 'postgres'
import type { Db } from '../../db/client.ts'
import { numberEvents } from '../../db/queries/events.ts'

/** Notes from now on each status of a transaction, in another way than events are written. */
export const noteStatuses = async (sql: Sql): Promise<void> => {
  await sql.unsafe(`
    create table noted_statuses (id bigint generated always as identity, transaction_id uuid, status text, is_first boolean);
    create function note_status() returns trigger language plpgsql security definer set search_path = public as $$
    begin
      if tg_op = 'INSERT' or old.status <> new.status then
        insert into noted_statuses (transaction_id, status, is_first) values (new.id, new.status, tg_op = 'INSERT');
      end if;
      return null;
    end $$;
    create trigger note_status after insert or update on transactions for each row execute function note_status()`)
}

/** Reports gaps in the ids of events, and wallets and policies without exactly one event. */
export const eventTroubles = async ({
  db,
  sql,
}: {
  readonly db: Db
  readonly sql: Sql
}): Promise<readonly string[]> => {
  for (const { id: projectId } of await sql<{ id: string }[]>`select id from projects`)
    await numberEvents(db, { projectId, atMost: 1_000_000 })
  const rows = await sql<{ trouble: string }[]>`
    select format('%s has %s events with the ids %s to %s', project_id, count(*), min(number), max(number)) as trouble
    from events group by project_id having (min(number), max(number), count(number)) is distinct from (1, count(*), count(*))
    union all
    select format('the wallet %s has %s events', wallet.id, count(event.id))
    from wallets wallet left join events event on event.type = 'wallet.created' and event.data->>'id' = wallet.id::text
    group by wallet.id having count(event.id) <> 1
    union all
    select format('the policy %s has %s events', policy.id, count(event.id))
    from policies policy left join events event on event.type = 'policy.created' and event.data->>'policy_uuid' = policy.id::text
    group by policy.id having count(event.id) <> 1`
  return rows.map(({ trouble }) => trouble)
}

/** Reports transactions that were recorded since `noteStatuses`, whose events are not exactly their statuses. */
export const statusTroubles = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql<{ trouble: string }[]>`
    with noted as (
      select transaction_id::text as id, string_agg(status, ' ' order by noted_statuses.id) as statuses
      from noted_statuses group by 1 having bool_or(is_first)
    ), told as (
      select data->>'transaction_id' as id, string_agg(data->>'status', ' ' order by number) as statuses
      from events where type = 'transaction.updated' group by 1
    )
    select format('%s was %s, and its events say %s', noted.id, noted.statuses, coalesce(told.statuses, 'nothing')) as trouble
    from noted left join told using (id) where told.statuses is distinct from noted.statuses`
  return rows.map(({ trouble }) => trouble)
}
