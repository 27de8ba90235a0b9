import { describe, expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../devnet/port.ts'
import { scripts } from '../package.json'
import { LARGE_BODIES, SMALL_BODY_BYTES } from '../src/platform/http/body.ts'
import { until } from './support/until.ts'

const FOLDER = new URL('../deploy/systemd/', import.meta.url)
/** The script of package.json that starts the same process. */
const SCRIPTS = { vault: scripts.vault, api: scripts.start, worker: scripts.worker, console: scripts.console }
/** There may be several of each but the console. */
const unitOf = (name: string): string => `strongroom-${name}${name === 'console' ? '' : '@'}.service`

/** Each setting of a unit, with all its values. */
const settingsOf = (name: string): ReadonlyMap<string, readonly string[]> => {
  const text = readFileSync(new URL(name, FOLDER), 'utf8')
  const lines = [...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => ({ key, value }))
  return new Map(lines.map(({ key }) => [key, lines.filter((line) => line.key === key).map(({ value }) => value)]))
}

test('there is a unit for each process', () => {
  const names = Object.keys(SCRIPTS).map(unitOf)
  expect(readdirSync(FOLDER).sort()).toEqual(names.sort())
})

describe.each(Object.entries(SCRIPTS))('the unit of the %s', (name, script) => {
  const settings = settingsOf(unitOf(name))

  test('starts what the script starts, with the same variables', () => {
    const variables = (settings.get('Environment') ?? []).filter((each) => !each.includes('%i'))
    const started = [...variables, ...(settings.get('ExecStart') ?? [])]
    expect(started.join(' ')).toBe(script)
  })

  test('is always started again when it ends, less and less often', () => {
    const of = (name: string) => settings.get(name)?.join(' ')
    expect([of('Restart'), of('StartLimitIntervalSec')]).toEqual(['always', '0'])
    // Shorter is a start that fails again and again, which takes half a second of a core each time.
    expect([of('RestartSec'), of('RestartSteps'), of('RestartMaxDelaySec')]).toEqual(['1', '5', '10'])
  })

  test('runs as a user of its own, and cannot enter the folders with the keys of the others', () => {
    expect(settings.get('User')).toEqual([`strongroom-${name}`])
    const closed = settings.get('InaccessiblePaths')?.join(' ').split(' ') ?? []
    const others = Object.keys(SCRIPTS).filter((other) => other !== name)
    expect(closed.sort()).toEqual(
      others.flatMap((other) => [`-/etc/strongroom/${other}`, `-/etc/strongroom/${other}.env`]).sort(),
    )
  })
})

test("the vault's unit reaches no network but this machine's own", () => {
  const settings = settingsOf('strongroom-vault@.service')
  expect(settings.get('IPAddressDeny')).toEqual(['any'])
  expect(settings.get('IPAddressAllow')).toEqual(['localhost'])
  expect(settings.get('RestrictAddressFamilies')).toEqual(['AF_UNIX AF_INET AF_INET6'])
})

test('the units differ only where the processes do', () => {
  const hardening = Object.keys(SCRIPTS).map((name) => {
    const text = readFileSync(new URL(unitOf(name), FOLDER), 'utf8')
    return text.slice(text.indexOf('# It gets no rights'))
  })
  expect(new Set(hardening).size).toBe(1)
})

const PAGE = readFileSync(new URL('../docs/deployment.md', import.meta.url), 'utf8')

test('docs/deployment.md makes the files and users that the units name', () => {
  for (const name of Object.keys(SCRIPTS)) {
    const settings = settingsOf(unitOf(name))
    expect(PAGE).toContain(`cat > ${settings.get('EnvironmentFile')?.[0]} <<END`)
    expect(settings.get('WorkingDirectory')).toEqual(['/opt/strongroom'])
  }
  expect(PAGE).toContain('for name in vault api worker console; do\n  useradd')
  const sockets = [1, 2].map((n) => `/run/strongroom-vault-${n}/vault.sock`)
  expect(PAGE).toContain(`VAULT_SOCKET=${sockets.join(',')}\n`)
})

test('two processes of one kind share no folder and no port', () => {
  const vault = settingsOf('strongroom-vault@.service')
  expect([vault.get('RuntimeDirectory'), vault.get('StateDirectory')]).toEqual([
    ['strongroom-vault-%i'],
    ['strongroom-vault-%i'],
  ])
  expect(vault.get('Environment')).toContain(
    'VAULT_SOCKET=/run/strongroom-vault-%i/vault.sock VAULT_JOURNAL=/var/lib/strongroom-vault-%i/journal',
  )
  expect(settingsOf('strongroom-api@.service').get('Environment')).toContain('PORT=300%i METRICS_PORT=910%i')
  expect(settingsOf('strongroom-worker@.service').get('Environment')).toContain('WORKER_METRICS_PORT=911%i')
})

test('nginx and Prometheus know the ports of two APIs and two workers', () => {
  const read = (path: string) => readFileSync(new URL(`../deploy/${path}`, import.meta.url), 'utf8')
  const ports = (text: string) => [...text.matchAll(/127\.0\.0\.1:(\d+)/g)].map(([, port]) => port)
  expect(ports(read('nginx/strongroom.conf'))).toEqual(['3001', '3002'])
  expect(ports(read('prometheus/one-machine.yml'))).toEqual(['9101', '9102', '9111', '9112'])
})

const CONF = new URL('../deploy/nginx/strongroom.conf', import.meta.url)

test('nginx takes large bodies on the routes that need them, and there alone', () => {
  const text = readFileSync(CONF, 'utf8')
  const [, large = ''] = /location ~ (\S+) \{\s+client_max_body_size 4m;/.exec(text) ?? []
  const isLarge = (path: string) => new RegExp(large).test(path)
  expect([...LARGE_BODIES.keys()].filter((path) => !isLarge(path))).toEqual([])
  const small = ['/wallets', '/wallets/import', '/policies/revoke', '/policies/x', '/nfts', '/nfts/transfer', '/users']
  expect(small.filter(isLarge)).toEqual([])
  expect(Math.max(...LARGE_BODIES.values())).toBe(4 * 1024 * 1024)
  expect(text).toContain(`  client_max_body_size ${SMALL_BODY_BYTES / 1024}k;`)
  expect(text).toMatch(/limit_conn_zone \$strongroom_client zone=(\w+):.*\n[\s\S]*limit_conn \1 [0-9]+;/)
})

const nginx = Bun.which('nginx', { PATH: `${process.env.PATH}:/usr/sbin` })
const isSkipped = nginx === null && process.env.CI !== 'true'
if (isSkipped) console.log('nginx is not installed: its configuration is not tried. Debian has it in nginx-light.')

/** Tests choose the address of a client. */
const REAL_IP = 'set_real_ip_from 127.0.0.1; set_real_ip_from ::1; real_ip_header X-Real-IP;'

/**
 * Writes the configuration of an nginx on `port`, where a client may have two requests. @returns the command that
 * starts it.
 */
const configureNginx = async (
  folder: string,
  { port, api }: { readonly port: number; readonly api: string },
): Promise<readonly string[]> => {
  const [key, certificate] = [join(folder, 'tls.key'), join(folder, 'tls.crt')]
  Bun.spawnSync([
    ...['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=x'],
    ...['-keyout', key, '-out', certificate],
  ])
  const plainPort = await freePort()
  const text = readFileSync(CONF, 'utf8')
    .replaceAll('/etc/strongroom/proxy', folder)
    .replaceAll('/var/log/nginx', folder)
    .replaceAll(/listen 80;/g, `listen 127.0.0.1:${plainPort};`)
    .replaceAll(/listen \[::\]:80;/g, `listen [::1]:${plainPort};`)
    .replaceAll(/listen 443 /g, `listen 127.0.0.1:${port} `)
    .replaceAll(/listen \[::\]:443 /g, `listen [::1]:${port} `)
    .replaceAll(/127\.0\.0\.1:300[12]/g, api)
    .replace(/(limit_conn \w+) 100;/, '$1 2;')
  writeFileSync(join(folder, 'site.conf'), text)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((of) => `${of}_temp_path ${folder}/${of};`)
  const http = `${temporary.join(' ')} ${REAL_IP} include ${folder}/site.conf;`
  const main = `daemon off; master_process off; pid ${folder}/pid; error_log stderr; events {} http { ${http} }`
  writeFileSync(join(folder, 'nginx.conf'), main)
  return [nginx ?? '', '-p', folder, '-c', join(folder, 'nginx.conf')]
}

test.skipIf(isSkipped)('nginx takes its configuration, and counts an IPv6 client by its /64', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'strongroom-nginx-'))
  const answers: (() => void)[] = []
  const api = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async ({ url }) => {
      if (url.endsWith('/slow')) await new Promise<void>((resolve) => answers.push(resolve))
      return new Response()
    },
  })
  const port = await freePort()
  const command = await configureNginx(folder, { port, api: `127.0.0.1:${api.port}` })
  const { exitCode, stderr } = Bun.spawnSync([...command, '-t'])
  expect({ exitCode, told: exitCode === 0 ? '' : stderr.toString() }).toEqual({ exitCode: 0, told: '' })

  const program = Bun.spawn([...command], { stderr: 'ignore' })
  const call = async (path: string, from: string) => {
    const isOwn = from === '127.0.0.1' || from === '[::1]'
    const headers = { ...(isOwn ? {} : { 'x-real-ip': from }), connection: 'close' }
    const url = `https://${isOwn ? from : '127.0.0.1'}:${port}${path}`
    return (await fetch(url, { headers, tls: { rejectUnauthorized: false } })).status
  }
  await until(
    () => call('/', '127.0.0.1').catch(() => 0),
    (status) => status === 200,
  )
  /** What each of `others` is answered while two requests of `pair` wait. */
  const whileWaiting = async (pair: readonly [string, string], others: readonly string[]) => {
    const slow = pair.map((from) => call('/slow', from))
    await until(() => answers.length === 2)
    const statuses = await Promise.all(others.map((from) => call('/', from)))
    for (const answer of answers.splice(0)) answer()
    expect(await Promise.all(slow)).toEqual([200, 200])
    return statuses
  }
  try {
    expect(
      // One byte of the subnet is a line feed.
      await whileWaiting(
        ['2001:db8:a:1::1', '2001:db8:a:1:ffff::2'],
        ['2001:db8:a:1::3', '2001:db8:a:2::1', '192.0.2.1', '[::1]', '127.0.0.1'],
      ),
    ).toEqual([429, 200, 200, 200, 200])
    expect(await whileWaiting(['192.0.2.1', '192.0.2.1'], ['192.0.2.1', '192.0.2.2'])).toEqual([429, 200])
    const mapped = ['::ffff:192.0.2.1', '::ffff:192.0.2.2'] as const
    expect(await whileWaiting(mapped, ['::ffff:192.0.2.3'])).toEqual([200])
    expect(await whileWaiting(['[::1]', '[::1]'], ['[::1]', '127.0.0.1'])).toEqual([429, 200])
  } finally {
    program.kill()
    await program.exited
    await api.stop(true)
    rmSync(folder, { recursive: true })
  }
})

