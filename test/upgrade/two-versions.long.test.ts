// An upgrade under load, as docs/deployment.md describes it: two versions beside each other, on one database. The
// earlier one is the newest tag, or before the first release this code with a column that the later one does not have
// any more. The later one is this code with a column that the earlier one does not know. Real processes; a load
// balancer asks /readyz.

import { expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Hex } from 'viem'
import { fundedAccount, startChain } from '../support/chains.ts'
import { addMigrations } from '../support/migrations.ts'
import { type Service, startService } from '../support/service.ts'
import { afterTests, shared, sharedFolder } from '../support/shared.ts'
import { startVaultProcess } from '../support/vault.ts'

const network = 'Ethereum'
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const RECIPIENT = fundedAccount(5).address
const SENDERS = 3
const CHECKED_EVERY_MS = 100
const GRACE_SECONDS = 2

/** Columns that a version has; the baseline has neither. */
type Columns = { readonly earlier: boolean; readonly later: boolean }
const EXPAND = ['alter table projects add column earlier_note text', 'alter table projects add column later_note text']
const CONTRACT = 'alter table projects drop column earlier_note'

/** Ends what a failed test has left. */
const stops = new Set<() => Promise<unknown>>()

const newestTag = (): string | null => {
  const { stdout, exitCode } = Bun.spawnSync(['git', 'describe', '--tags', '--abbrev=0', '--match', 'v*'], {
    cwd: ROOT,
  })
  return exitCode === 0 ? stdout.toString().trim() : null
}

/** The files of a tag, with the packages that it locks. */
const checkOut = async (tag: string, into: string): Promise<void> => {
  await mkdir(into)
  const archive = Bun.spawn(['git', 'archive', tag], { cwd: ROOT, stdout: 'pipe' })
  await Bun.spawn(['tar', '-x', '-C', into], { stdin: archive.stdout }).exited
  const installed = Bun.spawnSync(['bun', 'install', '--frozen-lockfile', '--production'], { cwd: into })
  if (installed.exitCode !== 0) throw new Error(`${tag} cannot be installed: ${installed.stderr}`)
}

/** Copies this code. */
const copy = async (into: string): Promise<void> => {
  await mkdir(into)
  for (const name of ['src', 'db', 'jobs', 'package.json', 'bunfig.toml', 'tsconfig.json'])
    await cp(join(ROOT, name), join(into, name), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(into, 'node_modules'))
}

/** Adds columns to the code, and their migrations. */
const addColumns = async (version: string, columns: Columns, migrations: readonly string[]): Promise<void> => {
  const path = join(version, 'db/schema/projects.ts')
  const anchor = "  name: text('name').notNull(),\n"
  const lines = Object.entries(columns).flatMap(([name, has]) =>
    has ? [`  ${name}Note: text('${name}_note'),\n`] : [],
  )
  const text = await readFile(path, 'utf8')
  if (!text.includes(anchor)) throw new Error('The table projects has changed: correct this test.')
  await writeFile(path, text.replace(anchor, anchor + lines.join('')))
  await addMigrations(join(version, 'db/migrations'), migrations)
}

/** A program of a version. */
const program = (version: string, name: string): readonly string[] => ['bun', '--no-env-file', join(version, name)]

