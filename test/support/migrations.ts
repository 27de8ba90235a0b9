// Migrations of a later version, for tests.

import { rmSync } from 'node:fs'
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../db/migrations', import.meta.url))

const folders: string[] = []

process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

/** Writes further migrations behind those of a folder. */
export const addMigrations = async (folder: string, texts: readonly string[]): Promise<void> => {
  const path = join(folder, 'meta', '_journal.json')
  const journal = JSON.parse(await readFile(path, 'utf8'))
  const last = journal.entries.at(-1)
  for (const [index, text] of texts.entries()) {
    const tag = `${String(index + 1).padStart(4, '0')}_later`
    await writeFile(join(folder, `${tag}.sql`), text)
    journal.entries.push({ ...last, idx: index + 1, when: last.when + index + 1, tag })
  }
  await writeFile(path, JSON.stringify(journal))
}

/** A folder with the migrations and these behind them. */
export const withMigrations = async (...texts: readonly string[]): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-migrations-'))
  folders.push(folder)
  await cp(MIGRATIONS_FOLDER, folder, { recursive: true })
  await addMigrations(folder, texts)
  return folder
}
