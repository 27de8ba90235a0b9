// A PostgreSQL server that goes back to an earlier copy of its files.

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startPostgres } from '../../devnet/postgres.ts'
import { startTestPostgres } from '../support/postgres.ts'

const run = promisify(execFile)

export const startCopiedPostgres = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-copied-'))
  // The server may run as another user.
  await run('chmod', ['755', folder])
  const [dataDirectory, backup] = [join(folder, 'postgres'), join(folder, 'backup')]
  let server = await startTestPostgres(dataDirectory, { durable: true })
  const { url, port } = server
  const whileStopped = async (act: () => Promise<unknown>): Promise<void> => {
    await server.stop()
    await act()
    server = await startPostgres({ dataDirectory, durable: true, port })
  }
  const copy = async (from: string, to: string) => {
    await rm(to, { recursive: true, force: true })
    await run('cp', ['-a', from, to])
  }
  return {
    url,
    takeBackup: () => whileStopped(() => copy(dataDirectory, backup)),
    /** The databases are as they were when the backup was taken. */
    goBack: () => whileStopped(() => copy(backup, dataDirectory)),
    stop: async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