test('each block of a shell in the pages is one', () => {
  for (const page of ['deployment', 'operations', 'backup', 'containers']) {
    const text = readFileSync(new URL(`../docs/${page}.md`, import.meta.url), 'utf8')
    const blocks = [...text.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].map(([, block = '']) => block)
    expect(blocks.length).toBeGreaterThan(0)
    const told = blocks.map((block) => Bun.spawnSync(['bash', '-n', '-c', block]).stderr.toString())
    expect(told.filter((error) => error !== '')).toEqual([])
  }
})

const analyze = Bun.which('systemd-analyze')
if (analyze === null) console.log('systemd-analyze is not installed: the units are not checked by systemd itself')

/** What an older systemd ignores. */
const SINCE_254 = /Unknown key(?: name)? 'Restart(?:Steps|MaxDelaySec)' in section/

test.skipIf(analyze === null)('systemd takes the units, and calls each of them well closed', () => {
  const paths = readdirSync(FOLDER).map((name) => new URL(name, FOLDER).pathname)
  // Ten times the exposure that systemd shows. A network costs most of it.
  const threshold = '--threshold=15'
  for (const path of paths) {
    const { exitCode, stdout } = Bun.spawnSync(['systemd-analyze', 'security', '--offline=true', threshold, path])
    expect({ exitCode, path, told: exitCode === 0 ? '' : stdout.toString() }).toEqual({ exitCode: 0, path, told: '' })
  }
  const { stderr } = Bun.spawnSync(['systemd-analyze', 'verify', ...paths])
  expect(
    stderr
      .toString()
      .split('\n')
      .filter((line) => line.includes('strongroom-') && !line.includes('not executable') && !SINCE_254.test(line)),
  ).toEqual([])
})
