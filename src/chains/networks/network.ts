// What a network is, as data. A network that needs a special case anywhere else needs a field here instead.

import type { Environment, Network } from '../../../db/words.ts'
import type { Hex } from '../intent.ts'

export type NativeCoin = {
  /** The word that clients compare with in place of a contract address. */
  readonly word: string
  readonly name: string
  readonly symbol: string
  readonly decimals: number
  readonly displayDecimals: number
  /** Empty where there is none. */
  readonly logoUrl: string
}

type Common = {
  readonly network: Network
  readonly coin: NativeCoin
  /** Where people look transactions up; null where there is no such page. */
  readonly explorerUrl: string | null
  readonly pollIntervalMs: number
}

export type EvmNetworkRow = Common & {
  readonly family: 'evm'
  /** EIP-155. */
  readonly chainId: number
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
  /** A broadcast transaction that is not mined for so long offers more, and after so long is given up. */
  readonly climbAfterSeconds: number
  readonly expireAfterSeconds: number
  /** OP-stack chains charge for their data on layer 1 through this predeploy. */
  readonly gasPriceOracle: string | null
  /** The ENS registry (EIP-137), where the network has one: at the same address on Ethereum's testnets. */
  readonly nameRegistry: string | null
}

export type SubstrateNetworkRow = Common & {
  readonly family: 'substrate'
  /** The first bytes of every SS58 address (paritytech/ss58-registry): the same on the network's testnet. */
  readonly ss58Prefix: number
  /** What its first block hashes to: the chain's identity, and signed with every extrinsic. */
  readonly genesisHash: Hex
  /** The coin's symbol with which the runtime's metadata was hashed at its build (RFC 78). */
  readonly hashedSymbol: string
  /** Programs take messages (gear), and NFTs are theirs. */
  readonly hasPrograms: boolean
  /** How long an extrinsic may wait, and in how many blocks at least and at most: powers of two (sp_runtime, Era). */
  readonly era: { readonly seconds: number; readonly least: number; readonly most: number }
  /** Above this a fee, or a tip, is taken for a mistake. */
  readonly feeCapPlanck: bigint
  /** The address of the public key of zeros: where assets come from and go to that are minted and burnt. */
  readonly nobody: string
}

export type NetworkRow = EvmNetworkRow | SubstrateNetworkRow

/** A network as its file has it: what differs by environment is told for each. */
export type EvmNetworkFile = Omit<EvmNetworkRow, 'chainId' | 'explorerUrl'> & {
  readonly chainIds: Readonly<Record<Environment, number>>
  readonly explorerUrls: Readonly<Record<Environment, string | null>>
}

export type SubstrateNetworkFile = Omit<
  SubstrateNetworkRow,
  'genesisHash' | 'hashedSymbol' | 'explorerUrl' | 'era' | 'pollIntervalMs'
> & {
  readonly genesisHashes: Readonly<Record<Environment, Hex>>
  /** That of the chain that the devnet starts: each network has a genesis of its own there too. */
  readonly localGenesisHash: Hex
  /** `enable_metadata_hash` in the build script of the runtime. */
  readonly hashedSymbols: Readonly<Record<Environment, string>>
  readonly explorerUrls: Readonly<Record<Environment, string | null>>
}

export const GWEI = 1_000_000_000n
