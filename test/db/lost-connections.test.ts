// A connection to PostgreSQL breaks at every stage: while it opens, logs in, or waits for an answer. Whoever asked gets
// an error, and nothing else happens: an error without a listener, or a rejection that nobody awaits, would end the
// process, and fails these tests.

import { describe, expect, test } from 'bun:test'
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { type Db, openDb } from '../../db/client.ts'
import { EVENTS_CHANNEL } from '../../db/events.ts'
import { sumHoldings } from '../../db/holdings.ts'
import { migrate } from '../../db/migrate.ts'
import { isDatabaseAway } from '../../db/trouble.ts'
import { startPostgres } from '../../devnet/postgres.ts'
import { longTest } from '../support/long.ts'
import { askAfresh, connectToMortal } from '../support/mortal-postgres.ts'
import { byTcp, createDatabase, createDatabaseOn, startTestPostgres } from '../support/postgres.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

/** The server's login is about three pieces, and each answer one. */
const STAGES = [0, 1, 2, 3, 4, 5, 6]

/** Like a process that ends, and like one that is killed with something unread. */
const ENDS = {
  ends: (client: Socket) => client.destroy(),
  'is reset': (client: Socket) => client.resetAndDestroy(),
}

const database = await shared(createDatabase())

/**
 * A proxy whose first connection breaks instead of passing on the server's nth piece. From then on it refuses all, like
 * a dead server.
 */
const startFragile = async (stage: number, end: (client: Socket) => void) => {
  const target = byTcp(database.url)
  let isBroken = false
  const listener = createServer((client) => {
    const server = connect({ host: target.hostname, port: Number(target.port) })
    let pieces = 0
    const mayPass = (): boolean => {
      if (!isBroken && pieces < stage) return true
      isBroken = true
      listener.close()
      end(client)
      return false
    }
    for (const socket of [client, server]) socket.on('error', () => {})
    client.on('data', (bytes) => server.write(bytes))
    client.on('close', () => server.destroy())
    server.on('data', (bytes) => {
      pieces += 1
      if (mayPass()) client.write(bytes)
    })
    mayPass()
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const url = new URL(database.url)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as AddressInfo).port)
  return { url: url.href, isBroken: () => isBroken, stop: () => listener.close() }
}

const withDb = (ask: (db: Db) => Promise<unknown>) => async (url: string) => {
  const db = openDb({ url, maxConnections: 2, applicationName: 'fragile' })
  try {
    for (let turn = 0; turn < STAGES.length; turn += 1) await ask(db)
  } finally {
    await db.close({ timeoutSeconds: 2 })
  }
}

const KINDS: Record<string, (url: string) => Promise<unknown>> = {
  'statements outside of transactions': withDb((db) =>
    Promise.all([db.execute(sql`select 1`), db.execute(sql`select 2`), db.execute(sql`select 3`)]),
  ),
  'prepared statements': withDb((db) => Promise.all([db.prepared`select ${1}::int`, db.prepared`select ${2}::int`])),
  'a transaction': withDb((db) =>
    db.transaction((tx) => Promise.all([tx.execute(sql`select 1`), tx.execute(sql`select 2`)])),
  ),
  'a pool that is closed meanwhile': async (url) => {
    const db = openDb({ url, maxConnections: 2, applicationName: 'fragile' })
    const asked = Promise.all([db.execute(sql`select pg_sleep(0.02)`), db.prepared`select 1`])
    await Promise.all([asked, db.close({ timeoutSeconds: 2 })])
  },
  'the migration': migrate,
  'the sums of holdings': sumHoldings,
  "a test's own connections": async (url) => {
    const test = connectToMortal(url)
    try {
      for (let turn = 0; turn < STAGES.length; turn += 1) await test`select 1`
    } finally {
      await test.end({ timeout: 0 })
    }
  },
}

