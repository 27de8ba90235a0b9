import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type DevJson, readDevJson } from '../../devnet/dev-json.ts'
import { freePort } from '../../devnet/port.ts'
import { readProcess } from '../../devnet/process-info.ts'
import { callRpc } from '../../devnet/rpc.ts'
import { accountKey, publicKeyFrom, readFree } from '../../devnet/substrate-account.ts'
import { withDevStack } from '../../src/operators/cli/dev-stack.ts'
import { NETWORKS } from '../../src/platform/networks.ts'
import { runCli, runCliProcess } from '../support/cli.ts'
import { walkContractWallet } from './contract-wallet-walk.ts'
import { beginWalkAtUsualPlace, pasteWalks, walkPages } from './pages-walk.ts'

const scriptOf = (name: 'dev' | 'demo') => fileURLToPath(new URL(`../../devnet/${name}.ts`, import.meta.url))
const WORK_MS = 60_000
const TIMEOUT_MS = 600_000
let folder = ''
let port = 0

type Run = { readonly child: ChildProcess; readonly output: () => string; readonly exited: Promise<number | string> }
const runs: Run[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-dev-'))
  port = await freePort()
})

afterAll(async () => {
  for (const { child, exited } of runs) {
    child.kill('SIGTERM')
    await exited
  }
  await rm(folder, { recursive: true, force: true })
}, TIMEOUT_MS)

const run = ({ script = scriptOf('dev'), devFolder = folder, at = port } = {}): Run => {
  const env = { ...process.env, DEV_DIR: devFolder, PORT: String(at) }
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk)
    })
  }
  const exited = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'))
  })
  const started = { child, output: () => output, exited }
  runs.push(started)
  return started
}

const ready = async ({ child, output }: Run): Promise<DevJson> => {
  // A start takes as long as the machine needs. If it cannot succeed, it ends.
  while (child.exitCode === null) {
    const dev = await readDevJson(folder)
    if (dev !== undefined) return dev
    await sleep(50)
  }
  throw new Error(`The dev stack did not become ready:\n${output()}`)
}

const childrenOf = (pid: number | undefined): readonly number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter((candidate) => candidate > 0 && readProcess(candidate)?.parentPid === pid)

const headersOf = (dev: DevJson) => ({
  authorization: `Bearer ${dev.api_key}`,
  'x-project-id': dev.project_id,
  'content-type': 'application/json',
})

