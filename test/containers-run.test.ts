// The image, built and run for real: a vault, an API, a worker and the console from it, with read-only root file
// systems and without capabilities, sign for a new wallet, and end cleanly. Needs root and Podman. Without a registry
// the base image is made by debootstrap.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../devnet/port.ts'
import { startChain, type TestChain } from './support/chains.ts'
import { ROOT } from './support/imports.ts'
import { isLeftOut } from './support/long.ts'
import { byTcp, createDatabase, type TestDatabase } from './support/postgres.ts'

const isPossible = process.getuid?.() === 0 && Bun.which('podman') !== null
if (!isPossible) console.log('The image is not built: this needs root and Podman.')

const IMAGE = 'localhost/strongroom-test'
const BASE = 'localhost/strongroom-test-debian'
const AUTHORITIES = 'usr/local/share/ca-certificates'
const USERS = { vault: 10001, api: 10002, worker: 10003, console: 10004 } as const
/** They may enter the folder of the vault's socket. */
const IN_GROUP = ['api', 'console']
/** A check of a container's process is repeated this often, a second apart. */
const CHECKS_MAX = 120

describe.skipIf(!isPossible || isLeftOut('the container image, built and run'))('the image', () => {
  let folder: string
  let database: TestDatabase
  let chain: TestChain
  let variables: Record<string, string>
  const started: string[] = []

  const run = async (words: readonly string[]) => {
    // Without the hard limits of its own Podman asks for higher ones, which not every root may have.
    const child = Bun.spawn([...words], {
      cwd: ROOT,
      env: { ...process.env, CONTAINERS_CONF: join(folder, 'containers.conf') },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { exitCode: await child.exited, out, errors }
  }
  const must = async (...words: readonly string[]): Promise<string> => {
    const { exitCode, out, errors } = await run(words)
    if (exitCode !== 0)
      throw new Error(`${words.slice(0, 3).join(' ')} ended with ${exitCode}: ${errors.slice(-2_000)}`)
    return out
  }

  /** The pinned base image, or one of the same Debian. @returns the arguments of the build for it. */
  const baseImage = async (): Promise<readonly string[]> => {
    const pinned = /^ARG DEBIAN=(.*)$/m.exec(await Bun.file(join(ROOT, 'Dockerfile')).text())?.[1] ?? ''
    if ((await run(['podman', 'pull', '--quiet', pinned])).exitCode === 0) return []
    const given = [
      '--build-arg',
      `DEBIAN=${BASE}`,
      '--build-arg',
      'NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt',
    ]
    if ((await run(['podman', 'image', 'exists', BASE])).exitCode === 0) return given
    const root = join(folder, 'debian')
    await must('debootstrap', '--variant=minbase', 'trixie', root)
    await cp(`/${AUTHORITIES}`, join(root, AUTHORITIES), { recursive: true }).catch(() => {})
    await must('sh', '-c', `tar -C ${root} -c . | podman import - ${BASE}`)
    return given
  }

  const container = (name: keyof typeof USERS, words: readonly string[], further: Readonly<Record<string, string>>) => [
    ...['podman', 'run', '--network=host', '--read-only', '--cap-drop=ALL', '--security-opt=no-new-privileges'],
    ...[
      `--user=${USERS[name]}:${IN_GROUP.includes(name) ? USERS.vault : USERS[name]}`,
      `--volume=${folder}/run:/run/strongroom-vault`,
    ],
    ...[`--volume=${folder}/journal:/var/lib/strongroom-vault`, `--volume=${folder}/${name}:/keys:ro`],
    ...Object.entries({ ...variables, ...further }).map(([key, value]) => `--env=${key}=${value}`),
    ...words,
  ]

  const start = async (name: keyof typeof USERS, further: Readonly<Record<string, string>>) => {
    const id = (await must(...container(name, ['--detach', IMAGE, name], further))).trim()
    started.push(id)
    for (let check = 1; ; check += 1) {
      const { exitCode, errors } = await run(['podman', 'exec', id, 'strongroom', 'health'])
      if (exitCode === 0) return id
      if (check === CHECKS_MAX) throw new Error(`${name} is not healthy: ${errors}${await must('podman', 'logs', id)}`)
      await Bun.sleep(1_000)
    }
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'strongroom-image-'))
    const hard = (flag: string) =>
      Bun.spawnSync(['bash', '-c', `ulimit -H${flag}`])
        .stdout.toString()
        .trim()
    const limits = [['nofile', hard('n')] as const, ['nproc', hard('u')] as const].filter(
      ([, most]) => most !== 'unlimited',
    )
    // crun does not work where both versions of control groups are used.
    const isHybrid = await Bun.file('/sys/fs/cgroup/unified/cgroup.procs').exists()
    const engine = isHybrid && Bun.which('runc') !== null ? '[engine]\nruntime = "runc"\n' : ''
    const ulimits = limits.map(
      ([name, most]) => `"${name}=${Math.min(Number(most), 4_096)}:${Math.min(Number(most), 4_096)}"`,
    )
    await writeFile(
      join(folder, 'containers.conf'),
      `[containers]\ndefault_ulimits = [${ulimits.join(', ')}]\n${engine}`,
    )
    ;[database, chain] = await Promise.all([createDatabase(), startChain('Ethereum')])
    await must(
      'podman',
      'build',
      '--isolation=chroot',
      '--network=host',
      '--format=docker',
      `--tag=${IMAGE}`,
      ...(await baseImage()),
      '.',
    )
    const keys = {
      vault: ['root'],
      api: ['service', 'identity'],
      worker: ['service'],
      console: ['service', 'identity'],
    }
    const shared = new Map(['service', 'identity'].map((key) => [key, randomBytes(32)]))
    for (const [name, uid] of Object.entries(USERS))
      await mkdir(join(folder, name)).then(() => chown(join(folder, name), uid, uid))
    for (const name of ['vault', 'api', 'worker', 'console'] as const) {
      for (const key of keys[name]) {
        const path = join(folder, name, key)
        await writeFile(path, shared.get(key) ?? randomBytes(32), { mode: 0o400 })
        await chown(path, USERS[name], USERS[name])
      }
    }
    for (const [name, mode] of [
      ['run', 0o750],
      ['journal', 0o700],
    ] as const) {
      await mkdir(join(folder, name), { mode })
      await chown(join(folder, name), USERS.vault, USERS.vault)
    }
    variables = {
      ENVIRONMENT: 'testnet',
      DEVNET: 'true',
      VAULT_SOCKET: '/run/strongroom-vault/vault.sock',
      ETHEREUM_RPC_URL: chain.rpcUrl,
      HOST: '127.0.0.1',
    }
  })

  afterAll(async () => {
    for (const id of started) await run(['podman', 'rm', '--force', '--time=5', id])
    await chain?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('signs for a new wallet, writes nothing beside its volumes, and ends cleanly', async () => {
    const [port, workerPort, consolePort] = [await freePort(), await freePort(), await freePort()]
    const ofApi = {
      ...{
        DATABASE_URL: byTcp(database.apiUrl).href,
        SERVICE_KEY: 'file:/keys/service',
        IDENTITY_KEY: 'file:/keys/identity',
      },
      PORT: String(port),
    }
    const vault = await start('vault', {
      ...{
        DATABASE_URL: byTcp(database.vaultUrl).href,
        ROOT_KEY: 'file:/keys/root',
        VAULT_JOURNAL: '/var/lib/strongroom-vault/journal',
      },
      VAULT_CLIENT_UIDS: `${USERS.api},${USERS.console}`,
    })
    const api = await start('api', ofApi)
    const worker = await start('worker', {
      ...{ DATABASE_URL: byTcp(database.workerUrl).href, SERVICE_KEY: 'file:/keys/service' },
      WORKER_METRICS_PORT: String(workerPort),
    })
    const operators = await start('console', {
      ...{ ...ofApi, DATABASE_URL: byTcp(database.consoleUrl).href, CONSOLE_PORT: String(consolePort) },
      CONSOLE_BASE_URL: `https://localhost:${consolePort}`,
    })

    await chown(join(folder, 'api/service'), USERS.vault, USERS.vault)
    await chown(join(folder, 'api/identity'), USERS.vault, USERS.vault)
    const asVault = container(
      'api',
      ['--rm', `--user=${USERS.vault}:${USERS.vault}`, IMAGE, 'cli', 'project', 'create', '--name', 'Test'],
      ofApi,
    )
    await chown(join(folder, 'api'), USERS.vault, USERS.vault)
    const made = await must(...asVault.filter((word) => word !== `--user=${USERS.api}:${USERS.vault}`))
    const headers = {
      'x-walletkit-project-id': /^project id: +(\S+)/m.exec(made)?.[1] ?? '',
      authorization: `Bearer ${/^api key: +(\S+)/m.exec(made)?.[1] ?? ''}`,
      'content-type': 'application/json',
    }
    const post = async (path: string, body: Readonly<Record<string, string>>) =>
      (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
    const ofUser = { network: 'Ethereum', user_pin: '493817' }
    const wallet = await post('/wallets', { ...ofUser, name: 'Trial', owner_id: 'trial', control_mode: 'user' })
    expect(wallet.address).toMatch(/^0x[0-9a-fA-F]{40}$/)
    const signed = await post('/transactions/sign-message', {
      ...ofUser,
      signer_wallet_address: wallet.address,
      message: 'Hello',
    })
    expect(signed).toEqual({ signature: expect.stringMatching(/^0x[0-9a-f]{130}$/) })

    for (const id of [vault, api, worker, operators]) {
      expect((await run(['podman', 'exec', id, 'touch', '/opt/strongroom/file'])).errors).toContain(
        'Read-only file system',
      )
      expect(await must('podman', 'exec', id, 'grep', 'CapEff', '/proc/self/status')).toMatch(/\t0{16}$/m)
    }
    for (const id of [operators, worker, api, vault]) {
      await must('podman', 'stop', '--time=75', id)
      expect(await must('podman', 'inspect', '--format={{.State.ExitCode}}', id)).toBe('0\n')
    }
  })
})
