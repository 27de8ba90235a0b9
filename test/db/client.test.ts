import { describe, expect, test } from 'bun:test'
import { type AddressInfo, connect, createServer } from 'node:net'
import { sql } from 'drizzle-orm'
import pg from 'pg'
import postgres from 'postgres'
import { EndingClient, openDb, poolConfig, type Queryable } from '../../db/client.ts'
import { projects } from '../../db/schema.ts'
import { isDatabaseAway, isFaultOfDatabase } from '../../db/trouble.ts'
import { describeDatabaseFailure } from '../../src/platform/environment/failure.ts'
import { describeError } from '../../src/platform/http/failure.ts'
import { longTest, someOf } from '../support/long.ts'
import { byTcp, createDatabase } from '../support/postgres.ts'
import { startService } from '../support/service.ts'

const CUTS = 10
const PARALLEL = 16
const NAME = 'strongroom-cut'

/** Ends every connection of the pool under test, like a restart or a fail-over of the server. */
const cutter = (url: string) => {
  const admin = postgres(url, { max: 1 })
  return {
    cut: () => admin`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = ${NAME}`,
    admin,
  }
}

describe('a function to run after a commit', () => {
  const open = async () => {
    const database = await createDatabase()
    const db = openDb({ url: database.url, maxConnections: 2, applicationName: NAME })
    await db.execute(sql`create table numbers (n int unique deferrable initially deferred)`)
    return { db, close: () => db.close({ timeoutSeconds: 2 }).then(database.close) }
  }

  test('runs in order, when others can read the rows', async () => {
    const { db, close } = await open()
    const done: string[] = []
    const readers: Promise<{ readonly rows: readonly unknown[] }>[] = []
    await db.transaction(async (tx) => {
      tx.afterCommit(() => done.push('first'))
      await tx.execute(sql`insert into numbers values (1)`)
      tx.afterCommit(() => done.push('second'))
      tx.afterCommit(() => readers.push(db.execute(sql`select n from numbers`)))
      expect(done).toEqual([])
    })
    expect(done).toEqual(['first', 'second'])
    expect((await Promise.all(readers)).map(({ rows }) => rows)).toEqual([[{ n: 1 }]])
    await close()
  })

  test('does not run if the transaction is rolled back, by an error or by a failed commit', async () => {
    const { db, close } = await open()
    const done: string[] = []
    const thrown = db.transaction(async (tx) => {
      await tx.execute(sql`insert into numbers values (1)`)
      tx.afterCommit(() => done.push('thrown'))
      throw new Error('undone')
    })
    await expect(thrown).rejects.toThrow('undone')
    const refused = db.transaction(async (tx) => {
      // Uniqueness is only checked at the commit.
      await tx.execute(sql`insert into numbers values (2), (2)`)
      tx.afterCommit(() => done.push('refused'))
    })
    await expect(refused).rejects.toThrow()
    expect(done).toEqual([])
    await db.transaction(async (tx) => tx.afterCommit(() => done.push('the next one')))
    expect(done).toEqual(['the next one'])
    await close()
  })
})

