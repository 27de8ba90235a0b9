// The journal of a vault and its database: what was added gets into the file, whatever becomes of a connection.

import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type RowsWith, readImages, writeMark } from '../../db/queries/vault/journal.ts'
import { type Journal, openJournal } from '../../src/vault/rooms/journal/journal.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { shared } from '../support/shared.ts'
import { openWorld, SECRET } from './support.ts'

let folder: string
let journal: Journal

const world = await shared(openWorld())
const { sql } = world
const projectId = await world.project(SECRET)

const open = (name: string): Promise<Journal> => {
  const onLost = (error: unknown) => {
    throw error
  }
  const settings = { db: world.db, key: new Uint8Array(32).fill(7), now: () => new Date(), onLost }
  return openJournal({ ...settings, paths: [join(folder, name)] })
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-journal-'))
  journal = await open('journal')
})
afterEach(async () => {
  await journal.close()
  await rm(folder, { recursive: true })
})

const records = async (): Promise<readonly Record<string, unknown>[]> => {
  const [, ...lines] = (await readFile(join(folder, 'journal'), 'utf8')).trim().split('\n')
  return lines.map((line) => JSON.parse(line.slice(65)))
}

const keep = async (...rows: readonly RowsWith[]): Promise<void> => {
  journal.addToRead(...rows)
  await journal.sync()
}

/** Begins to keep a row, which cannot be read. */
const keepHeld = async () => {
  const release = await holdTable(sql, 'project_keys', 'access exclusive')
  const keeping = keep({ table: 'project_keys', where: { project_id: projectId } })
  await untilWaiting(sql)
  return Object.assign(release, { keeping })
}

test('what was to be written when a connection is lost is in the next record', async () => {
  const [entry, note] = [
    { action: 'project_created' },
    { kind: 'project', projectId, isActive: true, about: '', at: '' },
  ]
  journal.add({ audit: [entry as never], notes: [note as never] })
  await using release = await keepHeld()
  const failure = release.keeping.then(
    () => 'kept',
    () => 'failed',
  )
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where wait_event_type = 'Lock' and datname = current_database()`
  expect(await failure).toBe('failed')
  expect(await records()).toEqual([])
  await release()
  journal.add({ audit: [{ action: 'later' } as never] })
  await journal.sync()
  const kept = await records()
  expect(kept.flatMap(({ audit }) => audit)).toEqual([entry, { action: 'later' }])
  expect(kept.flatMap(({ notes }) => notes)).toEqual([note])
  expect(JSON.stringify(kept.flatMap(({ rows }) => rows))).toContain(projectId)
})

test('who has added nothing waits for the record that is being written', async () => {
  await using release = await keepHeld()
  let isSynced = false
  const syncing = journal.sync().then(() => {
    isSynced = true
  })
  await sql`select`
  expect(isSynced).toBe(false)
  await release()
  await Promise.all([release.keeping, syncing])
  expect(await records()).toHaveLength(1)
})

const row = { table: 'developer_keys', where: { project_id: projectId } } as const

const become = async (version: number) => {
  await sql`update developer_keys set version = ${version} where project_id = ${projectId}`
}

const wrote = async (version: number, by = journal) => {
  await become(version)
  by.wrote(...(await readImages(world.db, [row])).map(({ table, text }) => ({ table, text })))
}

const versionNow = async () =>
  (await sql`select version from developer_keys where project_id = ${projectId}`)[0]?.version

test('of the states of a row the newest one that the vault wrote is replayed, whatever a later record saw in the table', async () => {
  await wrote(3)
  await wrote(2)
  await become(9)
  await keep(row)
  await become(1)
  // As a database that was restored to before the journal began.
  await sql`delete from vault_journals`
  expect(await journal.reader.replayJournal()).toEqual({ rows: 1 })
  expect(await versionNow()).toBe(3)
})

test('with the journals of all vaults no replay brings back an older state than the newest that one of them wrote', async () => {
  const another = await open('another')
  try {
    await wrote(3)
    await wrote(4, another)
    await keep(row)
    await another.sync()
    for (const journals of [
      [journal, another],
      [another, journal],
    ]) {
      await become(1)
      await sql`delete from vault_journals`
      for (const { reader } of journals) await reader.replayJournal()
      expect(await versionNow()).toBe(4)
    }
  } finally {
    await another.close()
  }
})

test('audit rows that somebody has deleted from the table are named by `audit verify`', async () => {
  const vault = await world.another({ journal })
  const id = await world.project()
  await vault.newProject({ projectId: id, developerSecret: SECRET, actor: 'operator' })
  const wallet = {
    projectId: id,
    ownerId: 'one',
    controlMode: 'developer',
    credentials: { developerSecret: SECRET },
  } as const
  const { id: subject } = await world.wallet({ ...wallet, vault })
  const named = async () => (await vault.forgedRows({ projectId: id })).forged.filter(({ table }) => table === 'audit')
  expect(await named()).toEqual([])
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`
    await tx`delete from audit where subject = ${subject} and action = 'wallet_created'`
  })
  expect(await named()).toEqual([
    {
      table: 'audit',
      projectId: id,
      id: subject,
      trouble: expect.stringMatching(/^the journal has the row wallet_created of .+Z, and it is gone$/),
    },
  ])
})

test('keys are opened again only on the database that was compared, and only then notes are shown', async () => {
  await keep({ table: 'project_keys', where: { project_id: projectId } })
  const { id, records: to } = await journal.reader.journalState()
  const knows = (records: number) => sql`update vault_journals set records = ${records} where id = ${id}`
  const marked = async () => (await sql`select records::int from vault_journals where id = ${id}`)[0]?.records
  const opening = () => journal.reader.finishRecording().catch((error) => error.code)
  const notes = () => journal.reader.recentNotes({ from: null }).catch((error) => error.code)
  expect(await notes()).toBe('unavailable')
  // Signed and not recorded.
  await sql`insert into audit (project_id, at, actor, action, subject, details, mac) values
    (${projectId}, now(), 'test', 'transaction_submitted', ${id}, ${sql.json({ transaction: id })}, '')`
  await knows(to + 1)
  expect((await journal.reader.unrecorded()).ids).toEqual([id])
  expect(await notes()).toEqual({ notes: [], next: null })

  await knows(to + 2)
  expect(await opening()).toBe('unavailable')
  expect([journal.lacking(), await marked()]).toEqual(['rows_of_notes', to + 2])
  const [on] = await sql`select server from vault_journals where id = ${id}`
  expect(await writeMark(world.db, { id, from: to + 2, to, started: '1' })).toBe(false)
  expect(await writeMark(world.db, { id, from: to, to, started: on?.server })).toBe(false)

  expect(await opening()).toBeUndefined()
  expect([journal.lacking(), await marked()]).toEqual([null, to])
})
