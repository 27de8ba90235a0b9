// The six networks as data. A network that needs a special case anywhere else needs a column here instead.

import {
  type Environment,
  EVM_NETWORKS,
  type EvmNetwork,
  type Network,
  SUBSTRATE_NETWORKS,
  type SubstrateNetwork,
} from '../../db/words.ts'
import type { Hex } from './intent.ts'

export type NativeCoin = {
  /** The word that clients compare with in place of a contract address. */
  readonly word: string
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  readonly displayDecimals: number
}

export type EvmNetworkRow = {
  readonly network: EvmNetwork
  readonly family: 'evm'
  readonly chainId: number
  readonly coin: NativeCoin
  /** Below this tip the network's nodes do not relay. */
  readonly minPriorityFeeWei: bigint
  /** Up to this a tip is believed as the node tells it; a higher one must be borne out by recent blocks (evm/market.ts). */
  readonly believedTipWei: bigint
  /** The ceiling: no transaction offers more per gas, unless its caller fixed the fee. An operator may choose another one. */
  readonly maxFeePerGasCapWei: bigint
  /** EIP-7623: a transaction costs at least so much by the length of its data. */
  readonly hasDataFloor: boolean
  /** Blocks with and above a transaction's own before it is told as success or failed. */
  readonly confirmations: number
  /** Depth after which a block is taken as final where the node does not say. */
  readonly finalDepth: number
  /**
   * So many blocks below the indexer are read whole for a wallet with a past: there internal coin movements and transfers
   * without indexed addresses are found as well. Below them only what eth_getLogs finds by address. At least `finalDepth`.
   */
  readonly wholeBackfillBlocks: number
  readonly pollIntervalMs: number
  /** A broadcast transaction that is not mined for so long offers more, and after so long is given up. */
  readonly climbAfterSeconds: number
  readonly expireAfterSeconds: number
  /** OP-stack chains charge for their data on layer 1 through this predeploy. */
  readonly gasPriceOracle: string | null
  /** The ENS registry (EIP-137), where the network has one: at the same address on Ethereum's testnets. */
  readonly nameRegistry: string | null
}

const GWEI = 1_000_000_000n

const ETHER: NativeCoin = { word: 'ETH', name: 'Ether', symbol: 'ETH', decimals: 18, displayDecimals: 6 }
const POL: NativeCoin = {
  word: 'MATIC',
  name: 'Polygon Ecosystem Token',
  symbol: 'POL',
  decimals: 18,
  displayDecimals: 4,
}
const AVAX: NativeCoin = { word: 'AVAX', name: 'Avalanche', symbol: 'AVAX', decimals: 18, displayDecimals: 4 }

/** Chain ids: testnet Sepolia, Amoy, Base Sepolia, Fuji; mainnet 1, 137, 8453, 43114 (chainlist of ethereum-lists). */
const CHAIN_IDS: Record<EvmNetwork, Record<Environment, number>> = {
  Ethereum: { testnet: 11_155_111, mainnet: 1 },
  Polygon: { testnet: 80_002, mainnet: 137 },
  Base: { testnet: 84_532, mainnet: 8453 },
  Avalanche: { testnet: 43_113, mainnet: 43_114 },
}

type Row = Omit<EvmNetworkRow, 'chainId' | 'network' | 'family'>

