// What the owner of the database may plant in its catalogue: each is named, and the vault opens no key meanwhile.

import { afterEach, describe, expect, mock, spyOn, test } from 'bun:test'
import { catalogueDifferences } from '../../db/catalogue.ts'
import { createProject } from '../../src/operators/projects.ts'
import { runCli } from '../support/cli.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { onServer } from '../support/postgres.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const service = await shared(startService())
const { database } = service
const asOwner = (text: string) => onServer(database.url, (sql) => sql.unsafe(text))
/** Each by itself, on one connection. */
const allAsOwner = (texts: readonly string[]) =>
  onServer(database.url, async (sql) => {
    for (const text of texts) await sql.unsafe(text)
  })

await asOwner(`
  create schema ev;
  grant usage on schema ev to public;
  create function ev.row() returns trigger language plpgsql as 'begin return new; end';
  create function ev.yes(anyelement) returns boolean language sql immutable as 'select true';
  create function ev.word() returns text language sql as $$ select 'word' $$;
  create function ev.json(public.pin_guesses) returns json language sql as $$ select '{}'::json $$;
  create function ev.arrow(jsonb, jsonb) returns text language sql as $$ select null::text $$;
  create function ev.login() returns event_trigger language plpgsql as 'begin end'`)
/** One of the vault's methods that do nothing meanwhile; it needs no node. */
const makeProject = () => createProject(service.ctx, { name: 'Another', actor: 'operator' })

const definitionOf = async (name: string): Promise<string> =>
  (await asOwner(`select pg_get_functiondef('public.${name}'::regproc) as definition`))[0]?.definition
const [refuseChange, keepHoldings] = [await definitionOf('refuse_change'), await definitionOf('keep_holdings')]

/** As PostgreSQL 18 defines it. */
const NOW = `create or replace function pg_catalog.now() returns timestamptz language internal stable strict parallel safe as 'now'`

const role = `role strongroom_test_vault in database ${database.name}`

type Planted = { readonly plant: string; readonly undo: string; readonly found: string }

