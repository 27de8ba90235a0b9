// An empty Debian with systemd as its first process, in namespaces of its own: a machine for a test that installs
// something. Its network has a way out (slirp4netns), by which it also reaches this machine's loopback, at GATEWAY.
// Needs root.

import { appendFile, cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** This machine's loopback, as the Debian sees it. */
export const GATEWAY = '10.0.2.2'
const NAME_SERVER = '10.0.2.3'
const AUTHORITIES = 'usr/local/share/ca-certificates'
const PROGRAMS = ['debootstrap', 'systemd-nspawn', 'slirp4netns', 'nsenter', 'unshare']
const CHECKS_MAX = 240

/** What is missing on this machine for `startDebian`; null if nothing is. */
export const whyNoDebian = (): string | null => {
  if (process.getuid?.() !== 0) return 'this needs root'
  const missing = PROGRAMS.filter((program) => Bun.which(program) === null)
  return missing.length === 0 ? null : `${missing.join(', ')} not installed`
}

const until = async (what: string, isThere: () => Promise<boolean>): Promise<void> => {
  for (let check = 1; !(await isThere()); check += 1) {
    if (check === CHECKS_MAX) throw new Error(`The Debian did not become ready: ${what}`)
    await Bun.sleep(250)
  }
}

const must = async (...words: readonly string[]): Promise<void> => {
  const child = Bun.spawn([...words], { stdout: 'ignore', stderr: 'pipe' })
  const errors = await new Response(child.stderr).text()
  if ((await child.exited) !== 0) throw new Error(`${words[0]} failed: ${errors.slice(-2_000)}`)
}

/**
 * The root file system: what debootstrap installs, systemd, and the authorities of certificates that this machine has
 * added.
 */
const makeRoot = async (root: string): Promise<boolean> => {
  await must('debootstrap', '--variant=minbase', '--include=systemd-sysv,dbus', 'trixie', root)
  await writeFile(join(root, 'etc/resolv.conf'), `nameserver ${NAME_SERVER}\n`)
  const has = await Bun.file(`/${AUTHORITIES}`)
    .stat()
    .then((stat) => stat.isDirectory())
    .catch(() => false)
  if (has) await cp(`/${AUTHORITIES}`, join(root, AUTHORITIES), { recursive: true })
  return has
}

/** Starts one in `folder`. `shared` is seen as /srv, for reading. */
export const startDebian = async ({ folder, shared }: { readonly folder: string; readonly shared: string }) => {
  const root = join(folder, 'root')
  await mkdir(root)
  const hasAuthorities = await makeRoot(root)
  const quiet = { stdout: 'ignore', stderr: 'ignore' } as const
  const network = Bun.spawn(['unshare', '--net', 'sleep', 'infinity'], quiet)
  const namespace = `/proc/${network.pid}/ns/net`
  const ofHere = await Bun.file('/proc/self/ns/net').stat()
  await until('its network', async () => (await Bun.file(namespace).stat()).ino !== ofHere.ino)
  const way = Bun.spawn(['slirp4netns', '--configure', '--mtu=65520', String(network.pid), 'tap0'], quiet)
  const console = join(folder, 'console')
  const nspawn = Bun.spawn(
    [
      ...['systemd-nspawn', `--directory=${root}`, '--boot', '--register=no', '--keep-unit', '--resolv-conf=off'],
      ...[`--network-namespace-path=${namespace}`, `--bind-ro=${shared}:/srv`, '--console=pipe', '--machine=debian'],
    ],
    {
      env: { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1', SYSTEMD_NSPAWN_LOCK: '0' },
      stdin: 'ignore',
      stdout: Bun.file(console),
      stderr: Bun.file(console),
    },
  )
  /** systemd, as this machine numbers it. nspawn has other children before it. */
  const findFirst = async (): Promise<string> => {
    const [pid = ''] = (await Bun.file(`/proc/${nspawn.pid}/task/${nspawn.pid}/children`).text()).trim().split(' ')
    const name = pid === '' ? '' : await Bun.file(`/proc/${pid}/comm`).text()
    return name.trim() === 'systemd' ? pid : ''
  }
  await until('its first process', async () => (await findFirst().catch(() => '')) !== '')
  const first = await findFirst()

  /** Runs a program as its root. @returns its exit code, and what it printed, errors among it */
  const run = async (...words: readonly string[]) => {
    const environment = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root', 'TERM=dumb']
    if (hasAuthorities) environment.push('NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt')
    const child = Bun.spawn(
      [
        ...['nsenter', `--target=${first}`, '--all', '--wdns=/', 'env', '-i', ...environment],
        ...['sh', '-c', 'exec "$@" 2>&1', 'sh', ...words],
      ],
      { stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' },
    )
    const out = await new Response(child.stdout).text()
    return { exitCode: await child.exited, out }
  }

  const stop = async (): Promise<void> => {
    // All processes of its namespace end with the first one. An orderly end would take minutes.
    process.kill(Number(first), 'SIGKILL')
    await nspawn.exited
    way.kill()
    network.kill()
    await Promise.all([way.exited, network.exited])
  }

  await until('systemd', async () => (await run('systemctl', 'is-system-running')).out.trim() === 'running')
  await appendFile(join(root, 'etc/hosts'), '127.0.0.1 localhost\n')
  return { root, run, stop }
}

export type Debian = Awaited<ReturnType<typeof startDebian>>
