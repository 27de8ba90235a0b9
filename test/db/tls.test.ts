// PostgreSQL by TLS, with a certificate authority of its own: each sslmode means what it means to libpq, in every pool.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import pg from 'pg'
import { openDb, poolConfig } from '../../db/client.ts'
import { type PostgresServer, startPostgres } from '../../devnet/postgres.ts'
import { certificatesIn } from '../support/certificates.ts'

let folder: string
let server: PostgresServer
let at: (name: string) => string

/** Who may connect; the first line that fits decides. */
const RULES = `
hostssl all demanding 127.0.0.1/32 cert
hostssl all all 127.0.0.1/32 scram-sha-256
`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-tls-'))
  // PostgreSQL may run as another user here, who must own its key.
  await chmod(folder, 0o755)
  const made = certificatesIn(folder)
  at = made.at
  made.authority('ours')
  made.authority('other')
  await made.certificate('server', { names: 'DNS:localhost', commonName: 'localhost' })
  await made.certificate('client', { commonName: 'demanding' })
  if (process.getuid?.() === 0) await chown(at('server.key'), 65534, 65534)
  await writeFile(at('rules'), RULES, { mode: 0o644 })
  server = await startPostgres({
    dataDirectory: at('data'),
    durable: false,
    settings: {
      ssl: 'on',
      ssl_key_file: at('server.key'),
      ssl_cert_file: at('server.crt'),
      ssl_ca_file: at('ours.crt'),
      hba_file: at('rules'),
    },
  })
})

afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true })
})

const urlWith = (query: string, changes: { readonly host?: string; readonly user?: string } = {}): string => {
  const url = new URL(server.url)
  url.hostname = changes.host ?? 'localhost'
  url.username = changes.user ?? url.username
  return `${url.href}?${query}`
}

const QUESTION = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'

const POOLS = {
  'the pool of a process': async (url: string) => {
    const db = openDb({ url, maxConnections: 1, applicationName: 'tls' })
    try {
      return (await db.execute(sql.raw(QUESTION))).rows
    } finally {
      await db.close({ timeoutSeconds: 5 })
    }
  },
  'the pool of the job queue': async (url: string) => {
    const pool = new pg.Pool(poolConfig({ url, maxConnections: 1, applicationName: 'tls' }))
    pool.on('error', () => {})
    pool.on('connect', (client) => client.on('error', () => {}))
    try {
      return (await pool.query(QUESTION)).rows
    } finally {
      await pool.end()
    }
  },
} as const

describe.each(Object.keys(POOLS) as (keyof typeof POOLS)[])('%s', (name) => {
  const connects = async (url: string) => expect(await POOLS[name](url)).toEqual([{ ssl: true }])
  const refuses = async (url: string) => {
    const outcome = await POOLS[name](url).then(
      () => 'connected',
      (error: unknown) => error,
    )
    expect(outcome).toBeInstanceOf(Error)
  }

  test('takes a certificate of the right authority', async () => {
    for (const mode of ['verify-full', 'verify-ca', 'require']) {
      await connects(urlWith(`sslmode=${mode}&sslrootcert=${at('ours.crt')}`))
    }
  })

  test('refuses one of another authority, and of one that nobody knows', async () => {
    for (const mode of ['verify-full', 'verify-ca', 'require']) {
      await refuses(urlWith(`sslmode=${mode}&sslrootcert=${at('other.crt')}`))
    }
    await refuses(urlWith('sslmode=verify-full'))
  })

  test('refuses the wrong host only where the host counts', async () => {
    const host = '127.0.0.1'
    await refuses(urlWith(`sslmode=verify-full&sslrootcert=${at('ours.crt')}`, { host }))
    await connects(urlWith(`sslmode=verify-ca&sslrootcert=${at('ours.crt')}`, { host }))
  })

  test('verifies nothing where no authority is named and the mode does not ask for it', async () => {
    for (const mode of ['require', 'prefer', 'allow']) await connects(urlWith(`sslmode=${mode}`))
  })

  test('sends nothing without TLS unless it is told to', async () => {
    await refuses(urlWith('sslmode=disable'))
  })

  test('shows its own certificate where the server asks for one', async () => {
    const query = `sslmode=verify-full&sslrootcert=${at('ours.crt')}`
    const admin = new pg.Client({ connectionString: urlWith(query) })
    admin.on('error', () => {})
    await admin.connect()
    await admin.query('drop role if exists demanding')
    await admin.query('create role demanding login')
    await admin.end()
    await refuses(urlWith(query, { user: 'demanding' }))
    await connects(urlWith(`${query}&sslcert=${at('client.crt')}&sslkey=${at('client.key')}`, { user: 'demanding' }))
  })
})