describe.each(Object.entries(KINDS))('%s', (_, use) => {
  test.each(Object.entries(ENDS))('fail cleanly when a connection %s, at every stage', async (_, end) => {
    await Promise.all(
      STAGES.map(async (stage) => {
        const fragile = await startFragile(stage, end)
        const outcome = await use(fragile.url).then(
          () => 'no error',
          (error: unknown) => error,
        )
        if (fragile.isBroken()) expect(outcome).toBeInstanceOf(Error)
        else fragile.stop()
      }),
    )
  })
})

longTest('what a lost host owes fails within seconds, and nothing more is sent to it', async () => {
  const proxy = await startTcpProxy(database.url)
  const db = openDb({ url: proxy.url, maxConnections: 3, applicationName: 'silent' })
  const near = openDb({ url: database.url, maxConnections: 1, applicationName: 'slow' })
  const ask = () => db.execute(sql`select 1`)
  const hear = () => new Promise<void>((resolve) => db.eventNotices.subscribe(async () => resolve()))
  const lost = (asked: Promise<unknown>) => asked.catch(isDatabaseAway)
  try {
    await Promise.all([ask(), ask(), ask(), db.prepared`select 1`, hear()])
    proxy.silence()
    // They were used a moment ago, so nobody asks whether their host is there.
    const sent = [lost(ask()), lost(db.transaction((tx) => tx.execute(sql`select 1`)))]
    const slow = near.execute(sql`select pg_sleep(5)`)
    expect(await Promise.all(sent)).toEqual([true, true])
    // All others have been silent for longer.
    await Promise.all([ask(), db.prepared`select 1`, db.transaction((tx) => tx.execute(sql`select 1`))])
    const heard = hear()
    await near.execute(sql`select pg_notify(${EVENTS_CHANNEL}, '')`)
    await Promise.all([heard, slow])
  } finally {
    await proxy.stop()
    await Promise.all([db.close({ timeoutSeconds: 2 }), near.close({ timeoutSeconds: 2 })])
  }
})

test("a test's question is answered although the session before was ended within a question", async () => {
  const [test, other] = [connectToMortal(database.url), connectToMortal(database.url)]
  try {
    const sleeping = test`select pg_sleep(60)`.then(
      () => 'slept',
      () => 'ended',
    )
    const endIt = () => other`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query = 'select pg_sleep(60)'`
    while ((await endIt()).length === 0);
    expect(await sleeping).toBe('ended')
    // One on each of its connections.
    const asked = [1, 2].map((number) => askAfresh(() => test`select ${number}::int as number`))
    expect((await Promise.all(asked)).map(([row]) => row?.number)).toEqual([1, 2])
  } finally {
    await Promise.all([test.end({ timeout: 0 }), other.end({ timeout: 0 })])
  }
})

longTest('the API and the vault report PostgreSQL as unavailable while its Unix socket is missing', async () => {
  // Others than this user enter it, and a socket's path has at most 107 bytes.
  const folder = await mkdtemp('/tmp/strongroom-socket-')
  await chmod(folder, 0o777)
  const [dataDirectory, options] = [
    join(folder, 'data'),
    { durable: false, settings: { unix_socket_directories: folder } },
  ]
  let server = await startTestPostgres(dataDirectory, options)
  const bySocket = (url: string) => `${url}?host=${folder}`
  const { apiUrl, vaultUrl, ...owner } = await createDatabaseOn(server.url)
  const service = await startService({
    database: { ...owner, apiUrl: bySocket(apiUrl), vaultUrl: bySocket(vaultUrl) },
  })
  const AWAY = { code: 'unavailable', message: expect.stringContaining('The database was unavailable') }
  const wallets = () => service.get('/wallets', { network: 'Polkadot' })
  try {
    expect((await wallets()).status).toBe(200)
    await server.stop()
    expect((await readdir(folder)).filter((name) => name.startsWith('.s.PGSQL'))).toEqual([])
    expect(await wallets()).toMatchObject({ status: 503, json: { code: 'unavailable' } })
    await expect(service.ctx.vault.status()).rejects.toMatchObject(AWAY)
    server = await startPostgres({ dataDirectory, ...options, port: server.port })
    expect((await wallets()).status).toBe(200)
  } finally {
    await service.close()
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
})
