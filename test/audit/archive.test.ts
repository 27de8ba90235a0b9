// Old audit rows move to files behind signed checkpoints. Each change of a file, a checkpoint or a row is found.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { ed25519 } from '@noble/curves/ed25519.js'
import { applyAudit, auditJson } from '../../db/queries/vault/audit.ts'
import { archiveAudit, verifyArchive } from '../../src/operators/audit/archive.ts'
import * as chains from '../../src/vault/rooms/chain/archive.ts'
import type { NotedHead } from '../../src/vault/rooms/chain/verify.ts'
import { longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { TEST_DEPLOYMENT_KEY as deploymentKey } from '../vault/support.ts'
import { openAudit, type TestAudit } from './support.ts'

const DAY_MS = 86_400_000

const audit = await shared(openAudit())
const begun = audit.clock.now
let folder: string
let before: Date

beforeEach(async () => {
  await audit.tamper((sql) => sql`truncate audit_checkpoints, audit_chain, audit restart identity cascade`)
  audit.clock.now = begun
  folder = await mkdtemp(join(tmpdir(), 'strongroom-archive-'))
  const { one, other } = audit
  const wallet = { subject: 'wallet' }
  // Positions 1 to 8 of one chain: what is created, first uses, further uses, a use by a policy.
  await audit.audit.commit(audit.act(one, { action: 'wallet_created', ...wallet }))
  for (let use = 0; use < 4; use += 1) await audit.audit.commit(audit.act(one, wallet))
  await audit.audit.commit(audit.act(one, { ...wallet, details: { policy: 'p', policy_uses: '1' } }))
  await audit.apiAudit.commit({ ...audit.act(one), action: 'token_list_imported' })
  await audit.audit.commit(audit.act(one, { action: 'message_signed', ...wallet }))
  await audit.audit.commit(audit.act(other, wallet), audit.act(other, wallet), audit.act(other, wallet))
  await audit.chain()
  audit.clock.now = new Date(audit.clock.now.getTime() + 100 * DAY_MS)
  before = new Date(audit.clock.now.getTime() - 50 * DAY_MS)
  await audit.write(one, one, null)
  await audit.chain()
})

afterEach(() => rm(folder, { recursive: true }))

const ctx = () => ({ db: audit.vault, deploymentKey, now: () => audit.clock.now })

/** The vault's methods, in this process. */
const vault = () => ({
  planArchive: (input: Parameters<typeof chains.planArchive>[1]) => chains.planArchive(ctx(), input),
  archiveLines: (input: Parameters<typeof chains.archiveLines>[1]) => chains.archiveLines(ctx(), input),
  auditCheckpoints: () => chains.auditCheckpoints(ctx()),
  signCheckpoint: (input: Parameters<typeof chains.signCheckpoint>[1]) => chains.signCheckpoint(ctx(), input),
  dropArchived: (input: Parameters<typeof chains.dropArchived>[1]) => chains.dropArchived(ctx(), input),
})

const archive = async (until = before) => {
  const archived: { chain: string; from: number; to: number; dropped: number }[] = []
  const { finished } = await archiveAudit(
    vault(),
    { folder, before: until },
    ({ chain, fromPosition, position, dropped }) => {
      archived.push({ chain: nameOf(chain), from: Number(fromPosition), to: Number(position), dropped })
    },
  )
  return { finished, archived: archived.toSorted((a, b) => (a.chain < b.chain ? -1 : 1)) }
}

const nameOf = (chain: string) => (chain === audit.one ? 'one' : chain === audit.other ? 'other' : chain)

const broken = async (heads: readonly NotedHead[] = []) => {
  const { broken: inTables } = await audit.verify({ heads })
  const { broken: inFiles } = await verifyArchive(await vault().auditCheckpoints(), { folder, chain: null, heads })
  const short = (each: { chain: string; position: bigint | null; trouble: string }) =>
    `${nameOf(each.chain)} ${each.position}: ${each.trouble.replaceAll(audit.one, 'one').replaceAll(audit.other, 'other')}`
  return [...inTables.map(short), ...inFiles.map(short)]
}

const positions = async (chain: string) => {
  const rows = await audit.superuser`
    select position::int as position, id is not null as "hasRow" from audit_chain left join audit on id = audit_id
    where chain = ${chain} order by position`
  expect(rows.every(({ hasRow }) => hasRow)).toBe(true)
  return rows.map(({ position }) => position)
}

const ofOne = () => `${audit.one}-1-8`
const fileOfOne = () => join(folder, `${ofOne()}.jsonl.gz`)

const edit = async (path: string, change: (text: string) => string): Promise<void> =>
  writeFile(path, gzipSync(change(gunzipSync(await readFile(path)).toString())))

test('deletes the rows on which nothing depends, and the audit still holds, with the archive and without', async () => {
  const heads = (await audit.verify()).heads
  const last = `${audit.other}:3:`
  expect(await archive()).toEqual({
    finished: 0,
    archived: [
      { chain: 'one', from: 1, to: 8, dropped: 4 },
      { chain: 'other', from: 1, to: 2, dropped: 1 },
    ],
  })
  // The creation, the first use, the use by the policy, the freeze; and what is newer. A chain's last link always
  // stays.
  expect(await positions(audit.one)).toEqual([1, 2, 6, 7, 9, 10])
  expect(await positions(audit.other)).toEqual([1, 3])
  expect(await broken()).toEqual([])
  expect((await audit.verify()).heads).toEqual(heads)
  expect(heads.some((head) => head.startsWith(last))).toBe(true)
  expect(await verifyArchive(await vault().auditCheckpoints(), { folder, chain: null, heads: [] })).toEqual({
    files: 2,
    rows: 10n,
    broken: [],
  })
})

test('the files have every row of a chain with its link, and a checkpoint that others can verify', async () => {
  const rows = await audit.superuser`
    select c.*, a.* from audit_chain c join audit a on a.id = c.audit_id where chain = ${audit.one} and position <= 8 order by position`
  await archive()
  const lines = gunzipSync(await readFile(fileOfOne()))
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines).toEqual(
    rows.map(({ chain, position, id, project_id, at, actor, action, subject, details, mac, head }) => ({
      ...{
        chain,
        position: String(position),
        id: String(id),
        project_id,
        at: at.toISOString(),
        actor,
        action,
        subject,
        details,
      },
      ...{ mac: mac.toString('hex'), head: head.toString('hex') },
    })),
  )
  const checkpoint = JSON.parse(await readFile(join(folder, `${ofOne()}.checkpoint.json`), 'utf8'))
  const fields = [
    ...[
      'strongroom audit checkpoint 1',
      checkpoint.chain,
      checkpoint.from_position,
      checkpoint.position,
      checkpoint.before,
    ],
    ...[checkpoint.head, checkpoint.lines_sha256, checkpoint.kept_sha256].map((hex) => Buffer.from(hex, 'hex')),
  ]
  const message = Buffer.concat(
    fields.flatMap((field) => {
      const length = Buffer.alloc(4)
      length.writeUInt32BE(Buffer.from(field).length)
      return [length, Buffer.from(field)]
    }),
  )
  const [signature, key] = [checkpoint.signature, checkpoint.public_key].map((hex) => Uint8Array.fromHex(hex))
  expect(ed25519.verify(signature ?? new Uint8Array(), message, key ?? new Uint8Array())).toBe(true)
  expect(checkpoint.head).toBe(lines.at(-1).head)
})

