// A real PgBouncer before a database, for what a pooler does to our connections.

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../devnet/port.ts'
import { startTethered } from '../../devnet/tether.ts'
import { byTcp } from './postgres.ts'
import { until } from './until.ts'

const PROGRAM = Bun.which('pgbouncer', { PATH: `${process.env.PATH}:/usr/sbin` })

/** Whether PgBouncer is here. If not, its tests are skipped with a printed reason; with CI=true they fail. */
export const hasPgBouncer = (): boolean => {
  if (PROGRAM !== null || process.env.CI === 'true') return true
  console.log('pgbouncer is not installed: no pooler is tried. Debian has it in the package pgbouncer.')
  return false
}

const isListening = (port: number): Promise<boolean> =>
  Bun.connect({ hostname: '127.0.0.1', port, socket: { data: () => {} } }).then(
    (socket) => {
      socket.end()
      return true
    },
    () => false,
  )

/** @param target the URL of a user and a database. @param settings of pgbouncer.ini. @returns the URL by way of it. */
export const startPgBouncer = async (target: string, settings: Readonly<Record<string, string>>) => {
  if (PROGRAM === null) throw new Error('pgbouncer is not installed.')
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-pgbouncer-'))
  await chmod(folder, 0o755)
  const url = byTcp(target)
  const port = await freePort()
  const { hostname, username, password } = url
  const all = { listen_addr: '127.0.0.1', listen_port: port, auth_type: 'any', unix_socket_dir: '', ...settings }
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${url.port} user=${username} password=${password}`,
    '[pgbouncer]',
    ...Object.entries(all).map(([name, value]) => `${name} = ${value}`),
  ]
  const path = join(folder, 'pgbouncer.ini')
  await writeFile(path, lines.join('\n'))
  const started = await startTethered({
    program: PROGRAM,
    args: ['-q', path],
    env: {},
    cwd: folder,
    logPath: join(folder, 'log'),
    stopSignal: 'SIGTERM',
    // It refuses to run as root.
    ...(process.getuid?.() === 0 ? { user: { uid: 65534, gid: 65534 } } : {}),
  })
  await until(() => isListening(port))
  url.port = String(port)
  const stop = async () => {
    await started.stop()
    await rm(folder, { recursive: true })
  }
  return { url: url.href, stop }
}
