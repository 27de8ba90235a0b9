// Migrations of a database in use: what they wait for, whom they hold up, and what is left when they give up.

import { describe, expect, test } from 'bun:test'
import postgres from 'postgres'
import { migrate } from '../../db/migrate.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { holdTable, untilNobodyWaits, untilReadable, untilWaiting } from '../support/locks.ts'
import { longTest } from '../support/long.ts'
import { withMigrations } from '../support/migrations.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const network = 'Ethereum'

const chain = await shared(startChain(network))
const service = await shared(startService({ rpcUrls: { [network]: chain.rpcUrl } }))
const { sql } = service.database
const { address } = await service.newWallet({ network })
await chain.fund(address)
const wallet = address

const send = () =>
  service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: wallet,
    unsigned_transaction: { to: fundedAccount(5).address, value: '1' },
    developer_secret: 'testnet-secret',
  })

/** Runs `work` while a transaction is open that has read `audit`, as that of a dump. */
const underReader = async (work: () => Promise<void>): Promise<void> => {
  const reader = postgres(service.database.url, { max: 1, onnotice: () => {} })
  try {
    await reader.begin(async (tx) => {
      await tx`select from audit limit 1`
      await work()
    })
  } finally {
    await reader.end()
  }
}

/** Whatever a migration could make again, each with its identity. */
const objects = async (): Promise<readonly string[]> => {
  const rows = await sql<{ line: string }[]>`
    select 'relation ' || oid || ' ' || oid::regclass || ' ' || coalesce(relacl::text, '') as line from pg_class
      where relnamespace in ('public'::regnamespace, 'strongroom_views'::regnamespace, 'graphile_worker'::regnamespace)
    union all select 'trigger ' || oid from pg_trigger where not tgisinternal
    union all select 'policy ' || oid || ' ' || polname from pg_policy
    union all select 'function ' || proname || ' ' || xmin from pg_proc
      where pronamespace in ('public'::regnamespace, 'strongroom_views'::regnamespace)
    order by 1`
  return rows.map(({ line }) => line)
}

describe('a migration of a database that is up to date', () => {
  test('ends while a reader holds the audit, holds up no signature, and makes nothing again', async () => {
    const before = await objects()
    await underReader(async () => {
      const [, answer] = await Promise.all([migrate(service.database.url, { attemptsMax: 1 }), send()])
      expect(answer.json).toMatchObject({ status: 'submitted' })
    })
    expect(await objects()).toEqual(before)
  })

  test('makes again what somebody has dropped, and nothing else', async () => {
    const before = await objects()
    await sql`drop trigger append_only on audit`
    await sql`drop trigger keep_holdings_added on movements`
    await sql`revoke select on wallets from strongroom_api`
    expect((await send()).status).toBe(500)
    await migrate(service.database.url)
    expect((await send()).status).toBe(200)
    await expect(sql`delete from audit`).rejects.toThrow('append-only')
    expect(await sql`select from pg_trigger where tgname = 'keep_holdings_added'`).toHaveLength(1)
    const isOther = (line: string) =>
      !/^trigger|wallets|refuse_change|strongroom_drop_archived|keep_holdings/.test(line)
    expect((await objects()).filter(isOther)).toEqual(before.filter(isOther))
  })
})

describe('a migration of a database from before the baseline', () => {
  test('is refused with one sentence that says what to do, and changes nothing', async () => {
    const before = await objects()
    const [first] = await sql`select id, hash from drizzle.__drizzle_migrations order by id limit 1`
    await sql`update drizzle.__drizzle_migrations set hash = 'of before' where id = ${first?.id}`
    await expect(migrate(service.database.url)).rejects.toThrow(
      /^This database was made by .* use an empty database .*\.$/,
    )
    expect(await objects()).toEqual(before)
    await sql`update drizzle.__drizzle_migrations set hash = ${first?.hash} where id = ${first?.id}`
    await migrate(service.database.url)
  })
})