test('a second archive continues the first, and the rows that stayed are still checked', async () => {
  await archive()
  audit.clock.now = new Date(audit.clock.now.getTime() + 100 * DAY_MS)
  await audit.write(audit.one)
  await audit.chain()
  const later = new Date(audit.clock.now.getTime() - 50 * DAY_MS)
  expect((await archive(later)).archived).toEqual(
    [
      { chain: 'one', from: 9, to: 10, dropped: 0 },
      { chain: 'other', from: 3, to: 3, dropped: 0 },
    ].slice(0, 1),
  )
  expect(await broken()).toEqual([])
  await audit.tamper((sql) => sql`delete from audit_checkpoints where chain = ${audit.one} and position = 8`)
  expect(await broken()).toEqual(['one 1: its checkpoint is gone'])
})

longTest('what was signed and not deleted, because the command was killed, is deleted by the next run', async () => {
  const killed = { ...vault(), dropArchived: () => Promise.reject(new Error('killed')) }
  await expect(archiveAudit(killed, { folder, before }, () => {})).rejects.toThrow('killed')
  expect(await broken()).toEqual([])
  expect(await archive()).toMatchObject({ finished: expect.any(Number), archived: [{ chain: expect.any(String) }] })
  expect(await positions(audit.one)).toEqual([1, 2, 6, 7, 9, 10])
  expect(await positions(audit.other)).toEqual([1, 3])
  expect(await broken()).toEqual([])
  expect(await archive()).toEqual({ finished: 0, archived: [] })
})

