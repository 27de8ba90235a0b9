// Ponder on the same chain and the same PostgreSQL. It is installed for the benchmark alone, into a folder that goes
// with it.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { freePort } from '../devnet/port.ts'

export const PONDER_VERSION = '1.0.0'
const INSTALL_TIMEOUT_MS = 120_000
const RUN_TIMEOUT_MS = 180_000
/** Behind the last block of interest: of one that ends on it, this version leaves its last block out. */
const BLOCKS_BEHIND = 10

const PACKAGE = {
  private: true,
  type: 'module',
  dependencies: { ponder: PONDER_VERSION, viem: '2.57.0', hono: '4.13.19' },
  overrides: { viem: '2.57.0' },
}

/** Its own limits lifted: requests a second, and the size and the time of an answer; it limits no range by itself. */
const CONFIG = `import { createConfig } from 'ponder'
import { http, parseAbi } from 'viem'

export default createConfig({
  networks: {
    local: {
      chainId: Number(process.env.CHAIN_ID),
      transport: http(process.env.RPC_URL, { maxResponseBodySize: false, timeout: 120_000 }),
      maxRequestsPerSecond: 1_000_000,
    },
  },
  contracts: {
    Token: {
      network: 'local',
      abi: parseAbi(['event Transfer(address indexed from, address indexed to, uint256 value)']),
      startBlock: 0,
      endBlock: Number(process.env.LAST_BLOCK),
    },
  },
})
`

const SCHEMA = `import { onchainTable } from 'ponder'

export const transfer = onchainTable('transfer', (t) => ({
  id: t.text().primaryKey(),
  contract: t.hex().notNull(),
  from: t.hex().notNull(),
  to: t.hex().notNull(),
  amount: t.bigint().notNull(),
  blockNumber: t.bigint().notNull(),
  transactionHash: t.hex().notNull(),
  logIndex: t.integer().notNull(),
  at: t.bigint().notNull(),
}))
`

const INDEXING = `import { ponder } from 'ponder:registry'
import { transfer } from 'ponder:schema'

ponder.on('Token:Transfer', async ({ event, context }) => {
  await context.db.insert(transfer).values({
    id: event.id,
    contract: event.log.address,
    from: event.args.from,
    to: event.args.to,
    amount: event.args.value,
    blockNumber: event.block.number,
    transactionHash: event.transaction.hash,
    logIndex: event.log.logIndex,
    at: event.block.timestamp,
  })
})
`

const API = `import { Hono } from 'hono'

export default new Hono()
`

export type Ponder = { readonly folder: string; readonly remove: () => Promise<void> }

/** @returns why not, where it cannot be installed: without a registry, or without Node and npm. */
export const installPonder = async (): Promise<Ponder | { readonly reason: string }> => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-ponder-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'src', 'api'), { recursive: true })
  const files = {
    'package.json': JSON.stringify(PACKAGE),
    'ponder.config.ts': CONFIG,
    'ponder.schema.ts': SCHEMA,
    'src/index.ts': INDEXING,
    'src/api/index.ts': API,
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  try {
    const install = ['npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel', 'error']
    const child = Bun.spawn(install, { cwd: folder, stdout: 'ignore', stderr: 'pipe', timeout: INSTALL_TIMEOUT_MS })
    const complaint = await new Response(child.stderr).text()
    if ((await child.exited) === 0) return { folder, remove }
    await remove()
    return { reason: complaint.match(/npm error code (\w+)/)?.[1] ?? `npm ended with ${child.exitCode}` }
  } catch (error) {
    await remove()
    return { reason: error instanceof Error ? error.message : String(error) }
  }
}

/** By its own log: from the first line about the blocks to the last. */
const timesIn = (output: string): { readonly begun: number; readonly done: number } | null => {
  const timeOf = (line: RegExp) => Number(output.match(line)?.[1] ?? Number.NaN)
  const begun = timeOf(/"time":(\d+)[^\n]*Started 'local' historical sync/)
  const done = timeOf(/"time":(\d+)[^\n]*Completed historical indexing/)
  return Number.isNaN(begun) || Number.isNaN(done) ? null : { begun, done }
}

/** @returns milliseconds from an empty database to all transfers in a table. @throws Error where some are missing. */
export const runPonder = async (input: {
  readonly ponder: Ponder
  readonly chainId: number
  readonly rpcUrl: string
  readonly lastBlock: number
  readonly transfers: number
  /** The server's, as superuser. */
  readonly databaseUrl: string
}): Promise<number> => {
  const admin = postgres(input.databaseUrl, { max: 1, onnotice: () => {} })
  const url = new URL(input.databaseUrl)
  url.pathname = '/ponder'
  await admin`create database ponder`
  const own = postgres(url.href, { max: 1, onnotice: () => {} })
  const binary = join(input.ponder.folder, 'node_modules', '.bin', 'ponder')
  const flags = ['start', '--schema', 'bench', '--port', String(await freePort()), '--log-format', 'json']
  const child = Bun.spawn(['node', binary, ...flags], {
    cwd: input.ponder.folder,
    env: {
      ...{ PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', PONDER_TELEMETRY_DISABLED: '1' },
      ...{ DATABASE_URL: url.href, RPC_URL: input.rpcUrl, CHAIN_ID: String(input.chainId) },
      LAST_BLOCK: String(input.lastBlock + BLOCKS_BEHIND),
    },
    stdout: 'pipe',
    stderr: 'ignore',
    timeout: RUN_TIMEOUT_MS,
  })
  try {
    let output = ''
    for await (const chunk of child.stdout) {
      output += Buffer.from(chunk).toString()
      const times = timesIn(output)
      if (times === null) continue
      const [row] = await own<{ count: number }[]>`select count(*)::int as count from bench.transfer`
      if (row?.count !== input.transfers) throw new Error(`Ponder has ${row?.count} transfers of ${input.transfers}`)
      return times.done - times.begun
    }
    throw new Error(`Ponder ended: ${output.slice(-2_000)}`)
  } finally {
    child.kill('SIGTERM')
    await child.exited
    await own.end()
    await admin`drop database ponder with (force)`
    await admin.end()
  }
}
