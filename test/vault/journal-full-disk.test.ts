// The disk of a journal is full: a small file system of its own, a tmpfs. Only root on Linux can mount that; elsewhere
// these tests are skipped.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '../../src/vault/rooms/journal/journal.ts'
import { openWorld, type VaultWorld } from './support.ts'

const DISK = '256k'
const NOTE_CHARACTERS = 16_000
const NOTES = 10
const EARLY = new Date('2020-01-01T00:00:00Z')
const LATE = new Date('2030-01-01T00:00:00Z')

const mountDisk = async (): Promise<{ readonly folder: string; readonly disk: string } | null> => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-disk-'))
  const disk = join(folder, 'disk')
  await mkdir(disk)
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK},mode=755`, 'tmpfs', disk])
  if (status === 0) return { folder, disk }
  await rm(folder, { recursive: true })
  console.warn('skipped: only root on Linux can mount a small disk')
  return null
}

const mounted = await mountDisk()

describe.skipIf(mounted === null)('a journal on a full disk', () => {
  const { folder, disk } = mounted ?? { folder: '', disk: '' }
  const lost: unknown[] = []
  let world: VaultWorld
  let now = EARLY

  const open = () =>
    openJournal({
      ...{ db: world.db, key: new Uint8Array(32).fill(7), now: () => now },
      ...{ onLost: (error: unknown) => lost.push(error), paths: [join(disk, 'journal')] },
    })

  beforeAll(async () => {
    world = await openWorld()
  })
  afterAll(async () => {
    await world.close()
    spawnSync('umount', ['--lazy', disk])
    await rm(folder, { recursive: true })
  })

  const outcome = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'done',
      (error: Error) => error.message,
    )

  test('goes on where it could not be compacted, and ends where it cannot be written', async () => {
    const journal = await open()
    const note = (text: string) => {
      const about = text.padEnd(NOTE_CHARACTERS, '.')
      journal.add({ notes: [{ kind: 'project', projectId: '', isActive: true, about, at: '' }] })
      return outcome(journal.sync())
    }
    const records = async () => (await journal.reader.journalState()).records
    expect(await note('first')).toBe('done')
    now = LATE
    for (let count = 0; count < NOTES; count += 1) expect(await note(`${count}`)).toBe('done')
    const before = await records()

    const compact = () => outcome(journal.reader.compactJournal({ before: new Date('2025-01-01T00:00:00Z') }))
    expect(await compact()).toBe('The journal could not be rewritten (ENOSPC), and is unchanged.')
    expect([await readdir(disk), lost]).toEqual([['journal'], []])
    expect(await note('after')).toBe('done')
    expect(await records()).toBe(before + 1)

    const filler = join(disk, 'filler')
    expect(await outcome(writeFile(filler, Buffer.alloc(1_000_000)))).toContain('ENOSPC')
    expect(await note('nowhere')).toBe('The vault cannot write to its journal.')
    expect(await outcome(journal.sync())).toBe('The vault cannot write to its journal.')
    expect(lost).toEqual([expect.objectContaining({ code: 'ENOSPC' })])
    await outcome(journal.close())

    // What came through of the last record is removed: nobody was answered for it.
    await rm(filler)
    const again = await open()
    expect((await again.reader.journalState()).records).toBe(before + 1)
    const { notes } = await again.reader.journalNotes({ from: 0 })
    expect(notes.map(({ about }) => about.replace(/\.+$/, ''))).toEqual([
      ...['first', ...Array.from({ length: NOTES }, (_, count) => `${count}`), 'after'],
    ])
    await again.close()
  })
})