const ROWS: Record<EvmNetwork, Row> = {
  Ethereum: {
    coin: ETHER,
    // Below this go-ethereum leaves a transaction out of the blocks that it builds (miner.gasprice).
    minPriorityFeeWei: GWEI / 1_000n,
    // Higher ones are paid in rushes, and then the base fee is high as well.
    believedTipWei: 20n * GWEI,
    // The rushes of 2021 and 2022 went beyond it for minutes or hours: whoever must send then chooses a higher one.
    maxFeePerGasCapWei: 1_000n * GWEI,
    hasDataFloor: true,
    confirmations: 3,
    finalDepth: 64,
    // A day: some ten minutes of a node that traces.
    wholeBackfillBlocks: 7_200,
    pollIntervalMs: 2_000,
    climbAfterSeconds: 60,
    expireAfterSeconds: 3_600,
    gasPriceOracle: null,
    nameRegistry: '0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e',
  },
  Polygon: {
    coin: POL,
    // Bor refuses less (PIP-34 and the node's own default).
    minPriorityFeeWei: 25n * GWEI,
    believedTipWei: 300n * GWEI,
    // Inscriptions brought several thousand in 2023.
    maxFeePerGasCapWei: 10_000n * GWEI,
    hasDataFloor: true,
    confirmations: 10,
    finalDepth: 256,
    // Two hours.
    wholeBackfillBlocks: 3_600,
    pollIntervalMs: 1_000,
    climbAfterSeconds: 20,
    expireAfterSeconds: 1_800,
    gasPriceOracle: null,
    nameRegistry: null,
  },
  Base: {
    coin: ETHER,
    minPriorityFeeWei: GWEI / 1_000n,
    believedTipWei: 2n * GWEI,
    maxFeePerGasCapWei: 200n * GWEI,
    hasDataFloor: true,
    confirmations: 5,
    finalDepth: 1_000,
    // Two hours.
    wholeBackfillBlocks: 3_600,
    pollIntervalMs: 1_000,
    climbAfterSeconds: 20,
    expireAfterSeconds: 1_800,
    gasPriceOracle: '0x420000000000000000000000000000000000000F',
    nameRegistry: null,
  },
  Avalanche: {
    coin: AVAX,
    minPriorityFeeWei: GWEI / 1_000n,
    believedTipWei: 20n * GWEI,
    // Before its fees followed the load (ACP-176), inscriptions brought more than a thousand.
    maxFeePerGasCapWei: 2_000n * GWEI,
    hasDataFloor: false,
    confirmations: 1,
    finalDepth: 12,
    // Two hours.
    wholeBackfillBlocks: 3_600,
    pollIntervalMs: 1_000,
    climbAfterSeconds: 20,
    expireAfterSeconds: 1_800,
    gasPriceOracle: null,
    nameRegistry: null,
  },
}

/** On the devnet one block confirms, twelve make final, and followers look often: its chains are local. */
const DEVNET_OVERRIDES = {
  confirmations: 1,
  finalDepth: 12,
  wholeBackfillBlocks: 100_000,
  pollIntervalMs: 200,
  climbAfterSeconds: 3,
  expireAfterSeconds: 20,
  gasPriceOracle: null,
} as const

/** @throws Error for a ceiling with which nothing could be sent. */
const ceilingOf = (network: EvmNetwork, chosenWei: bigint | undefined): bigint => {
  const { minPriorityFeeWei, maxFeePerGasCapWei } = ROWS[network]
  if (chosenWei === undefined) return maxFeePerGasCapWei
  if (chosenWei > minPriorityFeeWei) return chosenWei
  const least = Number((minPriorityFeeWei * 1_000n) / GWEI) / 1_000
  throw new Error(`${network.toUpperCase()}_MAX_FEE_GWEI must be above ${least}, the least that ${network} takes.`)
}

/** The row of one EVM network in an environment. @throws Error for a ceiling with which nothing could be sent. */
export const evmNetworkRow = (input: {
  readonly network: EvmNetwork
  readonly environment: Environment
  readonly devnet: boolean
  /** The operator's ceilings; a network without one has the default. */
  readonly maxFeesPerGasWei?: Readonly<Partial<Record<EvmNetwork, bigint>>>
}): EvmNetworkRow => ({
  ...ROWS[input.network],
  ...(input.devnet ? DEVNET_OVERRIDES : {}),
  maxFeePerGasCapWei: ceilingOf(input.network, input.maxFeesPerGasWei?.[input.network]),
  network: input.network,
  family: 'evm',
  chainId: CHAIN_IDS[input.network][input.environment],
})

export type SubstrateNetworkRow = {
  readonly network: SubstrateNetwork
  readonly family: 'substrate'
  /** The first bytes of every SS58 address: the same on the network's testnet. */
  readonly ss58Prefix: number
  /** What its first block hashes to: the chain's identity, and signed with every extrinsic. */
  readonly genesisHash: Hex
  readonly coin: NativeCoin
  /** The coin's symbol with which the runtime's metadata was hashed at its build (RFC 78). */
  readonly hashedSymbol: string
  /** Programs take messages (gear), and NFTs are theirs. */
  readonly hasPrograms: boolean
  /** How long an extrinsic may wait, and in how many blocks at least and at most: powers of two (sp_runtime, Era). */
  readonly era: { readonly seconds: number; readonly least: number; readonly most: number }
  readonly pollIntervalMs: number
  /** Above this a fee, or a tip, is taken for a mistake. */
  readonly feeCapPlanck: bigint
}

const DOT: NativeCoin = { word: 'DOT', name: 'Polkadot', symbol: 'DOT', decimals: 10, displayDecimals: 4 }
const VARA: NativeCoin = { word: 'VARA', name: 'Vara', symbol: 'VARA', decimals: 12, displayDecimals: 4 }

