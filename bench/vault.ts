// What it costs that the vault is a process of its own: the same signatures by a vault in this process, as it was
// before, and by one over its socket, in turns. Each opens the wallet's key with the developer secret and signs one
// transaction, in one message. Whole requests to /transactions/sign come beside them, with either vault behind the
// route (vault-doors.ts).

import { dirname, join } from 'node:path'
import type { WalletRow } from '../db/queries/vault/keyrings.ts'
import { findWalletById } from '../db/queries/wallets.ts'
import { payloadOf } from '../src/chains/evm/encode.ts'
import { openVault } from '../src/main/open-vault.ts'
import { readConfig } from '../src/platform/config.ts'
import { connectVault } from '../src/vault/client/remote-vault.ts'
import { onlySignature } from '../src/vault/contract/contract.ts'
import type { Vault } from '../src/vault/contract/vault.ts'
import type { Service } from '../test/support/service.ts'
import { headersOf, type LoadResult, load, median, middle, repeat } from './load.ts'
import { start } from './processes.ts'
import { RECIPIENT, TRANSFER_GAS } from './signers.ts'
import { measureCpu } from './usage.ts'

const AT_ONCE = 32
const WALLETS = 32
/** Short, and many: whatever else the machine does meets both ways alike. */
const SECONDS = 1
const ROUNDS = 8
/** Until then a part of the time goes into compiling. */
const WARM_ROUNDS = 4
const GWEI = 1_000_000_000n
const SECRET = 'testnet-secret'

const WAYS = ['same process', 'over its socket'] as const
type Way = (typeof WAYS)[number]

/** One by one, many at once, and as many requests over HTTP. */
const LOADS = ['single', 'many', 'requests'] as const
type Load = (typeof LOADS)[number]

type Cost = LoadResult & {
  /**
   * For one signature, without PostgreSQL and who sends requests: of this process or the API's, and the vault's,
   * together.
   */
  readonly cpuMs: number
  /** The vault's process alone. */
  readonly vaultCpuMs: number
}
type Costs = Readonly<Record<Load, Cost>>

export type VaultBench = {
  /** Medians over the rounds, as is all that follows. */
  readonly costs: Readonly<Record<Way, Costs>>
  /** What the socket adds to a signature, one by one. */
  readonly addedP50Ms: number
  /** CPU time of a signature over the socket, in those of one in the same process, at many at once. */
  readonly cpuRatio: number
  /** The same of a whole request. */
  readonly requestCpuRatio: number
}

const PAYLOADS = Array.from({ length: 1_024 }, (_, nonce) =>
  payloadOf({
    family: 'evm',
    chainId: 1,
    nonce,
    to: RECIPIENT,
    value: 1n,
    input: '0x',
    gasLimit: TRANSFER_GAS,
    maxFeePerGas: 100n * GWEI,
    maxPriorityFeePerGas: GWEI,
  }),
)

type SignedBy = WalletRow & { readonly address: string }

export const newWallets = (service: Service): Promise<readonly SignedBy[]> =>
  Promise.all(
    Array.from({ length: WALLETS }, async () => {
      const { id } = await service.newWallet({ network: 'Ethereum' })
      const wallet = await findWalletById(service.ctx.db, id)
      if (wallet === null) throw new Error('a new wallet has no row')
      return wallet
    }),
  )

export const signOne = async (vault: Vault, wallet: WalletRow, index: number): Promise<void> => {
  const nonce = index % PAYLOADS.length
  const payloads = PAYLOADS.slice(nonce, nonce + 1)
  const details = { network: wallet.network, to: RECIPIENT, value: '1', nonce: String(nonce) }
  const uses = [{ action: 'transaction_signed', details, payloads }] as const
  const credentials = { developerSecret: SECRET }
  onlySignature(await vault.signOnce({ wallet, credentials, actor: 'operator', uses }))
}

const bodyOf = (wallet: SignedBy, nonce: number) => ({
  network: 'Ethereum',
  signer_wallet_address: wallet.address,
  developer_secret: SECRET,
  unsigned_transaction: {
    to: RECIPIENT,
    value: '1',
    gasLimit: String(TRANSFER_GAS),
    maxFeePerGas: String(100n * GWEI),
    maxPriorityFeePerGas: String(GWEI),
    nonce: String(nonce),
  },
})

/** Both vaults of one database, here and behind an API: those in process have as many connections as an API has. */
const startVaults = async (service: Service) => {
  const socket = join(dirname(service.variables.VAULT_SOCKET ?? ''), 'bench.socket')
  const { vaultVariables, database } = service
  const variables = { ...vaultVariables, VAULT_SOCKET: socket, LOG_LEVEL: 'info' }
  const vault = await start({ file: 'src/main/vault.ts', variables, until: /"msg":"listening"/ })
  const doors = await start({
    file: 'bench/vault-doors.ts',
    variables: {
      ...variables,
      ...service.variables,
      VAULT_SOCKET: socket,
      DATABASE_URL: database.apiUrl,
      VAULT_DATABASE_URL: database.vaultUrl,
    },
    until: /listening ([0-9]+) ([0-9]+)/,
  })
  const here = await openVault({
    config: readConfig(vaultVariables),
    process: 'bench',
    log: console,
    onJournalLost: () => {},
  })
  const remote = connectVault({ sockets: [socket], name: 'bench', onChange: () => {} })
  const urlOf = (port = '') => `http://127.0.0.1:${port}/transactions/sign`
  const [, ownPort, askingPort] = doors.match
  return {
    ways: {
      'same process': { vault: here.vault, url: urlOf(ownPort) },
      'over its socket': { vault: remote, url: urlOf(askingPort) },
    },
    pids: { vault: vault.pid, api: doors.pid },
    stop: async () => {
      remote.close()
      await here.close({ timeoutSeconds: 5 })
      await doors.stop()
      await vault.stop()
    },
  }
}

