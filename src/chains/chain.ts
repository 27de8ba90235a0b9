// What a network can do, free of keys: it hands out bytes to sign and takes signatures back. It knows no database and no
// resource; what it must remember reaches it as ChainMemory. Who needs a part of it asks for that part alone.
// Amounts are base units (wei, planck) as bigint. Addresses are canonical texts (EIP-55, SS58) as parseAddress returns them.

import type { ChainFamily, Network } from '../../db/words.ts'
import type { Addresses } from './addresses.ts'
import type { Blocks } from './blocks.ts'
import type { AbiFiles, Calls } from './calls.ts'
import type { ContractWallets } from './contract-wallets.ts'
import type { Delivery } from './delivery.ts'
import type { Facts } from './facts.ts'
import type { Messages } from './messages.ts'
import type { NativeCoin } from './networks/network.ts'
import type { Nfts } from './nfts.ts'
import type { Submission } from './submission.ts'

export type * from './addresses.ts'
export * from './blocks.ts'
export type * from './calls.ts'
export type * from './delivery.ts'
export type * from './facts.ts'
export type * from './intent.ts'
export type * from './messages.ts'
export * from './movements.ts'
export type * from './nfts.ts'
export type * from './submission.ts'

type Identity = {
  readonly network: Network
  readonly family: ChainFamily
  /** The EIP-155 chain id; null for a family that has none. */
  readonly chainId: number | null
  readonly coin: NativeCoin
  /** Names that stand for addresses can be looked up there. */
  readonly hasNames: boolean
  /** What an intent without a recipient is. */
  readonly withoutRecipient: 'creation' | 'runtime_call'
  /** A transaction that waits too long ends by itself. */
  readonly isMortal: boolean
}

/** What a network can do without a node. */
export type NodelessChain = Identity &
  Addresses &
  Messages & {
    readonly abiFiles: AbiFiles | null
    /** Whether a text can be the function of a call, as `Calls.readCall` names it. Pure. */
    isCallName(text: string): boolean
    /** null for a family that has none, and where there is no node to ask for them. */
    readonly contractWallets: ContractWallets | null
  }

/** Names that stand for addresses (ENS). */
export type Names = {
  /** null for a name that stands for none. @throws invalid_input, node_unavailable. */
  addressOfName(name: string): Promise<string | null>
}

/** The node itself. */
type NodeIdentity = {
  /** Whether the node is of this chain, by its own word. @throws node_unavailable. */
  isRightNode(): Promise<boolean>
  /**
   * Before a signature for which the node is asked nothing else: it must have shown the right chain id.
   * @returns null where there is nothing to wait for. @throws node_unavailable, wrong_chain, later.
   */
  confirmNode(): Promise<void> | null
}

/** A network with a node. */
export type Chain = NodelessChain &
  Submission &
  Delivery &
  Calls &
  Facts &
  Nfts &
  Blocks &
  NodeIdentity & {
    /** null for a network without a registry of names. */
    readonly names: Names | null
  }
