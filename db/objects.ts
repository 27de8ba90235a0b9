// Grants, policies, functions, triggers and the operators' views, in parts. A part is made again only if its SQL has
// changed since it was applied, or if the database has something else than it had then: after a restore without grants,
// or a dropped trigger. So a migration that changes nothing takes no lock that a reader or a signature would wait for.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type pg from 'pg'
import { GRANTS } from './grants.ts'

const VIEWS = `
drop schema if exists strongroom_views cascade;
${readFileSync(new URL('./views.sql', import.meta.url), 'utf8')}
reset role;
`

const PARTS = { ...GRANTS, views: VIEWS } as const

export const objectNames: readonly string[] = Object.keys(PARTS)

/** What the database has of each part, as lines of text. Reads only the catalog. */
const FOUND = `
with found(part, line) as (
  select 'tables', format('%s %s %s', relname, relacl, (
    select string_agg(attname || attacl::text, ' ' order by attnum)
    from pg_attribute where attrelid = pg_class.oid and attacl is not null))
  from pg_class where relnamespace = to_regnamespace('public') and relkind = 'r'
  union all
  select 'tables', format('schema %s', nspacl) from pg_namespace where nspname = 'public'
  union all
  select 'clearing', relname from pg_class where relnamespace = to_regnamespace('public') and relrowsecurity
  union all
  select 'queue', format('%s %s %s', relname, relacl, relrowsecurity)
  from pg_class where relnamespace = to_regnamespace('graphile_worker') and relkind in ('r', 'v', 'S')
  union all
  select 'queue', format('schema %s', nspacl) from pg_namespace where nspname = 'graphile_worker'
  union all
  select case when proname in ('refuse_change', 'strongroom_drop_archived') then 'audit'
    when proname = 'keep_holdings' then 'holdings'
    when proname = 'strongroom_clear_expired' then 'clearing'
    when proname like 'strongroom\\_event%' then 'events' else 'functions' end,
    format('%s %s %s', pg_get_functiondef(oid), proacl, proowner::regrole)
  from pg_proc where pronamespace = to_regnamespace('public')
    and (proname in ('add_strongroom_job', 'retry_strongroom_jobs', 'strongroom_job_numbers', 'refuse_change',
      'strongroom_drop_archived', 'strongroom_clear_expired', 'keep_holdings') or proname like 'strongroom\\_event%')
  union all
  select case when tgname = 'append_only' then 'audit' when tgname like 'keep_holdings%' then 'holdings' else 'events' end,
    format('%s %s', pg_get_triggerdef(pg_trigger.oid), tgenabled)
  from pg_trigger join pg_class on pg_class.oid = tgrelid
  where (tgname = 'append_only' or tgname like 'keep_holdings%' or tgname like 'strongroom\\_event%') and relnamespace = to_regnamespace('public')
  union all
  select 'views', format('%s %s %s %s', relname, pg_get_viewdef(oid), relacl, relowner::regrole)
  from pg_class where relnamespace = to_regnamespace('strongroom_views') and relkind = 'v'
  union all
  select 'views', format('%s %s %s', pg_get_functiondef(oid), proacl, proowner::regrole)
  from pg_proc where pronamespace = to_regnamespace('strongroom_views')
  union all
  select 'views', format('schema %s', nspacl) from pg_namespace where nspname = 'strongroom_views'
)
select part, md5(string_agg(line, E'\\n' order by line)) as found from found group by part`

/** What was applied last, and what the database had then. Only the migrating role reads it. */
export const CREATE_APPLIED = `
create schema if not exists drizzle;
create table if not exists drizzle.strongroom_objects (part text primary key, definition text not null, found text not null);
`

const hashText = (text: string): string => createHash('sha256').update(text).digest('hex')

const readFound = async (client: pg.Client): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await client.query<{ part: string; found: string }>(FOUND)
  return new Map(rows.map(({ part, found }) => [part, found]))
}

/** The SQL of the parts that differ, by name. */
export const changedObjects = async (client: pg.Client): Promise<ReadonlyMap<string, string>> => {
  const { rows } = await client.query<{ part: string; definition: string; found: string }>(
    'select part, definition, found from drizzle.strongroom_objects',
  )
  const applied = new Map(rows.map((row) => [row.part, row]))
  const found = await readFound(client)
  const isSame = (part: string, sql: string): boolean => {
    const last = applied.get(part)
    return last !== undefined && last.definition === hashText(sql) && last.found === found.get(part)
  }
  return new Map(Object.entries(PARTS).filter(([part, sql]) => !isSame(part, sql)))
}

/** Makes the parts that differ. Call it in a transaction. */
export const applyObjects = async (client: pg.Client): Promise<void> => {
  const changed = await changedObjects(client)
  for (const sql of changed.values()) await client.query(sql)
  const found = await readFound(client)
  // All of them: one part may have changed what another one finds.
  for (const [part, sql] of Object.entries(PARTS)) {
    await client.query(
      `insert into drizzle.strongroom_objects values ($1, $2, $3)
       on conflict (part) do update set definition = excluded.definition, found = excluded.found`,
      [part, hashText(sql), found.get(part)],
    )
  }
}