/** What a vault refuses; `found` is how it is named. */
const PLANTED: Readonly<Record<string, Planted>> = {
  'a trigger': {
    plant: 'create trigger ev before update on pin_guesses for each row execute function ev.row()',
    undo: 'drop trigger ev on pin_guesses',
    found: 'the trigger ev on pin_guesses is not in the migrations',
  },
  'a trigger that is said to be internal': {
    plant: `create trigger ev_internal after update on pin_guesses for each row execute function ev.row();
      update pg_trigger set tgisinternal = true where tgname = 'ev_internal'`,
    undo: `update pg_trigger set tgisinternal = false where tgname = 'ev_internal'; drop trigger ev_internal on pin_guesses`,
    found: 'the trigger ev_internal on pin_guesses is not in the migrations',
  },
  'a trigger of the migrations that is off': {
    plant: 'alter table audit disable trigger append_only',
    undo: 'alter table audit enable trigger append_only',
    found: 'the trigger append_only on audit is not as the migrations make it',
  },
  'foreign keys that are off': {
    plant: 'alter table used_approvals disable trigger all',
    undo: 'alter table used_approvals enable trigger all',
    found: 'the trigger of a foreign key on used_approvals is not in the migrations',
  },
  'a rule': {
    plant: 'create rule ev as on update to policies do instead nothing',
    undo: 'drop rule ev on policies',
    found: 'the rule ev on policies is not in the migrations',
  },
  'a policy': {
    plant: 'create policy ev on audit using (true)',
    undo: 'drop policy ev on audit',
    found: 'the policy ev on audit is not in the migrations',
  },
  'row-level security': {
    plant: 'alter table delegate_lists enable row level security',
    undo: 'alter table delegate_lists disable row level security',
    found: 'the table delegate_lists is not as the migrations make it',
  },
  'a view in place of a table': {
    plant: 'alter table user_key_locks rename to ev; create view user_key_locks as select * from ev',
    undo: 'drop view user_key_locks; alter table ev rename to user_key_locks',
    found: 'the table user_key_locks is not as the migrations make it',
  },
  'a table whose rows are added': {
    plant: 'create table ev.more () inherits (public.used_approvals)',
    undo: 'drop table ev.more',
    found: 'the inheritance ev.more from used_approvals is not in the migrations',
  },
  'another default': {
    plant: 'alter table owner_locks alter policies_only set default true',
    undo: 'alter table owner_locks alter policies_only set default false',
    found: 'the column policies_only of owner_locks is not as the migrations make it',
  },
  'a column that calls a function': {
    plant: 'alter table freeze_lists add column ev text default ev.word()',
    undo: 'alter table freeze_lists drop column ev',
    found: 'the column ev of freeze_lists is not in the migrations',
  },
  'a check that is gone': {
    plant: 'alter table policies rename constraint policies_limits to other',
    undo: 'alter table policies rename constraint other to policies_limits',
    found: 'the constraint policies_limits of policies is gone',
  },
  'a check that calls a function': {
    plant: 'alter table policies add constraint ev check (ev.yes(id))',
    undo: 'alter table policies drop constraint ev',
    found: 'the constraint ev of policies is not in the migrations',
  },
  'an index that calls a function': {
    plant: 'create index ev_index on wallet_keys (ev.yes(wallet_id))',
    undo: 'drop index ev_index',
    found: 'the index ev_index of wallet_keys is not in the migrations',
  },
  'a function with more exact types': {
    plant: `create function to_jsonb(pin_guesses) returns jsonb language sql as $$ select '{}'::jsonb $$`,
    undo: 'drop function to_jsonb(pin_guesses)',
    found: 'the function to_jsonb(pin_guesses) is not in the migrations',
  },
  'a function with a name of the migrations': {
    plant: `create function strongroom_drop_archived(text, text) returns int language sql as 'select 0'`,
    undo: 'drop function strongroom_drop_archived(text, text)',
    found: 'the function strongroom_drop_archived(text, text) is not in the migrations',
  },
  'a function of the migrations that does something else': {
    plant: `create or replace function refuse_change() returns trigger language plpgsql as 'begin return null; end'`,
    undo: refuseChange,
    found: 'the function refuse_change() is not as the migrations make it',
  },
  'a function among those of the system': {
    plant: `create function pg_catalog.now(text) returns timestamptz language sql as 'select null::timestamptz'`,
    undo: 'drop function pg_catalog.now(text)',
    found: 'the function pg_catalog.now(text) is not in the migrations',
  },
  'a function of the system that does something else': {
    plant: `create or replace function pg_catalog.now() returns timestamptz language sql stable strict parallel safe
      as $$ select '2001-01-01'::timestamptz $$`,
    undo: NOW,
    found: 'the function pg_catalog.now() is not in the migrations',
  },
  'a function with a name of the migrations among those of the system': {
    plant: `create function pg_catalog.strongroom_drop_archived(text, text) returns int language sql as 'select 0'`,
    undo: 'drop function pg_catalog.strongroom_drop_archived(text, text)',
    found: 'the function pg_catalog.strongroom_drop_archived(text, text) is not in the migrations',
  },
  'an operator': {
    plant: 'create operator public.->> (leftarg = jsonb, rightarg = jsonb, function = ev.arrow)',
    undo: 'drop operator public.->> (jsonb, jsonb)',
    found: 'the operator ->>(jsonb,jsonb) is not in the migrations',
  },
  'a cast': {
    plant: 'create cast (pin_guesses as json) with function ev.json(pin_guesses)',
    undo: 'drop cast (pin_guesses as json)',
    found: 'the cast from pin_guesses to json is not in the migrations',
  },
  'something that runs at each login': {
    plant: 'create event trigger ev on login execute function ev.login()',
    undo: 'drop event trigger ev',
    found: 'the event trigger ev is not in the migrations',
  },
  'a setting of the role': {
    plant: `alter ${role} set default_table_access_method = 'heap'`,
    undo: `alter ${role} reset default_table_access_method`,
    found: 'the setting default_table_access_method=heap of strongroom_test_vault is not in the migrations',
  },
  'another collation': {
    plant: `create collation public."default" from "C"; alter table vault_journals alter server type text collate public."default"`,
    undo: `alter table vault_journals alter server type text; drop collation public."default"`,
    found: 'the column server of vault_journals is not as the migrations make it',
  },
  'a setting of the database': {
    plant: `alter database ${database.name} set strongroom.drops_archived = 'yes'`,
    undo: `alter database ${database.name} reset strongroom.drops_archived`,
    found: 'the setting strongroom.drops_archived=yes of the database is not in the migrations',
  },
}

