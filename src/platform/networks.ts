// The networks of this service. Each has a file in networks/ with all that is specific to it, but for its well-known
// tokens (networks/tokens.json).

import type { Environment, Network } from '../../db/words.ts'
import { avalanche } from './networks/avalanche.ts'
import { base } from './networks/base.ts'
import { ethereum } from './networks/ethereum.ts'
import { parseNetworksFile } from './networks/file.ts'
import {
  type EvmNetworkFile,
  type EvmNetworkRow,
  gweiOf,
  type NetworkRow,
  type SubstrateNetworkFile,
  type SubstrateNetworkRow,
} from './networks/network.ts'
import { polkadot } from './networks/polkadot.ts'
import { polygon } from './networks/polygon.ts'
import { knownTokens } from './networks/tokens.ts'
import { vara } from './networks/vara.ts'

export type { EvmNetworkRow, NetworkRow, SubstrateNetworkRow, TokenDisplay } from './networks/network.ts'

const EVM = [ethereum, polygon, base, avalanche] as const
const SUBSTRATE = [polkadot, vara] as const

export type EvmNetwork = (typeof EVM)[number]['network']
export type SubstrateNetwork = (typeof SUBSTRATE)[number]['network']

export const EVM_NETWORKS: readonly EvmNetwork[] = EVM.map(({ network }) => network)
export const SUBSTRATE_NETWORKS: readonly SubstrateNetwork[] = SUBSTRATE.map(({ network }) => network)
export const NETWORKS: readonly (EvmNetwork | SubstrateNetwork)[] = [...EVM_NETWORKS, ...SUBSTRATE_NETWORKS]

/** The words that requests use for the coins of the built-in networks, in place of a contract address. */
export const COIN_WORDS: readonly string[] = [...new Set([...EVM, ...SUBSTRATE].map(({ coin }) => coin.word))]

/** The name of a network's environment variable: `ETHEREUM_RPC_URL`. */
export const variableOf = (network: Network, what: string): string => `${network.toUpperCase()}_${what}`

/** The devnet's chains are local: few confirmations and frequent polling are enough. */
const DEVNET_OVERRIDES = {
  blockIntervalMs: 1_000,
  confirmations: 1,
  finalDepth: 12,
  wholeBackfillBlocks: 100_000,
  pollIntervalMs: 200,
  climbAfterSeconds: 3,
  expireAfterSeconds: 20,
  explorerUrl: null,
} as const

/**
 * How long without a block is too long. The devnet's chains may make blocks only with transactions, unless the operator
 * says how long.
 * @throws Error for a limit that ordinary blocks exceed: no time of a waiting transaction would ever count.
 */
const stalledOf = (file: { readonly network: Network; readonly blockIntervalMs: number }, setting: Setting) => {
  const { devnet, stalledAfterSeconds: chosen = {} } = setting
  const own = chosen[file.network]
  const leastSeconds = Math.ceil((STALLED_BLOCKS_MIN * file.blockIntervalMs) / 1_000)
  if (!devnet && own !== undefined && own < leastSeconds) {
    const name = variableOf(file.network, 'STALLED_AFTER_SECONDS')
    throw new Error(`${name} must be at least ${leastSeconds}, the usual time of ${STALLED_BLOCKS_MIN} blocks.`)
  }
  const seconds = own ?? usualStalledSeconds(file, setting)
  return { seconds, shownAfterMs: devnet && own === undefined ? null : seconds * 1_000 }
}

/** Nodes of one network are often a block or two apart, and after a slow block for some seconds. */
const WATCH = { everyMs: 5_000, behindMs: 30_000 } as const
const LOCAL_WATCH = { everyMs: 500, behindMs: 2_000 } as const

/** Blocks of an ordinary chain are late now and then, and a node that restarts is away for some time. */
const STALLED_BLOCKS = 10
/** A block or two are left out on every chain. */
const STALLED_BLOCKS_MIN = 3
const STALLED_MIN_SECONDS = 60
/** Short like the other times of the devnet's chains. */
const LOCAL_STALLED_SECONDS = 10

const usualStalledSeconds = (
  { blockIntervalMs }: { readonly blockIntervalMs: number },
  { devnet }: Pick<Setting, 'devnet'>,
): number =>
  devnet ? LOCAL_STALLED_SECONDS : Math.max(STALLED_MIN_SECONDS, Math.ceil((STALLED_BLOCKS * blockIntervalMs) / 1_000))

type Setting = {
  /** The networks of NETWORKS_FILE. */
  readonly further?: readonly EvmNetworkFile[]
  readonly environment: Environment
  readonly devnet: boolean
  /** The operator's fee ceilings; the default applies to the other networks. */
  readonly maxFeesPerGasWei?: Readonly<Partial<Record<Network, bigint>>>
  /** The operator's limits, for networks that stand still more or less often than most. */
  readonly stalledAfterSeconds?: Readonly<Partial<Record<Network, number>>>
}