describe('the owner of the database cannot change what a statement means', () => {
  const FALSE_NOW = '2001-01-01T00:00:00.000Z'
  const open = async () => {
    const database = await createDatabase()
    const owner = postgres(database.url, { max: 1 })
    await owner.unsafe(`
      create schema ev;
      grant usage on schema ev to public;
      create function ev.now() returns timestamptz language sql as $$ select '${FALSE_NOW}'::timestamptz $$;
      alter role strongroom_test_vault in database ${database.name} set search_path = ev, pg_catalog, public;
      alter role strongroom_test_vault in database ${database.name} set row_security = on;`)
    const db = openDb({ url: database.vaultUrl, maxConnections: 1, applicationName: NAME })
    const close = async () => {
      await db.close({ timeoutSeconds: 2 })
      await owner.end()
      await database.close()
    }
    return { db, database, owner, close }
  }

  test('by a search path of the role, or by a temporary table', async () => {
    const { db, database, close } = await open()
    const plain = postgres(byTcp(database.vaultUrl).href, { max: 1 })
    const [seen] = await plain<{ now: Date }[]>`select now()`
    await plain.end()
    expect(seen?.now.toISOString()).toBe(FALSE_NOW)
    const years = await Promise.all([
      db.execute<{ year: number }>(sql`select extract(year from now())::int as year`).then(({ rows }) => rows[0]),
      db.prepared<{ year: number }>`select extract(year from now())::int as year`.then((rows) => rows[0]),
    ])
    for (const row of years) expect(row?.year).toBeGreaterThan(2001)
    await db.transaction(async (tx) => {
      await tx.execute(sql`create temporary table audit (planted int)`)
      const { fields } = await tx.execute(sql`select * from audit`)
      expect(fields.map(({ name }) => name)).toContain('mac')
    })
    await close()
  })

  test('by hiding rows: the statement fails', async () => {
    const { db, owner, close } = await open()
    await owner`alter table audit enable row level security`
    await owner`create policy seen on audit to strongroom_vault using (current_query() not like '%count%')`
    const failure = await db.execute(sql`select count(*) from audit`).then(
      () => null,
      (error: unknown) => error,
    )
    expect(describeDatabaseFailure(failure)).toBe(
      'Somebody has switched on row-level security for "audit", which would hide its rows: switch it off (alter table … disable row level security), and find out who did that.',
    )
    await close()
  })
})

describe('when the connections are cut under load', () => {
  longTest(
    'each query and transaction ends, with its own result or an error, and the pool goes on',
    async () => {
      const database = await createDatabase()
      const { admin, cut } = cutter(database.url)
      await admin`create table pairs (n int not null)`
      await admin`grant all on pairs to public`
      const db = openDb({ url: database.apiUrl, maxConnections: 4, applicationName: NAME })
      const errors: unknown[] = []
      let [next, done, stopping] = [0, 0, false]
      const one = async (n: number): Promise<void> => {
        const [row] = await db.prepared<{ n: number }>`select ${n}::int as n`
        expect(row?.n).toBe(n)
        await db.transaction(async (tx) => {
          await tx.execute(sql`select ${n}::int`)
          const insert = () => tx.execute(sql`insert into pairs values (${n})`)
          await Promise.all([insert(), insert()])
        })
        done += 1
      }
      const load = async (): Promise<void> => {
        while (!stopping) await one(next++).catch((error: unknown) => errors.push(error))
      }
      try {
        const loads = Array.from({ length: PARALLEL }, load)
        for (let cuts = 0; cuts < CUTS; cuts += 1) {
          // Some succeed between two cuts, even on a slow machine.
          const before = done
          while (done === before) await Bun.sleep(50)
          await cut()
        }
        stopping = true
        // A lost query would block its loop here for ever.
        await Promise.all(loads)
        await Promise.all(Array.from({ length: PARALLEL }, () => one(next++)))
        expect(errors.length).toBeGreaterThan(0)
        expect(errors.filter((error) => !isDatabaseAway(error))).toEqual([])
        const halves = await admin`select n from pairs group by n having count(*) <> 2`
        expect([...halves]).toEqual([])
      } finally {
        stopping = true
        await db.close({ timeoutSeconds: 1 })
        await admin.end()
        await database.close()
      }
    },
    20_000,
  )
})