/** In the suite the last test looks once for all of them. */
afterEach(async () => {
  if (!isLong) return
  expect((await catalogueDifferences(service.ctx.db)).map(({ found }) => found)).toEqual([])
})

describe('the vault opens no key while the database has', () => {
  for (const [name, { plant, undo, found }] of someOf(Object.entries(PLANTED), 26)) {
    test(name, async () => {
      await asOwner(plant)
      try {
        expect(await catalogueDifferences(service.ctx.db)).toEqual([{ found, concernsVault: true }])
        await service.lookAtCatalogue()
        await expect(makeProject()).rejects.toMatchObject({
          code: 'unavailable',
          message: expect.stringContaining(`mislead the vault: ${found}.`),
        })
      } finally {
        await asOwner(undo)
      }
      await service.lookAtCatalogue()
      await makeProject()
    })
  }
})

test('doctor and audit verify name all of it, and the audit has it', async () => {
  // Without a table of the schema, commands that need it do not start.
  const { 'a view in place of a table': _, ...others } = PLANTED
  const planted = Object.values(others)
  await allAsOwner(planted.map(({ plant }) => plant))
  try {
    const differences = await catalogueDifferences(service.ctx.db)
    for (const { found } of planted) expect(differences).toContainEqual({ found, concernsVault: true })
    const doctor = JSON.parse((await runCli(['doctor', '--json'], service.variables)).output)
    const named = doctor.filter(({ check }: { check: string }) => check === 'database catalogue')
    expect(named).toHaveLength(11)
    const { exitCode, output } = await runCli(['audit', 'verify'], service.variables)
    expect(exitCode).toBe(1)
    for (const { found } of planted) expect(output).toContain(`CHANGED: ${found}.\n`)
    await service.lookAtCatalogue()
  } finally {
    await allAsOwner(planted.toReversed().map(({ undo }) => undo))
  }
  await service.lookAtCatalogue()
  await service.flushRefusals()
  expect((await asOwner(`select from audit where action = 'catalogue_changed'`)).length).toBeGreaterThan(0)
})

test('rows of the audit that row-level security would hide are no rows that are not there: verification fails', async () => {
  await asOwner(`alter table audit enable row level security;
    create policy seen on audit to strongroom_vault, strongroom_api using (current_query() not like '%details%')`)
  try {
    const { exitCode, output } = await runCli(['audit', 'verify'], service.variables)
    expect({ exitCode, lines: output.trim().split('\n') }).toEqual({
      exitCode: 1,
      lines: [
        'CHANGED: the table audit is not as the migrations make it.',
        'CHANGED: the policy seen on audit is not in the migrations.',
        expect.stringContaining('Nothing else could be checked: '),
        'The audit does not hold.',
      ],
    })
  } finally {
    await asOwner('drop policy seen on audit; alter table audit disable row level security')
  }
})