/** Prefixes: the registry of SS58 address types (paritytech/ss58-registry). */
export const SS58_PREFIXES: Record<SubstrateNetwork, number> = { Polkadot: 0, Vara: 137 }

/** Asset Hub of Polkadot and of Paseo; Vara and its testnet. */
const SUBSTRATE_ROWS: Record<
  SubstrateNetwork,
  Pick<SubstrateNetworkRow, 'coin' | 'hasPrograms' | 'feeCapPlanck'> & {
    genesis: Record<Environment, Hex>
    /** `enable_metadata_hash` in the build script of the runtime: Paseo has a symbol of its own, Vara's testnet has not. */
    hashedSymbols: Record<Environment, string>
  }
> = {
  Polkadot: {
    coin: DOT,
    hasPrograms: false,
    feeCapPlanck: 100n * 10n ** 10n,
    genesis: {
      testnet: '0xd6eec26135305a8ad257a20d003357284c8aa03d0bdb2b357ab0a22371e11ef2',
      mainnet: '0x68d56f15f85d3136970ec16946040bc1752654e906147f7e43e9d539d7c3de2f',
    },
    hashedSymbols: { testnet: 'PAS', mainnet: 'DOT' },
  },
  Vara: {
    coin: VARA,
    hasPrograms: true,
    feeCapPlanck: 10_000n * 10n ** 12n,
    genesis: {
      testnet: '0x525639f713f397dcf839bd022cd821f367ebcf179de7b9253531f8adbe5436d6',
      mainnet: '0xfe1b4c55fd4d668101126434206571a7838a8b6b93a6d1b95d607e78e6c53763',
    },
    hashedSymbols: { testnet: 'VARA', mainnet: 'VARA' },
  },
}

/** Those of the chains that the devnet starts: each network has a genesis of its own there too. */
const LOCAL_GENESIS_HASHES: Record<SubstrateNetwork, Hex> = {
  Polkadot: '0x2b5593578c1709fa33218f5e6b488138dffa6798e08ae90589720dadec13b6fd',
  Vara: '0x7c6ecc8ae11f8b263444c362321035a46e4e6008a3ab26ba3f41069f8f693734',
}

const ERA = { seconds: 300, least: 16, most: 1_024 } as const
/** Local chains make blocks as they are needed. */
const LOCAL_ERA = { seconds: 300, least: 16, most: 16 } as const

/** The row of one Substrate network in an environment. */
export const substrateNetworkRow = (input: {
  readonly network: SubstrateNetwork
  readonly environment: Environment
  readonly devnet: boolean
}): SubstrateNetworkRow => {
  const { network, environment, devnet } = input
  const { genesis, hashedSymbols, ...row } = SUBSTRATE_ROWS[network]
  return {
    ...row,
    network,
    family: 'substrate',
    ss58Prefix: SS58_PREFIXES[network],
    hashedSymbol: hashedSymbols[environment],
    genesisHash: devnet ? LOCAL_GENESIS_HASHES[network] : genesis[environment],
    era: devnet ? LOCAL_ERA : ERA,
    pollIntervalMs: devnet ? 200 : 3_000,
  }
}

export type NetworkRow = EvmNetworkRow | SubstrateNetworkRow

/** The rows of all networks in an environment. @throws Error as `evmNetworkRow`. */
export const networkRows = (input: Omit<Parameters<typeof evmNetworkRow>[0], 'network'>): readonly NetworkRow[] => [
  ...EVM_NETWORKS.map((network) => evmNetworkRow({ ...input, network })),
  ...SUBSTRATE_NETWORKS.map((network) => substrateNetworkRow({ ...input, network })),
]

const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000'

/** Where tokens come from and go to that are minted and burnt (EIP-721, EIP-1155; the public key of zeros): nobody's address. */
export const NOBODY: Record<Network, string> = {
  Ethereum: ZERO_ADDRESS,
  Polygon: ZERO_ADDRESS,
  Base: ZERO_ADDRESS,
  Avalanche: ZERO_ADDRESS,
  Polkadot: '111111111111111111111111111111111HC1',
  Vara: 'kGfXzQ99jakxFMQEox9iQYQ6zfMkwScJTScuPLSovqxjPbkXW',
}

/** The native coins of all six networks, for tokens and previews. */
export const NATIVE_COINS: Record<Network, NativeCoin> = {
  Ethereum: ETHER,
  Polygon: POL,
  Base: ETHER,
  Avalanche: AVAX,
  Polkadot: DOT,
  Vara: VARA,
}
