// A PostgreSQL server that archives its log of changes, and goes back to any time since its backup.

import { execFile } from 'node:child_process'
import { chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { startPostgres } from '../../devnet/postgres.ts'
import { onServer, startTestPostgres } from '../support/postgres.ts'

const run = promisify(execFile)
/** As whom the server runs for root. */
const NOBODY = 65_534
const RECOVERY_TIMEOUT_MS = 60_000
const SEGMENT = /^[0-9A-F]{24}$/

export const startArchivedPostgres = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-archived-'))
  const at = (name: string) => join(folder, name)
  await run('chmod', ['755', folder])
  await mkdir(at('archive'))
  if (process.getuid?.() === 0) await chown(at('archive'), NOBODY, NOBODY)
  const settings = { wal_level: 'replica', archive_mode: 'on', archive_command: `cp %p ${at('archive')}/%f` }
  let server = await startTestPostgres(at('postgres'), { durable: true, settings })
  let dataDirectory = at('postgres')
  const { url, port } = server

  /** Ends the server, and starts the backup in its place, as the database was at a moment since. */
  const recover = async (target: Readonly<Record<string, string>>): Promise<void> => {
    await onServer(url, (sql) => sql`select pg_switch_wal()`)
    await server.stop()
    dataDirectory = at('backup')
    await writeFile(at('backup/recovery.signal'), '')
    await run('chown', ['-R', '--reference', at('postgres'), at('backup')])
    server = await startPostgres({
      dataDirectory,
      durable: true,
      port,
      settings: { restore_command: `cp ${at('archive')}/%f %p`, ...target, recovery_target_action: 'promote' },
    })
    // It answers while it still goes through its log, and writes nothing before it is at the end of it.
    await onServer(url, async (sql) => {
      const deadline = Date.now() + RECOVERY_TIMEOUT_MS
      while ((await sql`select where pg_is_in_recovery()`).length > 0) {
        if (Date.now() > deadline) throw new Error('PostgreSQL did not reach the moment to which it should go back.')
        await sleep(20)
      }
    })
  }

  return {
    url,
    port,
    /** Ends the server, and starts it again when this has acted on its folder. */
    restart: async (act: (dataDirectory: string) => Promise<unknown> = async () => {}): Promise<void> => {
      await server.stop()
      await act(dataDirectory)
      server = await startPostgres({ dataDirectory, durable: true, port })
    },
    /** For files of the test, beside the server's. */
    at,
    /** PostgreSQL's own backup of a running server. */
    takeBackup: () =>
      onServer(url, async (sql) => {
        await sql`select pg_backup_start('test', true)`
        await run('cp', ['-a', at('postgres'), at('backup')])
        const [label] = await sql<{ labelfile: string }[]>`select labelfile from pg_backup_stop()`
        await rm(at('backup/postmaster.pid'), { force: true })
        for (const name of await readdir(at('backup/pg_wal'))) {
          if (SEGMENT.test(name)) await rm(join(at('backup/pg_wal'), name))
        }
        await writeFile(at('backup/backup_label'), label?.labelfile ?? '')
      }),
    /** The server's time, for `goBackTo`. */
    now: async (): Promise<string> => {
      const [time] = await onServer(url, (sql) => sql<{ at: string }[]>`select clock_timestamp()::text as at`)
      return time?.at ?? ''
    },
    /** The database is as it was at a time since the backup. */
    goBackTo: (time: string) => recover({ recovery_target_time: time }),
    /** The database is as it was just before a transaction was committed: a standby that lacks it and all after it. */
    goBackBefore: (xid: string) => recover({ recovery_target_xid: xid, recovery_target_inclusive: 'off' }),
    stop: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
