// What the catalogue of the database has that decides what a statement reads, writes or computes. One statement reads
// it all; every role may. Objects of the system have an oid below 16384 (FirstNormalObjectId).
//
// Two questions: are the service's objects those that the migrations make (their definitions are in
// catalogue.generated.ts), and does anything else take part in the service's statements? Names are looked up in
// pg_catalog and public alone (client.ts), so only functions and operators of these schemas count, and only those that
// a call of the service could choose: all their types are of the system or the service. Functions in C that belong to
// an extension do not count: operators may install extensions.

import { sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { readRows } from '../rows.ts'
import { MEANING } from '../words.ts'

/** What an object is: `setting` of a role, of the database or of this session. */
type Kind =
  | 'table'
  | 'column'
  | 'constraint'
  | 'index'
  | 'trigger'
  | 'rule'
  | 'policy'
  | 'inheritance'
  | 'function'
  | 'operator'
  | 'cast'
  | 'event trigger'
  | 'setting'

export type CatalogueObject = {
  readonly kind: Kind
  /** As an operator reads it: `append_only on audit`. */
  readonly name: string
  /** The table or view to which it belongs. */
  readonly table: string | null
  /** Of its definition; null for what can only be there or not. */
  readonly digest: string | null
  /** Whether it changes a statement although the migrations do not know it. */
  readonly intervenes: boolean
}

/** A superuser, or a file of the server, may set them for all sessions. */
const SESSION = {
  ...MEANING,
  session_replication_role: 'origin',
  transform_null_equals: 'off',
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  ignore_system_indexes: 'off',
  zero_damaged_pages: 'off',
  allow_system_table_mods: 'off',
} as const

/** Settings that change what a statement means. Other settings only change its time, its plan or the log. */
const isTelling = sql.raw(
  `(split_part(config, '=', 1) in (${Object.keys(SESSION)
    .map((name) => `'${name}'`)
    .join(', ')}, 'role', 'plpgsql.variable_conflict', 'default_table_access_method') or config like 'strongroom.%')`,
)

const session = sql.join(
  Object.entries(SESSION).map(
    ([name, value]) => sql`select ${name}::text as name, current_setting(${name}) as found, ${value}::text as expected`,
  ),
  sql` union all `,
)

const FIRST_NORMAL = sql.raw('16384')

/** PostgreSQL 15 to 18 define these in SQL (pg_proc.dat), all else in C. A superuser can replace both. */
const SYSTEM_IN_SQL = sql.raw(
  `879, 880, 1176, 1215, 1216, 1285, 1290, 1296, 1298, 1305, 1306, 1307, 1309, 1310, 1311, 1348, 1384, 1386, 1426, 1481, 1544, 1708,
  1710, 1741, 1810, 1811, 1812, 1848, 1993, 2003, 2004, 2042, 2043, 2044, 2059, 2074, 2325, 2546, 2547, 2548, 2549, 2550, 2631, 2932,
  3050, 3935, 3936, 5023, 6183, 6184`,
)

/** What the objects are judged by. */
const GIVEN = sql`
schemas as (
  select oid, nspname from pg_namespace where nspname in ('public', 'strongroom_views', 'graphile_worker')
), relations as (
  select c.*, case nspname when 'public' then '' else nspname || '.' end || relname as name from pg_class c join schemas s on s.oid = c.relnamespace
), foreign_code as (
  select p.oid from pg_proc p join pg_language l on l.oid = prolang where case
    when p.oid < ${FIRST_NORMAL} then lanname not in ('internal', 'c') and pronamespace = 'pg_catalog'::regnamespace
      and p.oid not in (${SYSTEM_IN_SQL}) and current_setting('server_version_num')::int < 190000
    else not (lanname = 'c'
      and exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')) end
), known_types as (
  select t.oid from pg_type t where t.oid < ${FIRST_NORMAL} or t.typtype = 'd' or t.typrelid in (select oid from relations)
  union
  select t.typarray from pg_type t where t.typtype = 'd' or t.typrelid in (select oid from relations)
), intervening as (
  -- Of defaults, constraints and indexes: what calls code that is not of the system.
  select distinct d.classid, d.objid from pg_depend d
  where d.classid in ('pg_attrdef'::regclass, 'pg_constraint'::regclass, 'pg_class'::regclass) and d.deptype = 'n'
    and (d.refclassid = 'pg_proc'::regclass and d.refobjid in (select oid from foreign_code)
      or d.refclassid = 'pg_operator'::regclass
        and (select o.oprcode from pg_operator o where o.oid = d.refobjid) in (select oid from foreign_code)
      or d.refclassid = 'pg_opclass'::regclass and exists (select from pg_opclass o
        join pg_amproc a on a.amprocfamily = o.opcfamily where o.oid = d.refobjid and a.amproc in (select oid from foreign_code)))
)`

/** A trigger that PostgreSQL itself made; the mark "internal" alone can be set by hand. */
const OF_FOREIGN_KEY = sql`(tgisinternal and tgconstraint <> 0 and tgfoid < ${FIRST_NORMAL})`

/** The objects of tables, functions and operators: kind, name, table, definition, and whether it intervenes. */
const OBJECTS = sql`
select 'table', name, name,
  format('%s %s %s %s %s', relkind, relpersistence, relrowsecurity, relforcerowsecurity,
    (select amname from pg_am where pg_am.oid = relam)), false
from relations where relkind in ('r', 'p', 'v', 'm', 'f')
union all
select 'column', format('%s of %s', attname, name), name,
  format('%s %s %s %s %s %s', format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
    nullif(attcollation, 0)::regcollation, pg_get_expr(adbin, adrelid)),
  attgenerated <> '' or coalesce((('pg_attrdef'::regclass)::oid, d.oid) in (select classid, objid from intervening), false)
from relations r join pg_attribute a on a.attrelid = r.oid and attnum > 0 and not attisdropped
left join pg_attrdef d on d.adrelid = r.oid and d.adnum = attnum
where relkind in ('r', 'p', 'f')
union all
select 'constraint', format('%s of %s', conname, name), name,
  format('%s %s %s', pg_get_constraintdef(c.oid), convalidated, condeferrable),
  (('pg_constraint'::regclass)::oid, c.oid) in (select classid, objid from intervening)
from relations r join pg_constraint c on c.conrelid = r.oid where contype in ('c', 'f', 'p', 'u', 'x')
union all
select 'index', format('%s of %s', i.relname, r.name), name,
  format('%s %s %s', pg_get_indexdef(i.oid), indisvalid, indisready),
  (('pg_class'::regclass)::oid, i.oid) in (select classid, objid from intervening)
from relations r join pg_index x on x.indrelid = r.oid join pg_class i on i.oid = x.indexrelid
where indisunique or (('pg_class'::regclass)::oid, i.oid) in (select classid, objid from intervening)
union all
select 'trigger', format('%s on %s', tgname, name), name,
  format('%s %s', pg_get_triggerdef(t.oid), tgenabled), true
from relations r join pg_trigger t on t.tgrelid = r.oid where not ${OF_FOREIGN_KEY}
union all
select 'trigger', format('of a foreign key on %s', name), name, null, true
from relations r join pg_trigger t on t.tgrelid = r.oid where ${OF_FOREIGN_KEY} and tgenabled <> 'O' group by name
union all
select 'rule', format('%s on %s', rulename, name), name, format('%s %s', pg_get_ruledef(w.oid), ev_enabled), true
from relations r join pg_rewrite w on w.ev_class = r.oid where relkind <> 'v' or rulename <> '_RETURN'
union all
select 'policy', format('%s on %s', polname, name), name, null, true
from relations r join pg_policy p on p.polrelid = r.oid
union all
select 'inheritance', format('%s from %s', inhrelid::regclass, inhparent::regclass), name, null, true
from relations r join pg_inherits on r.oid in (inhrelid, inhparent) where relkind in ('r', 'p', 'f')
union all
select 'table', format('pg_catalog.%s', relname), null, null, true from pg_class
where relnamespace = 'pg_catalog'::regnamespace and oid >= ${FIRST_NORMAL} and relname in (select relname from relations)
union all
select 'function', format('%s(%s)', case nspname when 'public' then '' else nspname || '.' end || proname,
    pg_get_function_identity_arguments(p.oid)),
  (select min(r.name) from pg_trigger t join relations r on r.oid = tgrelid where tgfoid = p.oid having count(distinct r.name) = 1),
  format('%s %s %s %s %s %s %s %s', prosrc, (select lanname from pg_language l where l.oid = prolang), prosecdef,
    provolatile, proisstrict, proconfig, format_type(prorettype, null), prosupport),
  nspname in ('pg_catalog', 'public') and proname in (
      select f.proname from pg_proc f where f.oid < ${FIRST_NORMAL} and f.pronamespace = 'pg_catalog'::regnamespace)
    and p.oid in (select oid from foreign_code)
    and not exists (select from unnest(proargtypes) t(oid) where t.oid not in (select oid from known_types))
from pg_proc p join pg_namespace n on n.oid = pronamespace
where n.oid in (select oid from schemas) or nspname = 'pg_catalog' and p.oid in (select oid from foreign_code)
union all
select 'operator', o.oid::regoperator::text,
  null, null, true
from pg_operator o
where o.oid >= ${FIRST_NORMAL} and oprnamespace in ('public'::regnamespace, 'pg_catalog'::regnamespace)
  and oprcode in (select oid from foreign_code)
  and (oprleft = 0 or oprleft in (select oid from known_types)) and oprright in (select oid from known_types)
union all
select 'cast', format('from %s to %s', format_type(castsource, null), format_type(casttarget, null)), null, null, true
from pg_cast where oid >= ${FIRST_NORMAL}
  and castsource in (select oid from known_types) and casttarget in (select oid from known_types)
union all
-- Others run only for statements that no process sends.
select 'event trigger', evtname, null, null, true from pg_event_trigger where evtevent = 'login'`

/** @param roles the group roles of processes. */
const settingsFor = (roles: readonly string[]) => sql`
select 'setting', format('%s of %s', config, coalesce(rolname, 'the database')), null, null, true
from pg_db_role_setting s cross join unnest(setconfig) config left join pg_roles r on r.oid = setrole
where ${isTelling} and setdatabase in (0, (select oid from pg_database where datname = current_database()))
  and (setrole = 0 or not rolsuper and exists (select from pg_roles g
    where g.rolname = any(${sql.param([...roles])}::text[]) and pg_has_role(setrole, g.oid, 'member')))
union all
select 'setting', format('%s = %s of this session', name, found), null, null, true
from (${session}) settings where found <> expected
union all
select 'setting', format('role = %s of this session', current_user), null, null, true where current_user <> session_user`

/** Reads all objects that count. @param input.roles the group roles of processes. */
export const readCatalogue = (
  db: Queryable,
  { roles }: { readonly roles: readonly string[] },
): Promise<readonly CatalogueObject[]> =>
  readRows<CatalogueObject>(db)`
    with ${GIVEN}, objects(kind, name, of_table, definition, intervenes) as (${OBJECTS} union all ${settingsFor(roles)})
    select kind, name, of_table as "table", left(md5(definition), 12) as digest, intervenes from objects order by 1, 2`
