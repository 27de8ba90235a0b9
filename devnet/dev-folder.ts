import { Database } from 'bun:sqlite'
import { randomBytes } from 'node:crypto'
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

/** The folder in which a dev stack keeps its data: `DEV_DIR`, by default `.dev`. */
export type DevFolder = {
  readonly root: string
  readonly postgres: string
  readonly logOf: (process: string) => string
  readonly stateOf: (network: string) => string
  /** The state of a Substrate chain: a SQLite file. */
  readonly archiveOf: (network: string) => string
  readonly keyOf: (name: KeyName) => string
  /** At which the vault listens. */
  readonly vaultSocket: string
  readonly vaultJournal: string
}

const KEY_NAMES = ['root', 'service', 'identity'] as const
type KeyName = (typeof KEY_NAMES)[number]

const ProjectSchema = Type.Object({ project_id: Type.String(), api_key: Type.String() })

/** The dev stack's project, as the CLI prints it and as it is stored for the next start. */
export type DevProject = Static<typeof ProjectSchema>

const PREVIOUS = '.previous.log'

/** Creates missing folders. Renames the logs of the last start, and deletes older ones. */
export const openDevFolder = async (path: string): Promise<DevFolder> => {
  const root = resolve(path)
  const [keys, logs, chains] = [join(root, 'keys'), join(root, 'logs'), join(root, 'chains')]
  for (const folder of [root, keys, logs, chains]) await mkdir(folder, { recursive: true, mode: 0o700 })
  return {
    root,
    postgres: join(root, 'postgres'),
    logOf: (process) => join(logs, `${process}.log`),
    stateOf: (network) => join(chains, `${network.toLowerCase()}.json.gz`),
    archiveOf: (network) => join(chains, `${network.toLowerCase()}.sqlite`),
    keyOf: (name) => join(keys, `${name}.key`),
    vaultSocket: join(root, 'vault', 'socket'),
    vaultJournal: join(root, 'vault.journal'),
  }
}

/**
 * Locks the folder for this process until it ends. The kernel holds the lock on a file that SQLite keeps open, so a
 * killed stack leaves nothing to clean up.
 * @returns whether the folder was free
 */
export const lockDevFolder = (folder: DevFolder): boolean => {
  const lock = new Database(join(folder.root, 'dev.lock'))
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    heldLocks.add(lock)
    return true
  } catch {
    lock.close()
    return false
  }
}

/** A reference, because the garbage collector would close the lock. */
const heldLocks = new Set<Database>()

/** Renames the logs of the last start. */
export const rotateLogs = async (folder: DevFolder): Promise<void> => {
  const logs = join(folder.root, 'logs')
  for (const name of await readdir(logs)) {
    if (!name.endsWith('.log') || name.endsWith(PREVIOUS)) continue
    await rename(join(logs, name), join(logs, name.replace(/\.log$/, PREVIOUS)))
  }
}

/** Creates the three root secrets, 32 random bytes each, at the first start. */
export const ensureKeys = async (folder: DevFolder): Promise<void> => {
  for (const name of KEY_NAMES) {
    const path = folder.keyOf(name)
    // Never replace an existing key: the database is encrypted with it.
    await writeFile(path, randomBytes(32), { mode: 0o600, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}

/** Parses the CLI's output for a new project. @throws Error if it is something else */
export const parseProject = (text: string): DevProject => {
  const content: unknown = JSON.parse(text)
  if (!Value.Check(ProjectSchema, content)) throw new Error('A project must have a project_id and an api_key.')
  return { project_id: content.project_id, api_key: content.api_key }
}

/** The project of an earlier start, or undefined. */
export const readProject = async (folder: DevFolder): Promise<DevProject | undefined> => {
  const text = await readFile(join(folder.root, 'project.json'), 'utf8').catch(() => undefined)
  return text === undefined ? undefined : parseProject(text)
}

/** Stores the project for the next start; only its owner may read the file. */
export const writeProject = async (folder: DevFolder, project: DevProject): Promise<void> => {
  const path = join(folder.root, 'project.json')
  await writeFile(`${path}.new`, `${JSON.stringify(project, null, 2)}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
}