/** @returns when it says `until`; `ended` has its exit code and its output. */
const start = async (command: readonly string[], variables: Record<string, string>, until: string) => {
  const child = Bun.spawn([...command], {
    env: { PATH: process.env.PATH ?? '', ...variables, LOG_LEVEL: 'info' },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  let output = ''
  const said = Promise.withResolvers<void>()
  const read = async (stream: ReadableStream<Uint8Array>) => {
    for await (const chunk of stream) {
      output += Buffer.from(chunk).toString()
      if (output.includes(until)) said.resolve()
    }
  }
  const ended = Promise.all([read(child.stdout), read(child.stderr)]).then(() => child.exited)
  void ended.then(() => said.resolve())
  await said.promise
  const stop = async () => {
    child.kill('SIGTERM')
    return ended
  }
  stops.add(stop)
  return { output: () => output, ended, stop }
}

const cli = (version: string, args: readonly string[], databaseUrl: string) =>
  start(
    [...program(version, 'src/main/cli.ts'), ...args],
    { ...service.variables, DATABASE_URL: databaseUrl },
    '\u0000',
  )

type Version = {
  readonly api: string
  readonly stop: () => Promise<readonly number[]>
}

/** Starts a vault, an API and a worker of a version, in the order of the docs. */
const startVersion = async (version: string, vaultSocket: string): Promise<Version> => {
  const vault = await startVaultProcess(
    { ...service.vaultVariables, VAULT_SOCKET: vaultSocket },
    program(version, 'src/main/vault.ts'),
  )
  stops.add(vault.stop)
  const own = { ...service.variables, VAULT_SOCKET: vaultSocket, SHUTDOWN_GRACE_SECONDS: String(GRACE_SECONDS) }
  const api = await start(program(version, 'src/main/api.ts'), { ...own, PORT: '0' }, '"listening"')
  const line = api
    .output()
    .split('\n')
    .find((each) => each.includes('"listening"'))
  if (line === undefined) throw new Error(`The API of ${version} ended: ${api.output()}`)
  const worker = await start(
    program(version, 'src/main/worker.ts'),
    { ...own, IDENTITY_KEY: '', VAULT_SOCKET: '', DATABASE_URL: service.database.workerUrl },
    '"working"',
  )
  return {
    api: JSON.parse(line).url,
    stop: async () => {
      const [ofWorker, ofApi] = await Promise.all([worker.stop(), api.stop()])
      return [ofWorker, ofApi, await vault.stop()]
    },
  }
}

/** Sends each request to the next API that said that it is ready. It never repeats one. */
const startBalancer = () => {
  const apis = new Set<string>()
  let ready: string[] = []
  let turn = 0
  const look = async () => {
    const answers = [...apis].map(
      async (url) => [url, (await fetch(`${url}/readyz`).catch(() => null))?.status] as const,
    )
    ready = (await Promise.all(answers)).flatMap(([url, status]) => (status === 200 ? [url] : []))
  }
  const timer = setInterval(() => void look(), CHECKED_EVERY_MS)
  return {
    add: async (url: string) => {
      apis.add(url)
      await look()
    },
    next: (): string => {
      turn += 1
      return ready[turn % ready.length] ?? 'http://127.0.0.1:1'
    },
    ready: () => ready,
    stop: () => clearInterval(timer),
  }
}

/** Users of the service, until they are stopped. @returns what failed, and the ids of all transactions */
const startLoad = (next: () => string, wallets: readonly Hex[]) => {
  let isOver = false
  let answered = 0
  const failures: unknown[] = []
  const ids: string[] = []
  const ask = async (call: (client: ReturnType<Service['as']>) => ReturnType<Service['post']>) => {
    const url = next()
    const answer = await call(service.as(service.project, url)).catch((error: unknown) => ({
      status: 0,
      json: String(error),
    }))
    answered += 1
    if (answer.status !== 200) failures.push({ url, status: answer.status, json: answer.json })
    return answer
  }
  const secret = { developer_secret: 'testnet-secret' }
  const send = async (wallet: Hex) => {
    const body = {
      network,
      signer_wallet_address: wallet,
      unsigned_transaction: { to: RECIPIENT, value: '1' },
      ...secret,
    }
    const headers = { 'idempotency-key': randomUUID() }
    const answer = await ask((client) => client.post('/transactions/sign-and-send', body, headers))
    if (answer.status === 200) ids.push(answer.json.transaction_id)
  }
  const loops = wallets.map(async (wallet) => {
    while (!isOver) {
      await send(wallet)
      await ask((client) => client.get('/wallets/get-by-address', { network, address: wallet }))
      await ask((client) => client.post('/wallets', { network, name: 'A', control_mode: 'user', user_pin: '271828' }))
      await ask((client) => client.get('/activity', { network, wallet_address: wallet }))
    }
  })
  return {
    answered: () => answered,
    stop: async () => {
      isOver = true
      await Promise.all(loops)
      return { failures, ids }
    },
  }
}

const folder = await sharedFolder('upgrade')
const chain = await shared(startChain(network))
const service = await shared(startService({ rpcUrls: { [network]: chain.rpcUrl } }))
afterTests(async () => {
  await Promise.all([...stops].map((stop) => stop()))
})

test('from the last version to this one, under load: no request fails, and no transaction is lost', async () => {
  const tag = newestTag()
  const [earlier, later, contracted] = ['earlier', 'later', 'contracted'].map((name) => join(folder, name))
  if (earlier === undefined || later === undefined || contracted === undefined) throw new Error('no folder')
  if (tag === null) {
    await copy(earlier)
    await addColumns(earlier, { earlier: true, later: false }, EXPAND.slice(0, 1))
  } else await checkOut(tag, earlier)
  await copy(later)
  await addColumns(later, { earlier: false, later: true }, EXPAND)
  await copy(contracted)
  await addColumns(contracted, { earlier: false, later: true }, [...EXPAND, CONTRACT])

  const migrate = async (version: string) => {
    const run = await cli(version, ['db', 'migrate'], service.database.url)
    expect({ code: await run.ended, output: run.output() }).toMatchObject({ code: 0 })
  }
  await migrate(earlier)
  const balancer = startBalancer()
  const old = await startVersion(earlier, join(folder, 'earlier.sock'))
  await balancer.add(old.api)
  const wallets = await Promise.all(
    Array.from({ length: SENDERS }, async () => {
      const { address } = await service.newWallet({ network })
      await chain.fund(address)
      return address
    }),
  )
  const load = startLoad(balancer.next, wallets)
  const untilMore = async () => {
    for (const enough = load.answered() + 24; load.answered() < enough; ) await Bun.sleep(20)
  }
  await untilMore()

  // The later version refuses to start before the migration, with a sentence that says what to do.
  const early = await start(program(later, 'src/main/api.ts'), { ...service.variables, PORT: '0' }, '\u0000')
  expect(await early.ended).toBe(1)
  expect(early.output()).toContain('it lacks projects.later_note')

  await migrate(later)
  await untilMore()
  const now = await startVersion(later, join(folder, 'later.sock'))
  await balancer.add(now.api)
  await untilMore()
  expect(balancer.ready()).toHaveLength(2)
  expect(await old.stop()).toEqual([0, 0, 0])
  await untilMore()

  if (tag === null) await migrate(contracted)
  await untilMore()
  const { failures, ids } = await load.stop()
  expect(failures.slice(0, 3)).toEqual([])
  expect(ids.length).toBeGreaterThan(20)
  const settled = await Promise.all(ids.map((id) => service.settled(id, 60_000)))
  expect(settled.map(({ json }) => json.status)).toEqual(ids.map(() => 'success'))
  balancer.stop()
  expect(await now.stop()).toEqual([0, 0, 0])
}, 240_000)