describe('is found:', () => {
  beforeEach(archive as () => Promise<unknown>)

  test('a file that is missing, edited, cut off, or exchanged', async () => {
    const good = await readFile(fileOfOne())
    await rename(fileOfOne(), join(folder, 'elsewhere'))
    expect(await broken()).toEqual(['one 1: the archive one-1-8.jsonl.gz is missing'])
    await writeFile(fileOfOne(), good.subarray(0, good.length - 20))
    expect(await broken()).toEqual(['one 1: the archive one-1-8.jsonl.gz cannot be read'])
    const other = (await readdir(folder)).find((name) => name.startsWith(audit.other) && name.endsWith('.gz')) ?? ''
    await writeFile(fileOfOne(), await readFile(join(folder, other)))
    expect(await broken()).toEqual(['one 1: the archive one-1-8.jsonl.gz is not the one of its checkpoint'])
    await writeFile(fileOfOne(), good)
    await edit(fileOfOne(), (text) => text.replace('"value":"1"', '"value":"2"'))
    expect(await broken()).toEqual(['one 1: the archive one-1-8.jsonl.gz is not the one of its checkpoint'])
  })

  test.each(
    someOf(
      [
        ['position = 7'],
        ["before = before + interval '1 day'"],
        ["head = '\\x00'"],
        ["lines_hash = '\\x00'"],
        ["kept_hash = '\\x00'"],
        ["signature = '\\x00'"],
        ["signature = decode(repeat('00', 64), 'hex')"],
      ],
      7,
    ),
  )('a checkpoint with %s', async (change) => {
    await audit.tamper((sql) => sql.unsafe(`update audit_checkpoints set ${change} where chain = '${audit.one}'`))
    expect((await audit.verify()).broken).toMatchObject([
      { chain: audit.one, trouble: 'its checkpoint is not as a vault signed it' },
    ])
  })

  test('a checkpoint that is gone, and one of another chain', async () => {
    await audit.tamper((sql) => sql`delete from audit_checkpoints where chain = ${audit.one}`)
    expect(await broken()).toEqual(['one 3: the links up to position 5 are gone'])
    await audit.tamper((sql) => sql`update audit_checkpoints set chain = ${audit.one} where chain = ${audit.other}`)
    expect(await broken()).toContain('one 2: its checkpoint is not as a vault signed it')
  })

  test.each(
    someOf(
      [
        ['that is gone', 'delete from audit where id = 1', 'one 1: its audit row is gone'],
        ['that is gone with its link', 'delete from audit_chain where audit_id = 1', 'one 8: the rows that stay'],
        [
          'that was edited',
          "update audit set subject = 'x' where id = 2",
          'one 2: its audit row is not as it was written',
        ],
        ['of an API that was edited', "update audit set subject = 'x' where id = 7", 'one 8: the rows that stay'],
        [
          'whose link was edited',
          "update audit_chain set head = '\\x00' where audit_id = 2",
          'one 8: the rows that stay',
        ],
      ],
      5,
    ),
  )('a row that stayed %s', async (_, change, trouble) => {
    await audit.tamper((sql) => sql.unsafe(change))
    expect((await broken())[0]).toStartWith(trouble)
  })

  test('links after the checkpoint that are gone: the next ones, or all', async () => {
    await audit.tamper((sql) => sql`delete from audit_chain where chain = ${audit.one} and position = 9`)
    expect(await broken()).toEqual(['one 9: the links up to position 9 are gone'])
    await audit.tamper((sql) => sql`delete from audit_chain where chain = ${audit.one} and position > 8`)
    expect(await broken()).toContain('one 9: the links after its checkpoint are gone')
  })

  test('a noted head of an archived row that is another: in the file, and never passed without the file', async () => {
    const lines = gunzipSync(await readFile(fileOfOne()))
      .toString()
      .split('\n')
    const head = Uint8Array.fromHex(JSON.parse(lines[3] ?? '').head)
    const noted = { chain: audit.one, position: 4n, head }
    expect(await broken([noted])).toEqual([])
    expect(await broken([{ ...noted, head: new Uint8Array(32) }])).toEqual([
      'one 4: its head is not the one that was noted',
    ])
    const without = { folder: null, chain: null, heads: [noted] }
    expect((await verifyArchive(await vault().auditCheckpoints(), without)).broken).toMatchObject([
      { position: 4n, trouble: 'its row is in the archive: name its folder with --archive' },
    ])
  })
})