describe('a migration with changes', () => {
  longTest('gives up if a reader does not end, says why, and leaves nothing half done', async () => {
    const before = await objects()
    const migrationsFolder = await withMigrations(
      'create table public.earlier (id integer);--> statement-breakpoint\nalter table public.audit add column later text;',
    )
    await underReader(async () => {
      const migrated = migrate(service.database.url, { migrationsFolder, attemptsMax: 2, pauseMs: 100 })
      await expect(migrated).rejects.toThrow('no table of Strongroom was changed: another session kept a table locked')
      expect(await objects()).toEqual(before)
      expect((await send()).json).toMatchObject({ status: 'submitted' })
    })
    await migrate(service.database.url, { migrationsFolder })
    expect([...(await sql`select later from audit limit 1`)]).toEqual([{ later: null }])
    expect([...(await sql`select to_regclass('public.earlier') is not null as made`)]).toEqual([{ made: true }])
    expect((await send()).json).toMatchObject({ status: 'submitted' })
    await sql`drop table earlier`
    await sql`alter table audit drop column later`
  })

  longTest('is tried again automatically, and succeeds when the reader has ended', async () => {
    const migrationsFolder = await withMigrations('alter table public.audit add column in_the_end text;')
    let migrated: Promise<void> | null = null
    await underReader(async () => {
      migrated = migrate(service.database.url, { migrationsFolder, attemptsMax: 100, pauseMs: 500 })
      migrated.catch(() => {})
      await untilWaiting(sql)
      await untilNobodyWaits(sql)
      // It has given way. The next attempt begins while the reader is still there.
      await untilWaiting(sql)
    })
    await migrated
    expect([...(await sql`select in_the_end from audit limit 1`)]).toEqual([{ in_the_end: null }])
    await sql`alter table audit drop column in_the_end`
  })

  longTest('whose network is lost in the middle frees its locks within seconds, and has changed nothing', async () => {
    const proxy = await startTcpProxy(service.database.url)
    await using release = await holdTable(sql, 'passkeys')
    // The second statement waits, as long as the test takes, while the first one's lock keeps everybody from the audit.
    const migrationsFolder = await withMigrations(
      'set local lock_timeout = 0;--> statement-breakpoint\nalter table audit add column later text;--> statement-breakpoint\nlock table passkeys in exclusive mode;',
    )
    const migrated = migrate(proxy.url, { migrationsFolder }).then(
      () => null,
      (error: unknown) => error,
    )
    await untilWaiting(sql)
    proxy.freeze()
    await release()
    await untilReadable(sql, 'audit')
    expect((await send()).json).toMatchObject({ status: 'submitted' })
    expect(await sql`select from pg_attribute where attrelid = 'audit'::regclass and attname = 'later'`).toHaveLength(0)
    proxy.thaw()
    expect(isDatabaseAway(await migrated)).toBe(true)
    await proxy.stop()
  })

  test('makes indexes outside of a transaction, and again if that failed once', async () => {
    await sql`create table numbered (number integer)`
    await sql`insert into numbered values (1), (1)`
    const migrationsFolder = await withMigrations(
      'alter table numbered add constraint positive check (number > 0) not valid;',
      '-- outside of a transaction\ncreate unique index concurrently if not exists numbers on numbered (number);--> statement-breakpoint\nalter table numbered validate constraint positive;',
    )
    await expect(migrate(service.database.url, { migrationsFolder })).rejects.toThrow('unique index')
    const valid = () =>
      sql`select indisvalid as index, convalidated as constraint from pg_index, pg_constraint
        where indexrelid = to_regclass('public.numbers') and conname = 'positive'`
    expect([...(await valid())]).toEqual([{ index: false, constraint: false }])
    await sql`delete from numbered where ctid = (select min(ctid) from numbered)`
    // Others migrate at the same time: nobody waits in a way that the index waits for.
    await Promise.all([1, 2, 3].map(() => migrate(service.database.url, { migrationsFolder })))
    expect([...(await valid())]).toEqual([{ index: true, constraint: true }])
    await sql`drop table numbered`
  })
})