describe('more statements than connections', () => {
  const open = async (maxConnections: number) => {
    const database = await createDatabase()
    const db = openDb({ url: database.apiUrl, maxConnections, applicationName: NAME })
    return { db, close: () => db.close({ timeoutSeconds: 2 }).then(database.close) }
  }
  const quotient = async (db: Queryable, n: number) => {
    const { rows } = await db.execute<{ n: number }>(sql`select 12 / (${n}::int % 7) as n`)
    return rows[0]?.n
  }

  test('each has its own result, and one that fails fails alone', async () => {
    const { db, close } = await open(2)
    const numbers = Array.from({ length: 200 }, (_, n) => n)
    const results = await Promise.allSettled(numbers.map((n) => quotient(db, n)))
    const wrong = numbers.filter((n) => {
      const result = results[n]
      const right = n % 7 === 0 ? undefined : Math.floor(12 / (n % 7))
      return right === undefined
        ? result?.status !== 'rejected'
        : result?.status !== 'fulfilled' || result.value !== right
    })
    expect(wrong).toEqual([])
    await close()
  })

  longTest('a transaction gets a connection, although statements never stop', async () => {
    const { db, close } = await open(1)
    let isOver = false
    // Of different lengths, so that their answers do not come together.
    const load = async (_: unknown, index: number): Promise<void> => {
      while (!isOver) await db.execute(sql`select pg_sleep(${index / 1_000}::float)`)
    }
    const loads = Array.from({ length: PARALLEL }, load)
    // Behind the others, so that they have the connection.
    await quotient(db, 1)
    const inTransaction = await db
      .transaction((tx) => quotient(tx, 1))
      .finally(() => {
        isOver = true
      })
    expect(inTransaction).toBe(12)
    await Promise.all(loads)
    await close()
  })
})