describe('nothing is archived and deleted', () => {
  test('of the last 30 days', async () => {
    const late = new Date(audit.clock.now.getTime() - 29 * DAY_MS)
    await expect(archive(late)).rejects.toThrow('Rows of the last 30 days stay')
    expect(await readdir(folder)).toEqual([])
  })

  test('of a chain that is broken', async () => {
    await audit.tamper((sql) => sql`update audit set subject = 'x' where id = 4`)
    await expect(archive()).rejects.toThrow(
      'is broken at position 4: its audit row is not as it was written. Nothing was archived.',
    )
    expect(await positions(audit.one)).toHaveLength(10)
    expect((await vault().auditCheckpoints()).checkpoints.filter(({ chain }) => chain === audit.one)).toEqual([])
  })

  test('if the file has other lines than the vault has verified', async () => {
    const lying = {
      ...vault(),
      archiveLines: async (of: Parameters<typeof chains.archiveLines>[1]) => {
        const page = await vault().archiveLines(of)
        return { ...page, lines: page.lines.replace('"value":"1"', '"value":"2"') }
      },
    }
    await expect(archiveAudit(lying, { folder, before }, () => {})).rejects.toThrow(
      'are not those that the vault has verified',
    )
    expect((await vault().auditCheckpoints()).checkpoints).toEqual([])
  })

  test('by the vault’s login without a checkpoint, or after one; by other logins never', async () => {
    const drop = (db: TestAudit['vault'], ids: string) =>
      db.execute(`select strongroom_drop_archived('${audit.one}', '{${ids}}') as dropped`)
    expect((await drop(audit.vault, '2,3,4')).rows).toEqual([{ dropped: 0 }])
    await archive()
    const [newest] = await audit.superuser`select max(audit_id)::int as id from audit_chain where chain = ${audit.one}`
    expect((await drop(audit.vault, String(newest?.id))).rows).toEqual([{ dropped: 0 }])
    for (const db of [audit.api, audit.worker]) await expect(drop(db, '2').then(() => null)).rejects.toThrow()
    for (const table of ['audit', 'audit_chain', 'audit_checkpoints']) {
      await expect(audit.vault.execute(`delete from ${table}`).then(() => null)).rejects.toThrow()
      await expect(audit.superuser.unsafe(`delete from ${table}`).then(() => null)).rejects.toThrow('append-only')
    }
  })
})

test('the journal does not bring archived rows back, and still brings back others', async () => {
  const rows = await audit.superuser`
    select project_id as "projectId", at, actor, action, subject, details, mac from audit where project_id = ${audit.one} order by id`
  const texts = rows.map(({ projectId, at, actor, action, subject, details, mac }) =>
    auditJson({ projectId, at, actor, action, subject, details, mac }),
  )
  await archive()
  const apply = () => audit.vault.transaction((tx) => applyAudit(tx, texts))
  expect(await apply()).toBe(0)
  await audit.tamper((sql) => sql`delete from audit where id = 1 or at > ${before} and project_id = ${audit.one}`)
  expect(await apply()).toBe(3)
})