const middleCost = (costs: readonly Cost[]): Cost => ({
  ...middle(costs),
  cpuMs: median(costs.map(({ cpuMs }) => cpuMs)),
  vaultCpuMs: median(costs.map(({ vaultCpuMs }) => vaultCpuMs)),
})

/** Runs one load on one way, and says what it costs. */
const createRun = (input: {
  readonly service: Service
  readonly wallets: readonly SignedBy[]
  readonly started: Awaited<ReturnType<typeof startVaults>>
}) => {
  const { ways, pids } = input.started
  const headers = headersOf(input.service)
  const walletAt = (index: number) => {
    const wallet = input.wallets[index % WALLETS]
    if (wallet === undefined) throw new Error('expected wallets')
    return wallet
  }
  const request = (index: number) => ({ method: 'POST', headers, body: JSON.stringify(bodyOf(walletAt(index), index)) })
  return async (way: Way, what: Load): Promise<Cost> => {
    const { vault, url } = ways[way]
    const seconds = SECONDS
    const work = (index: number) => signOne(vault, walletAt(index), index)
    const { cpuMs, result } = await measureCpu({ ...pids, bench: process.pid }, () =>
      what === 'requests'
        ? load({ url, request, atOnce: AT_ONCE, seconds })
        : repeat({ work, atOnce: what === 'single' ? 1 : AT_ONCE, seconds }),
    )
    const caller = what === 'requests' ? cpuMs.api : cpuMs.bench
    const { requests } = result
    return { ...result, cpuMs: (caller + cpuMs.vault) / requests, vaultCpuMs: cpuMs.vault / requests }
  }
}

/** Signatures by a vault in the same process, and by one over its socket. */
export const benchVault = async (service: Service): Promise<VaultBench> => {
  const wallets = await newWallets(service)
  const started = await startVaults(service)
  const run = createRun({ service, wallets, started })
  const rounds = WAYS.map((way) => ({
    way,
    costs: { single: [] as Cost[], many: [] as Cost[], requests: [] as Cost[] },
  }))
  try {
    for (let round = 0; round < WARM_ROUNDS; round += 1) {
      for (const what of LOADS) for (const way of WAYS) await run(way, what)
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      // Each way is first as often as second.
      const turns = round % 2 === 0 ? rounds : rounds.toReversed()
      for (const what of LOADS) for (const { way, costs } of turns) costs[what].push(await run(way, what))
    }
  } finally {
    await started.stop()
  }
  const costs = Object.fromEntries(
    rounds.map(({ way, costs: { single, many, requests } }) => [
      way,
      { single: middleCost(single), many: middleCost(many), requests: middleCost(requests) },
    ]),
  ) as Record<Way, Costs>
  const { 'same process': same, 'over its socket': remote } = costs
  return {
    costs,
    addedP50Ms: remote.single.p50Ms - same.single.p50Ms,
    cpuRatio: remote.many.cpuMs / same.many.cpuMs,
    requestCpuRatio: remote.requests.cpuMs / same.requests.cpuMs,
  }
}

const TITLES: Readonly<Record<Load, string>> = {
  single: 'one by one',
  many: `${AT_ONCE} at once`,
  requests: `over HTTP, ${AT_ONCE} at once`,
}

export const vaultTable = ({ costs, addedP50Ms, cpuRatio, requestCpuRatio }: VaultBench): readonly string[] => [
  '\nSignatures of a vault in                                 per second   p50 ms   p99 ms   CPU ms of one   of the vault',
  ...LOADS.flatMap((what) =>
    WAYS.map((way) => {
      const { perSecond, p50Ms, p99Ms, cpuMs, vaultCpuMs } = costs[way][what]
      const figures = [perSecond.toFixed(0).padStart(12), p50Ms.toFixed(2).padStart(9), p99Ms.toFixed(2).padStart(9)]
      return `  ${TITLES[what].padEnd(26)} ${way.padEnd(25)}${figures.join('')}${cpuMs.toFixed(3).padStart(16)}${vaultCpuMs.toFixed(3).padStart(16)}`
    }),
  ),
  `  a process of its own adds ${addedP50Ms.toFixed(2)} ms to the p50 of one by one (aim: at most 0.3)`,
  `  CPU time at ${AT_ONCE} at once: ${cpuRatio.toFixed(2)} times that of the same process, of whole requests ${requestCpuRatio.toFixed(2)} times (aim: at most 1.25)`,
]
