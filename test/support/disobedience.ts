// A database that answers to writes and undoes them: triggers that its owner plants on any table. Each is named by what
// happens to a write there.

import type { Sql } from 'postgres'

export type Write = 'insert' | 'update' | 'delete'

export type Disobedience = {
  readonly name: string
  /** The writes that it can undo. */
  readonly writes: readonly Write[]
  readonly when: 'before' | 'after'
  /** The body of the trigger's function. */
  readonly body: string
}

/** The condition that finds the row with a primary key; `row` is a variable of the trigger's function. */
const findKey = (row: 'new' | 'old'): string => `
  select string_agg(format('%I::text = %L', a.attname, to_jsonb(${row}) ->> a.attname), ' and ') into found
  from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any(i.indkey)
  where i.indrelid = tg_relid and i.indisprimary;`

const WRITTEN_COLUMNS = `
  select string_agg(quote_ident(attname), ', ') into names from pg_attribute
  where attrelid = tg_relid and attnum > 0 and not attisdropped and attgenerated = '';`

/** The row as it was, as a query. */
const FORMER = `format('select %s from jsonb_populate_record(null::%s, %L)', names, tg_relid::regclass, to_jsonb(old))`

/** The trigger's own write fires it again. One that is deferred acts once a transaction, since it would not end. */
const AFTER_ROW = `declare found text; names text; begin
  if pg_trigger_depth() > 1 then return null; end if;
  if tg_argv[0] = 'deferred' then
    if current_setting('disobey.transaction', true) = txid_current()::text then return null; end if;
    perform set_config('disobey.transaction', txid_current()::text, true);
  end if;`

export const DISOBEDIENCES: readonly Disobedience[] = [
  { name: 'the old row stays', writes: ['update'], when: 'before', body: 'begin return old; end' },
  {
    name: 'nothing is written',
    writes: ['insert', 'update', 'delete'],
    when: 'before',
    body: 'begin return null; end',
  },
  {
    name: 'the written row is deleted',
    writes: ['insert', 'update'],
    when: 'after',
    body: `${AFTER_ROW} ${findKey('new')}
      execute format('delete from %s where %s', tg_relid::regclass, found); return null; end`,
  },
  {
    name: 'the row is set back',
    writes: ['update'],
    when: 'after',
    body: `${AFTER_ROW} ${findKey('new')} ${WRITTEN_COLUMNS}
      execute format('update %s set (%s) = (%s) where %s', tg_relid::regclass, names, ${FORMER}, found); return null; end`,
  },
  {
    name: 'the deleted row is put back',
    writes: ['delete'],
    when: 'after',
    body: `${AFTER_ROW} ${WRITTEN_COLUMNS}
      execute format('insert into %s (%s) %s', tg_relid::regclass, names, ${FORMER}); return null; end`,
  },
]

/** The ways in which a database can undo this write. */
export const disobediencesOf = (write: Write): readonly Disobedience[] =>
  DISOBEDIENCES.filter(({ writes }) => writes.includes(write))

type Planted = {
  readonly table: string
  readonly write: Write
  readonly disobedience: Disobedience
  /** Whether it waits for the commit, as a deferred constraint trigger does; only of a trigger that acts afterwards. */
  readonly isDeferred?: boolean
  /** SQL on `new` or `old`: only for these rows. */
  readonly condition?: string
}

/** Runs `act` while the table disobeys. @param sql a connection of the database's owner. */
export const whileDisobeying = async <Result>(
  sql: Sql,
  { table, write, disobedience, isDeferred = false, condition = 'true' }: Planted,
  act: () => Promise<Result>,
): Promise<Result> => {
  const { when, body } = disobedience
  const kind = isDeferred ? 'constraint trigger' : 'trigger'
  const deferred = isDeferred ? 'deferrable initially deferred' : ''
  await sql.unsafe(`
    create function disobey() returns trigger language plpgsql security definer set search_path = public as $$ ${body} $$;
    create ${kind} disobey ${when} ${write} on public.${table} ${deferred} for each row when (${condition})
      execute function disobey('${isDeferred ? 'deferred' : 'immediate'}')`)
  try {
    return await act()
  } finally {
    await sql.unsafe(`drop trigger disobey on public.${table}; drop function disobey()`)
  }
}