describe('a transaction', () => {
  const SIDEWAYS = { accessMode: 'sideways' as never }

  test('that could not begin does nothing and gives its connection back, and one whose connection was cut its place', async () => {
    const database = await createDatabase()
    const db = openDb({ url: database.apiUrl, maxConnections: 1, applicationName: NAME })
    const read = (tx: Queryable) => tx.select({ name: projects.name }).from(projects)
    const write = (tx: Queryable) => tx.execute(sql`insert into projects (name) values ('Lost')`)
    try {
      for (const work of [
        async (tx: Queryable) => void (await read(tx)),
        async (tx: Queryable) => void (await write(tx)),
        async (tx: Queryable) => void (await Promise.all([read(tx), write(tx)])),
        async (tx: Queryable) => void (await Promise.all([write(tx), read(tx)])),
        async (tx: Queryable) => void (await read(tx).catch(() => write(tx))),
      ]) {
        await expect(db.transaction(work, SIDEWAYS)).rejects.toMatchObject({ cause: { code: '42601' } })
        expect(await db.transaction(read)).toEqual([])
      }
      expect(await db.transaction(async () => 'done')).toBe('done')
      const cut = db.transaction((tx) => tx.execute(sql`select pg_terminate_backend(pg_backend_pid())`))
      expect(isDatabaseAway(await cut.catch((error: unknown) => error))).toBe(true)
      expect(await db.transaction(async () => 'done')).toBe('done')
    } finally {
      await db.close({ timeoutSeconds: 1 })
      await database.close()
    }
  })

  test('runs its statements in their order, whatever the first one is', async () => {
    const database = await createDatabase()
    const db = openDb({ url: database.url, maxConnections: 1, applicationName: NAME })
    const names = (tx: Queryable) => tx.select({ name: projects.name }).from(projects)
    const rename = (tx: Queryable, name: string) => tx.update(projects).set({ name }).returning({ name: projects.name })
    try {
      await db.execute(sql`insert into projects (name) values ('one')`)
      const writeFirst = await db.transaction((tx) => Promise.all([rename(tx, 'two'), names(tx)]))
      expect(writeFirst).toEqual([[{ name: 'two' }], [{ name: 'two' }]])
      const readFirst = await db.transaction((tx) => Promise.all([names(tx), rename(tx, 'three'), names(tx)]))
      expect(readFirst).toEqual([[{ name: 'two' }], [{ name: 'three' }], [{ name: 'three' }]])
    } finally {
      await db.close({ timeoutSeconds: 1 })
      await database.close()
    }
  })

  test('begins in one message with what it reads first', async () => {
    const database = await createDatabase()
    const target = byTcp(database.apiUrl)
    const port = Number(target.port)
    let messages = 0
    const proxy = createServer((client) => {
      const server = connect(port, '127.0.0.1')
      client.on('data', () => {
        messages += 1
      })
      client.pipe(server).pipe(client)
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    target.port = String((proxy.address() as AddressInfo).port)
    const db = openDb({ url: target.href, maxConnections: 1, applicationName: NAME })
    const count = async (work: (tx: Queryable) => Promise<unknown>): Promise<number> => {
      // Each statement is prepared by then.
      await db.transaction(work)
      messages = 0
      await db.transaction(work)
      return messages
    }
    try {
      const read = (tx: Queryable) => tx.select({ name: projects.name }).from(projects)
      const write = (tx: Queryable) => tx.execute(sql`insert into projects (name) values ('One')`)
      expect(await count((tx) => Promise.all([read(tx), read(tx)]))).toBe(2)
      expect(await count(write)).toBe(3)
      expect(await count(async () => null)).toBe(0)
    } finally {
      await db.close({ timeoutSeconds: 1 })
      proxy.close()
      await database.close()
    }
  })
})

describe('a statement', () => {
  test('that fails makes its transaction fail, even if its error was caught, unless a savepoint undid it', async () => {
    const database = await createDatabase()
    const db = openDb({ url: database.apiUrl, maxConnections: 1, applicationName: NAME })
    try {
      const swallowed = db.transaction(async (tx) => {
        await tx.execute(sql`insert into projects (name) values ('Lost')`)
        await tx.execute(sql`select 1 / 0`).catch(() => null)
        return 'done'
      })
      await expect(swallowed).rejects.toMatchObject({ cause: { code: '22012' } })
      const undoneInPart = db.transaction(async (tx) => {
        await tx.execute(sql`insert into projects (name) values ('Kept')`)
        await tx.transaction((inner) => inner.execute(sql`select 1 / 0`)).catch(() => null)
        return 'done'
      })
      expect(await undoneInPart).toBe('done')
      expect((await db.execute(sql`select name from projects`)).rows).toEqual([{ name: 'Kept' }])
    } finally {
      await db.close({ timeoutSeconds: 1 })
      await database.close()
    }
  })

  test('that is sent after the end of its transaction is refused, and reaches no other transaction', async () => {
    const database = await createDatabase()
    const db = openDb({ url: database.apiUrl, maxConnections: 1, applicationName: NAME })
    try {
      const failed = Promise.withResolvers<void>()
      const late = Promise.withResolvers<unknown>()
      const first = db.transaction(async (tx) => {
        const slow = failed.promise.then(() => tx.execute(sql`select 1`))
        slow.then(late.resolve, late.resolve)
        await tx.execute(sql`select 1 / 0`)
      })
      await expect(first).rejects.toMatchObject({ cause: { code: '22012' } })
      await db.transaction(async (tx) => {
        failed.resolve()
        expect(await late.promise).toMatchObject({ cause: { message: expect.stringContaining('is over') } })
        await tx.execute(sql`select 1`)
      })
    } finally {
      await db.close({ timeoutSeconds: 1 })
      await database.close()
    }
  })

  test('is prepared once per connection if it is short, also in a transaction, but not if it contains a list', async () => {
    const database = await createDatabase()
    const db = openDb({ url: database.apiUrl, maxConnections: 1, applicationName: NAME })
    const ask = (tx: Queryable, numbers: readonly number[]) =>
      tx.execute(
        sql`select ${sql.join(
          numbers.map((number) => sql`${number}::int`),
          sql` + `,
        )} as mine`,
      )
    try {
      const kept = () => sql`select from pg_prepared_statements where statement like '% as mine'`
      const inTransaction = await db.transaction(async (tx) => {
        for (let times = 0; times < 3; times += 1) {
          expect((await ask(tx, [1, 2])).rows).toEqual([{ mine: 3 }])
          expect((await ask(tx, Array(200).fill(1))).rows).toEqual([{ mine: 200 }])
        }
        return tx.execute(kept())
      })
      expect(inTransaction.rows).toHaveLength(1)
      await ask(db, [1, 2])
      expect((await db.execute(kept())).rows).toHaveLength(1)
    } finally {
      await db.close({ timeoutSeconds: 1 })
      await database.close()
    }
  })
})

test('a prepared statement has the same name on each connection, in whatever order they are sent', async () => {
  const database = await createDatabase()
  const texts = ['select 1 as mine', 'select 2 as mine']
  const namesOf = async (order: readonly string[]) => {
    const db = openDb({ url: database.apiUrl, maxConnections: 1, applicationName: NAME })
    for (const text of order) await db.execute(sql.raw(text))
    const { rows } = await db.execute(
      sql`select statement, name from pg_prepared_statements where statement like '% as mine' order by statement`,
    )
    await db.close({ timeoutSeconds: 1 })
    return rows
  }
  const names = await namesOf(texts)
  expect(names).toHaveLength(2)
  expect(await namesOf(texts.toReversed())).toEqual(names)
  await database.close()
})

describe('whether the database is away', () => {
  const failing = (code: string) => Object.assign(new Error('x'), { code })

  test("is detected by the error's code, also in a nested cause", () => {
    for (const code of ['08006', '57P01', '57P04', '57P05', '25P04', '25006', '53300', 'ECONNRESET', 'ECONNREFUSED']) {
      expect(isDatabaseAway(new Error('Failed query', { cause: failing(code) }))).toBe(true)
    }
    for (const message of ['Connection terminated unexpectedly', 'timeout exceeded when trying to connect']) {
      expect(isDatabaseAway(new Error('Failed query', { cause: new Error(message) }))).toBe(true)
    }
  })

  test.each([
    ['no network', { code: 'ENETUNREACH', syscall: 'connect', address: '10.0.0.1', port: 5432 }, true],
    ['a network that is down', { code: 'ENETDOWN', syscall: 'connect', address: '10.0.0.1', port: 5432 }, true],
    ['no name server', { code: 'EAI_AGAIN', syscall: 'getaddrinfo', hostname: 'db.example.org' }, true],
    ['no socket', { code: 'ENOENT', syscall: 'connect', address: '/run/postgresql/.s.PGSQL.5432' }, true],
    ['a closed socket', { code: 'EACCES', syscall: 'connect', address: '/run/postgresql/.s.PGSQL.5432' }, true],
    ['a firewall', { code: 'EPERM', syscall: 'connect', address: '10.0.0.1', port: 5432 }, true],
    [
      'no socket of a vault',
      { code: 'ENOENT', syscall: 'connect', address: '/run/strongroom-vault/vault.sock' },
      false,
    ],
    ['no file', { code: 'ENOENT', syscall: 'open', path: '/run/postgresql/.s.PGSQL.5432' }, false],
    ['a closed file', { code: 'EACCES', syscall: 'open', path: '/etc/strongroom/root.key' }, false],
  ])('is recognised by the error of the system: %s', (_what, error, isAway) => {
    expect(isDatabaseAway(new Error('Failed query', { cause: Object.assign(new Error('x'), error) }))).toBe(isAway)
  })

  test('is not assumed for a statement that the database refused', () => {
    for (const code of ['23505', '42501', '22P02', 'UNDEFINED_VALUE']) {
      expect(isDatabaseAway(new Error('Failed query', { cause: failing(code) }))).toBe(false)
    }
    expect(isDatabaseAway(new Error('x'))).toBe(false)
    expect(isDatabaseAway(null)).toBe(false)
  })
})

describe('a database that cannot do its work', () => {
  const BUSY = {
    status: 503,
    body: { code: 'busy', error: expect.stringContaining('took too long; nothing was done') },
  }
  const FULL = {
    status: 503,
    body: { code: 'unavailable', error: expect.stringContaining('has no space or memory left') },
  }

  const CAUSES = [
    ['a lock takes too long', '55P03', sql`set local lock_timeout = '20ms'`, sql`lock table wallets`, BUSY],
    ['a statement takes too long', '57014', sql`set local statement_timeout = '20ms'`, sql`select pg_sleep(60)`, BUSY],
    ['it lost a race', '40001', sql`select 1`, sql`do $$ begin raise sqlstate '40001'; end $$`, BUSY],
    ['it was in a deadlock', '40P01', sql`select 1`, sql`do $$ begin raise sqlstate '40P01'; end $$`, BUSY],
    ['the disk is full', '53100', sql`select 1`, sql`do $$ begin raise sqlstate '53100'; end $$`, FULL],
  ] as const

  test.each(someOf(CAUSES, 2))(
    'because %s says so to the caller, and has done nothing',
    async (_why, code, limit, statement, told) => {
      const database = await createDatabase()
      const admin = postgres(database.url, { max: 1, onnotice: () => {} })
      const db = openDb({ url: database.url, maxConnections: 1, applicationName: NAME })
      const held = await admin.reserve()
      try {
        await held`begin`
        await held`lock table wallets`
        const failed = db.transaction(async (tx) => {
          await tx.execute(sql`insert into projects (name) values ('Lost')`)
          await tx.execute(limit)
          await tx.execute(statement)
        })
        const error = await failed.catch((thrown: unknown) => thrown)
        expect(error).toMatchObject({ cause: { code } })
        expect(describeError(error)).toMatchObject(told)
        expect((await db.execute(sql`select from projects`)).rows).toEqual([])
      } finally {
        held.release()
        await admin.end()
        await db.close({ timeoutSeconds: 1 })
        await database.close()
      }
    },
  )

  const FAULTS = [
    ['a value that no column takes', sql`select 1 / 0`, false],
    ['a constraint', sql`insert into wallets default values`, false],
    ['a table that is gone', sql`select from no_such_table`, true],
    ['a lost race', sql`do $$ begin raise sqlstate '40001'; end $$`, true],
  ] as const

  test.each(someOf(FAULTS, 2))('is told from the fault of one row: %s', async (_why, statement, isFault) => {
    const database = await createDatabase()
    const db = openDb({ url: database.url, maxConnections: 1, applicationName: NAME })
    try {
      const error = await db.execute(statement).catch((thrown: unknown) => thrown)
      expect([error instanceof Error, isFaultOfDatabase(error)]).toEqual([true, isFault])
    } finally {
      await db.close({ timeoutSeconds: 1 })
      await database.close()
    }
  })

  longTest('refuses a request that waits too long for a lock as busy, and has done nothing', async () => {
    const database = await createDatabase()
    // Of the URL, as ten seconds are long here.
    const service = await startService({ database, variables: { DATABASE_URL: `${database.apiUrl}?lock_timeout=200` } })
    const admin = postgres(database.url, { max: 2, onnotice: () => {} })
    const body = { network: 'Polkadot', name: 'W', control_mode: 'developer', developer_secret: 'testnet-secret' }
    const count = async () => (await admin`select count(*)::int from wallets`)[0]?.count
    const before = await count()
    const held = await admin.reserve()
    try {
      await held`begin`
      await held`lock table wallets in exclusive mode`
      expect(await service.post('/wallets', body)).toMatchObject({ status: 503, json: { code: 'busy' } })
      await held`commit`
      held.release()
      expect(await count()).toBe(before)
      expect((await service.post('/wallets', body)).status).toBe(200)
    } finally {
      await admin.end()
      await service.close()
    }
  })
})

describe('a client that is given back to the pool without an error', () => {
  const loseConnection = async (pool: pg.Pool): Promise<{ readonly code: string; readonly idle: number }> => {
    const client = await pool.connect()
    client.on('error', () => {})
    const failure = await client
      .query('select pg_terminate_backend(pg_backend_pid())')
      .catch((error: { readonly code: string }) => error)
    client.release()
    return { code: 'code' in failure ? failure.code : '', idle: pool.idleCount }
  }

  test('is not handed out again if it has lost its connection', async () => {
    const database = await createDatabase()
    const config = poolConfig({ url: database.url, maxConnections: 2, applicationName: NAME })
    const pool = new pg.Pool({ ...config, Client: EndingClient })
    pool.on('error', () => {})
    for (let each = 0; each < 5; each += 1) {
      expect(await loseConnection(pool)).toEqual({ code: '57P01', idle: 0 })
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    }
    await pool.end()
    await database.close()
  })

  test('is kept after an error of the statement alone', async () => {
    const database = await createDatabase()
    const config = poolConfig({ url: database.url, maxConnections: 2, applicationName: NAME })
    const pool = new pg.Pool({ ...config, Client: EndingClient })
    const client = await pool.connect()
    expect(client.query('select nonsense')).rejects.toThrow('does not exist')
    await client.query('select 1')
    client.release()
    expect(pool.idleCount).toBe(1)
    await pool.end()
    await database.close()
  })
})
