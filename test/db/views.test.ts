// The operators' views have descriptions, are readable for viewers, and show no secrets.

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import postgres, { type Sql } from 'postgres'
import { migrate } from '../../db/migrate.ts'
import { longTest } from '../support/long.ts'
import { createDatabase } from '../support/postgres.ts'
import { shared } from '../support/shared.ts'

const database = await shared(createDatabase({ withNetworks: true }))
const owner = database.sql

type Described = { readonly view: string; readonly column: string; readonly comment: string | null }

const describedColumns = (sql: Sql) => sql<Described[]>`
  select c.relname as view, a.attname as column, col_description(c.oid, a.attnum) as comment
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
  where c.relnamespace = 'strongroom_views'::regnamespace and c.relkind = 'v' order by c.relname, a.attnum`

const viewNames = async () => [...new Set((await describedColumns(owner)).map(({ view }) => view))]

/** Runs as a new login user, who is removed afterwards. */
const as = async (options: string, work: (sql: Sql, name: string) => Promise<void>): Promise<void> => {
  const name = `somebody_${crypto.randomUUID().replaceAll('-', '')}`
  await owner.unsafe(`create role ${name} login password 'test' ${options}`)
  const url = new URL(database.url)
  ;[url.username, url.password] = [name, 'test']
  const sql = postgres(url.href, { max: 1, onnotice: () => {} })
  try {
    await work(sql, name)
  } finally {
    await sql.end()
    await owner.unsafe(`reassign owned by ${name} to current_user; drop owned by ${name}; drop role ${name}`)
  }
}

describe('the views', () => {
  test('have a description for each view and column, and the documentation has them too', async () => {
    const columns = await describedColumns(owner)
    expect(await viewNames()).toEqual([
      ...['attempts', 'backfills', 'jobs', 'late_transactions', 'lowest_waiting', 'signers', 'transactions', 'workers'],
    ])
    expect(columns.filter(({ comment }) => comment === null || comment.length < 5)).toEqual([])
    const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
    expect((await viewNames()).filter((view) => !page.includes(`\n### \`strongroom_views.${view}\`\n`))).toEqual([])
    expect(columns.filter(({ column, comment }) => !page.includes(`\n| \`${column}\` | ${comment} |\n`))).toEqual([])
  })

  test('show only causes that the documentation explains', () => {
    const views = readFileSync(new URL('../../db/views.sql', import.meta.url), 'utf8')
    const page = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')
    const [, words = ''] = /cross join lateral \(\n {2}select case\n(.*?)end as word\n/s.exec(views) ?? []
    const causes = [...words.matchAll(/(?:then|else) '([a-z_]+)'/g)].map(([, cause]) => cause)
    expect(causes.length).toBe(15)
    expect(causes.filter((cause) => !page.includes(`\n| \`${cause}\` | `))).toEqual([])
  })

  test('can be read by a viewer, who can read no table and change nothing', () =>
    as('in role strongroom_viewer', async (viewer) => {
      for (const view of await viewNames()) await viewer.unsafe(`select * from strongroom_views.${view}`)
      const denied = (query: string) =>
        expect(viewer.unsafe(query).then(() => 'allowed')).rejects.toMatchObject({ code: '42501' })
      for (const table of ['transactions', 'ladders', 'keyrings', 'audit']) await denied(`select from public.${table}`)
      await denied('select from graphile_worker.jobs')
      await denied('delete from strongroom_views.workers')
      await denied('select public.retry_strongroom_jobs(array[1])')
    }))

  test('contain neither signed bytes nor payloads of jobs', async () => {
    const names = (await describedColumns(owner)).map(({ column }) => column)
    expect(names.filter((name) => ['raw', 'payload', 'sealed', 'input', 'mac'].includes(name))).toEqual([])
  })
})

longTest('a role that may create roles and owns the database can migrate it; no superuser is needed', () =>
  as('createrole', async (somebody, name) => {
    // If the group roles exist already, they must have been granted to it.
    await owner.unsafe(
      `grant strongroom_api, strongroom_worker, strongroom_console, strongroom_jobs, strongroom_viewer to ${name} with admin option`,
    )
    await owner.unsafe(`create database ${name} owner ${name}`)
    const url = new URL(database.url)
    ;[url.username, url.password, url.pathname] = [name, 'test', `/${name}`]
    try {
      await migrate(url.href)
      await migrate(url.href)
      expect(await somebody`select 1 as one`).toMatchObject([{ one: 1 }])
      const sql = postgres(url.href, { max: 1 })
      const views = await sql`select from strongroom_views.transactions`
      await sql.end()
      expect([...views]).toEqual([])
    } finally {
      await owner.unsafe(`drop database ${name}`)
    }
  }),
)