const call = async (dev: DevJson, path: string, body?: unknown): Promise<Record<string, unknown>> => {
  const response = await fetch(`${dev.base_url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: headersOf(dev),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  expect([path, response.status]).toEqual([path, 200])
  return (await response.json()) as Record<string, unknown>
}

const projectWallet = (dev: DevJson, network: string): Promise<Record<string, unknown>> =>
  call(dev, `/wallets/get-by-owner-id?network=${network}&owner_id=${dev.project_id}`)

/** The console's link that a stack or a command has printed. */
const linkIn = (output: string): string => /^ *(http:\/\/localhost:[0-9]+\/link\?secret=\S+)$/m.exec(output)?.[1] ?? ''

/** What a developer tries who has set nothing but the stack's folder. */
const tryCommands = async (dev: DevJson): Promise<void> => {
  const bare = { DEV_DIR: folder, HOME: process.env.HOME ?? '' }
  const doctor = await runCliProcess(['doctor'], bare)
  expect(doctor).toMatchObject({
    exitCode: 0,
    errors: `ENVIRONMENT is not set, so this is for the dev stack of ${folder}.\n`,
  })
  const variables = Object.fromEntries(
    Object.entries(withDevStack(bare, () => {})).map(([name, value = '']) => [name, value]),
  )
  expect(new URL(variables.DATABASE_URL ?? '').username).toBe('strongroom_dev_api')
  const cli = async (...args: readonly string[]) => {
    const ended = await runCli(args, variables)
    expect({ args, ...ended }).toMatchObject({ args, exitCode: 0 })
    return ended.output
  }
  expect(await cli('nodes')).toContain('Harbor')
  expect(await cli('tx', 'list', '--status', 'success')).toContain('Ethereum')
  // The settings of a project that the page shows, with the values that it shows.
  const page = await readFile(new URL('../../docs/deployment.md', import.meta.url), 'utf8')
  const settings = [...page.matchAll(/`bun run cli (project (?:\S+ add|\S+) <id> [^`…]+)`/g)].map(
    ([, words = '']) => words,
  )
  expect(settings.length).toBe(4)
  for (const words of settings) await cli(...words.replace('<id>', dev.project_id).split(' '))
  expect(await cli('project', 'origins', 'list', dev.project_id)).toContain('https://app.example.com')
  // The vault takes part.
  const frozen = {
    network: 'Ethereum',
    signer_wallet_address: (await projectWallet(dev, 'Ethereum')).address,
    message: 'hello',
  }
  await cli('freeze', 'project', dev.project_id, '--reason', 'a trial')
  const refused = await fetch(`${dev.base_url}/transactions/sign-message`, {
    method: 'POST',
    headers: headersOf(dev),
    body: JSON.stringify({ ...frozen, developer_secret: dev.developer_secret }),
  })
  expect(refused.status).toBe(403)
  await cli('unfreeze', 'project', dev.project_id, '--reason', 'it is over')
  // The command that the console's login page shows.
  const login = await (await fetch(`${new URL(linkIn(runs[0]?.output() ?? '')).origin}/login`)).text()
  const [, shown = ''] = /<code>bun run cli ([^<]+)<\/code>/.exec(login) ?? []
  expect(await (await fetch(linkIn(await cli(...shown.split(' '))))).text()).toContain('Log in to the console?')
}

const balance = async (dev: DevJson, network: string, address: unknown): Promise<bigint> => {
  const url = (dev.networks[network]?.rpc_url ?? '').replace(/^ws:/, 'http:')
  if (dev.networks[network]?.chain_id !== 0) {
    return BigInt(String(await callRpc(url, 'eth_getBalance', [address, 'latest'])))
  }
  return readFree(String(await callRpc(url, 'state_getStorage', [accountKey(publicKeyFrom(String(address)))])))
}

test(
  'the stack starts, keeps its data, survives a kill, and stops cleanly',
  async () => {
    const first = run()
    const dev = await ready(first)
    expect(dev.base_url).toBe(`http://localhost:${port}`)
    for (const step of [
      'PostgreSQL',
      'tables of the database',
      'chain Harbor',
      'chain Vara',
      'API',
      'worker',
      'project',
      'coins on all networks',
    ]) {
      expect(first.output()).toMatch(new RegExp(`^ +[0-9.]+ s  ${step} after [0-9.]+ s$`, 'm'))
    }
    const [ofApi = '', ofWorker = ''] = dev.metrics_urls
    expect(await (await fetch(ofApi)).text()).toContain('\nstrongroom_database_up 1\n')
    const hasWorked = async () =>
      /\nstrongroom_job_wait_seconds_count\{task="track_blocks"\} [1-9]/.test(await (await fetch(ofWorker)).text())
    const deadline = Date.now() + WORK_MS
    while (!(await hasWorked()) && Date.now() < deadline) await sleep(50)
    expect(await hasWorked()).toBe(true)
    expect(Object.entries(dev.networks).map(([name, { chain_id }]) => [name, chain_id])).toEqual([
      ['Ethereum', 11_155_111],
      ['Polygon', 80_002],
      ['Base', 84_532],
      ['Avalanche', 43_113],
      ['Harbor', 31_338],
      ['Polkadot', 0],
      ['Vara', 0],
    ])
    expect((await stat(join(folder, 'dev.json'))).mode & 0o777).toBe(0o600)
    for (const key of ['root', 'service']) {
      expect(await stat(join(folder, 'keys', `${key}.key`))).toMatchObject({ size: 32, mode: 0o100600 })
    }
    for (const [network, { chain_id }] of Object.entries(dev.networks)) {
      const { address } = await projectWallet(dev, network)
      expect(await balance(dev, network, address)).toBe(1000n * 10n ** (chain_id === 0 ? 12n : 18n))
    }

    // The printed request works when pasted.
    const command = first.output().slice(first.output().indexOf('curl '), first.output().indexOf('\n\nCtrl-C'))
    const curl = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] })
    let answer = ''
    for await (const chunk of curl.stdout) answer += String(chunk)
    const created = JSON.parse(answer)
    expect(created).toMatchObject({ network: 'Ethereum', name: 'My first wallet' })

    // The demo runs on the stack, while a contract wallet is tested with what the demo does not show.
    const demo = run({ script: scriptOf('demo') })
    await walkContractWallet(dev)
    expect({ ended: await demo.exited, output: demo.output() }).toEqual({
      ended: 0,
      output: expect.stringContaining('Everything held.'),
    })
    expect(demo.output()).not.toContain('No dev stack is running')
    for (const line of [
      /The batch in one transaction deploys it +code there; allowance 2 USD, 1\.5 USD sent, in its activity/,
      /One second after its revocation: refused +403 policy_denied; balanceOf still says 1/,
    ]) {
      expect(demo.output()).toMatch(line)
    }

    // The walks in the docs work as written.
    const walked = await walkPages(folder)
    expect(walked).not.toContain('"error":"')
    expect(walked.match(/"status":"success"/g)?.length).toBe(6)
    expect(walked).toContain('"name":"Door #1"')
    expect(walked).toContain('"name":"Ada"')
    const begun = `The walk uses the project ${dev.project_id} at ${dev.base_url}.\n`
    expect(walked).toStartWith(begun)
    expect(await beginWalkAtUsualPlace(folder)).toBe(begun)
    await tryCommands(dev)

    const sameFolder = run({ at: await freePort() })
    expect(await sameFolder.exited).toBe(1)
    expect(sameFolder.output()).toContain('Another dev stack is running')
    const samePort = run({ devFolder: join(folder, 'other') })
    expect(await samePort.exited).toBe(1)
    expect(samePort.output()).toContain(`Port ${port} is taken`)
    expect(samePort.output()).toContain('PORT=')

    const children = childrenOf(first.child.pid)
    // A chain for each network with the one of NETWORKS_FILE, PostgreSQL, vault, API, worker and console.
    expect(children.length).toBe(NETWORKS.length + 1 + 5)
    expect(await (await fetch(linkIn(first.output()))).text()).toContain('Log in to the console?')
    // Nobody can clean up after SIGKILL: the children end by themselves, and the next start copes.
    first.child.kill('SIGKILL')
    expect(await first.exited).toBe('SIGKILL')

    const second = run()
    while ((await readDevJson(folder)) !== undefined) await sleep(10)
    const again = await ready(second)
    expect(children.filter((pid) => readProcess(pid) !== undefined)).toEqual([])
    expect([again.project_id, again.api_key]).toEqual([dev.project_id, dev.api_key])
    // The settings of an app and of a wallet stay right.
    expect([again.networks, again.metrics_urls, again.database_url]).toEqual([
      dev.networks,
      dev.metrics_urls,
      dev.database_url,
    ])
    while (linkIn(second.output()) === '') await sleep(50)
    expect(new URL(linkIn(second.output())).origin).toBe(new URL(linkIn(first.output())).origin)
    const { address } = await projectWallet(again, 'Polygon')
    expect(await balance(again, 'Polygon', address)).toBe(1000n * 10n ** 18n)
    expect(await balance(again, 'Vara', (await projectWallet(again, 'Vara')).address)).toBe(1000n * 10n ** 12n)
    expect(await call(again, `/wallets/get-by-id?network=Ethereum&id=${created.id}`)).toEqual(created)

    const secondChildren = childrenOf(second.child.pid)
    const stoppedAt = Date.now()
    second.child.kill('SIGTERM')
    expect(await second.exited).toBe(0)
    expect(Date.now() - stoppedAt).toBeLessThan(5000)
    expect(secondChildren.filter((pid) => readProcess(pid) !== undefined)).toEqual([])
    expect(await readDevJson(folder)).toBeUndefined()
    await expect(readFile(join(folder, 'cli.env'))).rejects.toThrow('ENOENT')
  },
  TIMEOUT_MS,
)

