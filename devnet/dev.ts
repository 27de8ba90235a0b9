// `bun run dev`: the whole service on one machine, with its own chains and database. Ends with SIGTERM or Ctrl-C.

import { relative } from 'node:path'
import { networkRows } from '../src/platform/networks.ts'
import { lockDevFolder, openDevFolder, rotateLogs } from './dev-folder.ts'
import {
  type DevJson,
  readDevJson,
  removeCommandEnv,
  removeDevJson,
  writeCommandEnv,
  writeDevJson,
} from './dev-json.ts'
import { becomesFree } from './port.ts'
import { createProgress } from './progress.ts'
import { runnerGone } from './runner.ts'
import { createStack } from './stack.ts'

const DEFAULT_PORT = 3000
/** How long the parts of a killed stack may still hold their ports. */
const KILLED_STACK_GRACE_MS = 30_000
/** The last two, to look at a request's log and traces. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'USER', 'ACCESS_LOG', 'OTEL_EXPORTER_OTLP_ENDPOINT']

/** The shortest path from the working directory. */
const shown = (path: string): string => {
  const short = relative(process.cwd(), path)
  return short === '' || short.startsWith('..') ? path : short
}

const parsePort = (text: string | undefined): number => {
  const port = text === undefined || text === '' ? DEFAULT_PORT : Number(text)
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error('PORT must be a number from 1 to 65535.')
  return port
}

/** A Substrate chain has no chain id. */
const kindOf = (network: string, chainId: number): string => {
  if (chainId !== 0) return `chain id ${chainId}`
  const row = networkRows({ environment: 'testnet', devnet: true }).find((each) => each.network === network)
  return row !== undefined && 'hasPrograms' in row && row.hasPrograms
    ? `a local Asset Hub in the place of ${network}: balances, no programs`
    : 'a local Asset Hub'
}

const welcome = (dev: DevJson, folder: string): string => {
  const body = {
    network: 'Ethereum',
    name: 'My first wallet',
    control_mode: 'developer',
    developer_secret: dev.developer_secret,
  }
  const networks = Object.entries(dev.networks).map(
    ([name, { rpc_url, chain_id }]) => `  ${name.padEnd(16)} ${rpc_url} (${kindOf(name, chain_id)})`,
  )
  return `
Strongroom is ready after ${(performance.now() / 1000).toFixed(1)} s.

  URL              ${dev.base_url} (${dev.base_url}/openapi describes each call)
  project id       ${dev.project_id}
  API key          ${dev.api_key}
  developer_secret ${dev.developer_secret}
  users log in at  ${dev.base_url}/login?project_id=${dev.project_id}
  mails are at     ${dev.base_url}/dev/mailbox
  metrics are at   ${dev.metrics_urls.join(' and ')}
${networks.join('\n')}
  data and logs    ${folder}

Create a wallet:

curl -sS ${dev.base_url}/wallets \\
  -H 'Authorization: Bearer ${dev.api_key}' \\
  -H 'X-WalletKit-Project-ID: ${dev.project_id}' \\
  -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(body)}'

Ctrl-C ends it; the next start finds everything as it was.`
}

const showConsole = (link: string): void =>
  console.log(`
The operators' console, by this link once within ten minutes, and then by a passkey:

  ${link}

Another link: npm run cli -- console link --name dev --role operator`)

/** Resolves when this process gets a signal to stop. */
const askedToEnd = (): Promise<void> =>
  new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve())
    void runnerGone().then(resolve)
  })

const run = async (): Promise<number> => {
  const port = parsePort(process.env.PORT)
  const folder = await openDevFolder(process.env.DEV_DIR || '.dev')
  const shownFolder = shown(folder.root)
  if (!lockDevFolder(folder)) {
    throw new Error(`Another dev stack is running on ${shownFolder}: stop it, or choose another folder with DEV_DIR=….`)
  }
  const wasKilled = (await readDevJson(folder.root).catch(() => undefined)) !== undefined
  await removeDevJson(folder.root)
  await removeCommandEnv(folder.root)
  const portGraceMs = wasKilled ? KILLED_STACK_GRACE_MS : 0
  if (wasKilled) console.log('The last stack was killed: waiting until its ports are free.')
  if (!(await becomesFree(port, portGraceMs))) {
    throw new Error(`Port ${port} is taken: choose another with PORT=…, for example PORT=${port + 1} npm run dev.`)
  }
  await rotateLogs(folder)
  console.log(`Strongroom starts in ${shownFolder}. On a slow machine this takes minutes.`)

  const inherited = Object.fromEntries(INHERITED.map((name) => [name, process.env[name]]))
  const progress = createProgress((line) => console.log(line))
  const stack = createStack({ folder, port, portGraceMs, inherited, progress })
  const end = askedToEnd().then(() => undefined)
  try {
    const started = await Promise.race([stack.start(), stack.failed.then(fail), end])
    progress.end()
    if (started === undefined) return 0
    await writeCommandEnv(folder.root, started.commandEnv)
    await writeDevJson(folder.root, started.dev)
    console.log(welcome(started.dev, shownFolder))
    // The start does not wait for it: most developers need no console.
    const consoleShown = started.startConsole().then(async ({ link, port: consolePort }) => {
      await writeCommandEnv(folder.root, { ...started.commandEnv, CONSOLE_PORT: String(consolePort) })
      showConsole(link)
    })
    await Promise.race([stack.failed.then(fail), end, consoleShown.then(() => end)])
    return 0
  } finally {
    progress.end()
    await removeDevJson(folder.root)
    await stack.stop()
    // Last, because a console that was about to be ready writes it once more.
    await removeCommandEnv(folder.root)
  }
}

const fail = (sentence: string): never => {
  throw new Error(sentence)
}

try {
  process.exit(await run())
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
