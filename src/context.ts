// What every verb gets first: built once a process, and handed down. Nothing else in a process is global.

import type { Db } from '../db/client.ts'
import { openDb } from '../db/client.ts'
import { readFacts, writeFacts } from '../db/queries/facts.ts'
import { type WalletPlace, type WalletRow, walletsAt } from '../db/queries/wallets.ts'
import { EVM_NETWORKS, type Network } from '../db/words.ts'
import { createBatcher } from './batcher.ts'
import type { Chain } from './chains/chain.ts'
import { createEvmChain } from './chains/evm/chain.ts'
import { evmNetworkRow } from './chains/networks.ts'
import type { Config } from './config.ts'
import { checkDeployment } from './custody/deployment.ts'
import { openRootKey } from './custody/root-key.ts'
import { openSealer } from './custody/sealer.ts'
import { createVault, type Vault } from './custody/vault.ts'
import { AppError } from './errors.ts'
import { createLog, type Log } from './log.ts'
import { createMailboxes, type Mailboxes } from './transactions/mailbox.ts'

export type Chains = {
  /** @throws not_implemented for a network that this deployment does not serve. */
  get(network: Network): Chain
  /** Those that are served, in the order of the closed list. */
  readonly all: readonly Chain[]
}

export type Ctx = {
  readonly config: Config
  readonly db: Db
  readonly chains: Chains
  readonly vault: Vault
  readonly mailboxes: Mailboxes
  /** A project's wallet at an address; requests that look at the same time share one query. */
  readonly walletAt: (place: WalletPlace) => Promise<WalletRow | null>
  readonly now: () => Date
  readonly log: Log
}

/** The worker's context: it has no vault, so that no job can open a wallet. */
export type WorkerCtx = Omit<Ctx, 'vault' | 'mailboxes' | 'walletAt'>

const createChains = (input: { readonly config: Config; readonly db: Db }): Chains => {
  const { config, db } = input
  const chains = new Map<Network, Chain>()
  for (const network of EVM_NETWORKS) {
    const rpcUrl = config.rpcUrls[network]
    if (rpcUrl === undefined) continue
    const row = evmNetworkRow({ network, environment: config.environment, devnet: config.devnet })
    const memory = {
      readFacts: (query: { network: Network; addresses: readonly string[] }) => readFacts(db, query),
      writeFacts: (fact: Parameters<typeof writeFacts>[1]) => writeFacts(db, fact),
    }
    chains.set(network, createEvmChain({ row, rpcUrl: rpcUrl.reveal(), memory }))
  }
  return {
    get: (network) => {
      const chain = chains.get(network)
      if (chain === undefined) throw new AppError('not_implemented', `${network} is not served by this deployment.`)
      return chain
    },
    all: [...chains.values()],
  }
}

type Process = { readonly config: Config; readonly process: string }

const createBase = (input: Process): WorkerCtx => {
  const db = openDb({
    url: input.config.databaseUrl.reveal(),
    maxConnections: input.config.databaseMaxConnections,
    applicationName: `strongroom-${input.process}`,
  })
  return {
    config: input.config,
    db,
    chains: createChains({ config: input.config, db }),
    now: () => new Date(),
    log: createLog(input),
  }
}

const LOOKED_UP_TOGETHER_MAX = 500

const createWalletAt = (db: Db): Ctx['walletAt'] => {
  const keyOf = (place: WalletPlace) => `${place.projectId} ${place.network} ${place.address}`
  const readTogether = createBatcher({
    sizeMax: LOOKED_UP_TOGETHER_MAX,
    run: async (places: readonly WalletPlace[]) =>
      new Map((await walletsAt(db, places)).map((row) => [keyOf(row), row])),
  })
  return async (place) => (await readTogether(place)).get(keyOf(place)) ?? null
}

/**
 * The context of a process that opens wallets.
 * @param input.process names the process in the log and in pg_stat_activity.
 * @throws Error where the root key, the service key, the environment or the chain ids do not fit the database.
 */
export const createCtx = async (input: Process): Promise<Ctx> => {
  const { config } = input
  if (config.rootKey === null) throw new Error('ROOT_KEY must say where the root key is: file:/path or fd:N.')
  const base = createBase(input)
  const { environment } = config
  const rootKey = await openRootKey(config.rootKey)
  const sealer = await openSealer(config.serviceKey)
  await checkDeployment({ db: base.db, environment, chainIds: chainIdsOf(config), rootKey, sealer })
  const vault = createVault({ db: base.db, rootKey, sealer, environment, now: base.now })
  return { ...base, vault, mailboxes: createMailboxes(), walletAt: createWalletAt(base.db) }
}

/** The context of a process without a vault. @throws Error where the keys or the environment do not fit the database. */
export const createWorkerCtx = async (input: Process): Promise<WorkerCtx> => {
  const { config } = input
  const base = createBase(input)
  const { environment } = config
  const sealer = await openSealer(config.serviceKey)
  await checkDeployment({ db: base.db, environment, chainIds: chainIdsOf(config), rootKey: null, sealer })
  return base
}

/** What the database's check row binds a deployment to, whichever of the networks it serves. */
const chainIdsOf = (config: Config): Record<string, number> =>
  Object.fromEntries(
    EVM_NETWORKS.map((network) => [
      network,
      evmNetworkRow({ network, environment: config.environment, devnet: config.devnet }).chainId,
    ]),
  )