test(
  'a walk without a stack says so, and one that loses it ends',
  async () => {
    const without = await pasteWalks(join(folder, 'none'), ['README.md'])
    expect(without).toContain(`No dev stack is ready in ${folder}/none: start it, or set DEV_DIR to its folder.`)
    expect(without).toContain('url: no dev stack is ready')
    expect(without).not.toContain('curl: ')
    // As a killed stack leaves it.
    const gone = await mkdtemp(join(folder, 'gone-'))
    const dev = { base_url: `http://localhost:${await freePort()}`, project_id: 'x', api_key: 'x' }
    await writeFile(join(gone, 'dev.json'), JSON.stringify(dev))
    const lost = await pasteWalks(gone)
    expect(lost).toContain(`The walk uses the project x at ${dev.base_url}.`)
    expect(lost.match(/^curl: \(7\)/gm)?.length).toBeWithin(20, 60)
  },
  TIMEOUT_MS,
)

test(
  'the stack ends with a warning if a part ends by itself, except for a Substrate chain',
  async () => {
    const stack = run()
    const dev = await ready(stack)
    const kill = (command: string) => {
      const pid = childrenOf(stack.child.pid).find((child) => readProcess(child)?.command.includes(command))
      if (pid === undefined) throw new Error(`${command} is not running.`)
      process.kill(pid, 'SIGKILL')
    }
    kill('"network":"Vara"')
    const warning = 'Warning: vara ended unexpectedly (SIGKILL)'
    for (const deadline = Date.now() + 5000; !stack.output().includes(warning); await sleep(20)) {
      if (Date.now() > deadline) throw new Error(`no warning: ${stack.output()}`)
    }
    expect(await projectWallet(dev, 'Ethereum')).toMatchObject({ network: 'Ethereum' })
    kill('src/main/worker.ts')
    expect(await stack.exited).toBe(1)
    expect(stack.output()).toContain('Warning: worker ended unexpectedly (SIGKILL)')
    expect(stack.output()).toMatch(/worker\.log ends:\n\{"level"/)
    expect(childrenOf(stack.child.pid)).toEqual([])
  },
  TIMEOUT_MS,
)