/** @throws Error for a ceiling below the network's minimum fee. */
const ceilingOf = (file: EvmNetworkFile, chosenWei: bigint | undefined): bigint => {
  const { network, minPriorityFeeWei, maxFeePerGasCapWei } = file
  if (chosenWei === undefined) return maxFeePerGasCapWei
  if (chosenWei > minPriorityFeeWei) return chosenWei
  const least = gweiOf(minPriorityFeeWei)
  throw new Error(`${variableOf(network, 'MAX_FEE_GWEI')} must be above ${least}, the least that ${network} takes.`)
}

const evmRow = (file: EvmNetworkFile, setting: Setting): EvmNetworkRow => {
  const { environment, devnet, maxFeesPerGasWei } = setting
  const stalled = stalledOf(file, setting)
  const { chainIds, explorerUrls, ...row } = file
  return {
    ...row,
    explorerUrl: explorerUrls[environment],
    ...(devnet ? DEVNET_OVERRIDES : {}),
    maxFeePerGasCapWei: ceilingOf(file, maxFeesPerGasWei?.[file.network]),
    chainId: chainIds[environment],
    knownTokens: knownTokens(file.network, environment),
    stalledAfterSeconds: stalled.seconds,
    watch: { ...(devnet ? LOCAL_WATCH : WATCH), stalledAfterMs: stalled.shownAfterMs },
  }
}

/** The devnet's chains lack the contracts of the networks whose names they have. */
const builtInRow = (file: EvmNetworkFile, setting: Setting): EvmNetworkRow => {
  const row = evmRow(file, setting)
  return setting.devnet ? { ...row, gasPriceOracle: null } : row
}

const ERA = { seconds: 300, least: 16, most: 1_024 } as const
/** Local chains produce blocks only when needed, so eras are short. */
const LOCAL_ERA = { seconds: 300, least: 16, most: 16 } as const

const substrateRow = (file: SubstrateNetworkFile, setting: Setting): SubstrateNetworkRow => {
  const { environment, devnet } = setting
  const stalled = stalledOf(file, setting)
  const { genesisHashes, localGenesisHash, hashedSymbols, explorerUrls, ...row } = file
  return {
    ...row,
    explorerUrl: devnet ? null : explorerUrls[environment],
    hashedSymbol: hashedSymbols[environment],
    genesisHash: devnet ? localGenesisHash : genesisHashes[environment],
    era: devnet ? LOCAL_ERA : ERA,
    stalledAfterSeconds: stalled.seconds,
    pollIntervalMs: devnet ? 200 : 3_000,
    knownTokens: new Map(),
    watch: { ...(devnet ? LOCAL_WATCH : WATCH), stalledAfterMs: stalled.shownAfterMs },
  }
}

const fileOf = <File extends { readonly network: Network }>(files: readonly File[], network: Network): File => {
  const file = files.find((each) => each.network === network)
  if (file === undefined) throw new Error(`There is no file of a network named ${network}.`)
  return file
}

/** The row of one EVM network in an environment. @throws Error for a ceiling below the network's minimum fee. */
export const evmNetworkRow = ({ network, ...setting }: Setting & { readonly network: Network }): EvmNetworkRow =>
  builtInRow(fileOf<EvmNetworkFile>(EVM, network), setting)

export const substrateNetworkRow = ({
  network,
  ...setting
}: Setting & { readonly network: Network }): SubstrateNetworkRow =>
  substrateRow(fileOf<SubstrateNetworkFile>(SUBSTRATE, network), setting)

export const networkRows = (setting: Setting): readonly NetworkRow[] => [
  ...EVM.map((file) => builtInRow(file, setting)),
  ...SUBSTRATE.map((file) => substrateRow(file, setting)),
  ...(setting.further ?? []).map((file) => evmRow(file, setting)),
]

/** Parses the text of NETWORKS_FILE; it must not redefine a built-in network. */
export const furtherNetworks = (input: { readonly name: string; readonly text: string }): readonly EvmNetworkFile[] =>
  parseNetworksFile({
    ...input,
    taken: [
      ...EVM.map(({ network, chainIds }) => ({ network, chainIds: Object.values(chainIds) })),
      ...SUBSTRATE.map(({ network }) => ({ network, chainIds: [] })),
    ],
  })

/** The addresses that mints come from and burns go to (EIP-721, EIP-1155; on Substrate, of the public key of zeros). */
export const NOBODIES: ReadonlySet<string> = new Set([
  '0x0000000000000000000000000000000000000000',
  ...SUBSTRATE.map(({ nobody }) => nobody),
])