/** What is named, and stops no vault. */
const NAMED = {
  'a setting that each connection overrules': {
    plant: `alter ${role} set search_path = ev, pg_catalog, public`,
    undo: `alter ${role} reset search_path`,
    found: 'the setting search_path=ev, pg_catalog, public of strongroom_test_vault is not in the migrations',
  },
  'a trigger on a table that no vault writes': {
    plant: 'create trigger ev after update on transactions for each row execute function ev.row()',
    undo: 'drop trigger ev on transactions',
    found: 'the trigger ev on transactions is not in the migrations',
  },
  'another trigger function of such a table': {
    plant: `create or replace function keep_holdings() returns trigger language plpgsql as 'begin return null; end'`,
    undo: keepHoldings,
    found: 'the function keep_holdings() is not as the migrations make it',
  },
} satisfies Record<string, Planted>

describe('doctor names, and no vault stops for,', () => {
  for (const [name, { plant, undo, found }] of someOf(Object.entries(NAMED), 3)) {
    test(name, async () => {
      await asOwner(plant)
      try {
        expect(await catalogueDifferences(service.ctx.db)).toEqual([{ found, concernsVault: false }])
        await service.lookAtCatalogue()
        await makeProject()
      } finally {
        await asOwner(undo)
      }
    })
  }
})

longTest(
  'while a table is locked the catalogue cannot be read, which delays no request and stops no vault',
  async () => {
    const makeProjects = () => Promise.all(Array.from({ length: 20 }, makeProject))
    const look = () =>
      service.lookAtCatalogue().then(
        () => 'read',
        () => 'not read',
      )
    const timed = async <Result>(act: () => Promise<Result>) => {
      const begun = performance.now()
      return { result: await act(), tookMs: performance.now() - begun }
    }
    await makeProjects()
    const usual = await timed(makeProjects)
    await using release = await holdTable(database.sql, 'cursors', 'access exclusive')
    const looking = timed(look)
    await untilWaiting(database.sql)
    const locked = await timed(makeProjects)
    const looked = await looking
    expect(looked.result).toBe('not read')
    // Otherwise as long as anybody waits for a lock, ten seconds; and so would requests behind it on its connection.
    for (const tookMs of [looked.tookMs, locked.tookMs - usual.tookMs]) expect(tookMs).toBeLessThan(6_000)
    await release()
    expect(await look()).toBe('read')
    await makeProject()
  },
)

longTest('a vault that could not read the catalogue for ten minutes opens no key until it has', async () => {
  await service.lookAtCatalogue()
  await makeProject()
  const now = performance.now.bind(performance)
  const later = (ms: number) => spyOn(performance, 'now').mockImplementation(() => now() + ms)
  const created = () =>
    makeProject().then(
      () => 'created',
      (error: Error) => error.message,
    )
  try {
    later(590_000)
    expect(await created()).toBe('created')
    later(601_000)
    expect(await created()).toMatch(/could not read the catalogue of the database for ten minutes/)
    await service.lookAtCatalogue()
    expect(await created()).toBe('created')
  } finally {
    mock.restore()
  }
})

test('what an operator may have of their own is no difference', async () => {
  expect(await catalogueDifferences(service.ctx.db)).toEqual([])
  await asOwner(`
    create schema reports;
    create function reports.now() returns timestamptz language sql as $$ select '2001-01-01'::timestamptz $$;
    create table public.notes (id int primary key, at timestamptz default now());
    create view public.wallet_numbers as select count(*) from wallets;
    create function public.note_count() returns bigint language sql as 'select count(*) from notes';
    create function pg_catalog.note_number() returns bigint language sql as 'select 1::bigint';
    create index notes_wallets on wallets (name);
    alter table wallets add column note text;
    alter table wallets add constraint short_note check (length(note) < 100);
    create publication replica for all tables;
    alter ${role} set statement_timeout = '20s';
    create function reports.ddl() returns event_trigger language plpgsql as 'begin end';
    create event trigger reports on ddl_command_end execute function reports.ddl()`)
  expect(await catalogueDifferences(service.ctx.db)).toEqual([])
})
