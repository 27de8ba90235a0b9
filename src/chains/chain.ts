// What a network can do. A chain holds no keys: it returns bytes to sign and accepts signatures. It does not access the
// database or any resource; it stores what it must remember in a ChainMemory. Callers depend only on the part they need.
// Amounts are base units (wei, planck) as bigint. Addresses are canonical texts (EIP-55, SS58) as parseAddress returns them.

import type { ChainFamily, Network } from '../../db/words.ts'
import type { NativeCoin, TokenDisplay } from '../platform/networks/network.ts'
import type { Addresses } from './addresses.ts'
import type { Blocks } from './blocks.ts'
import type { AbiFiles, Calls } from './calls.ts'
import type { ContractWallets } from './contract-wallets.ts'
import type { Delivery } from './delivery.ts'
import type { Facts } from './facts.ts'
import type { Messages } from './messages.ts'
import type { Nfts } from './nfts.ts'
import type { Nodes } from './nodes.ts'
import type { SignerPayloads } from './signer-payload.ts'
import type { Submission } from './submission.ts'
import type { Tokens } from './tokens.ts'

export type * from './addresses.ts'
export * from './blocks.ts'
export type * from './calls.ts'
export type * from './delivery.ts'
export type * from './facts.ts'
export type * from './intent.ts'
export type * from './messages.ts'
export * from './movements.ts'
export * from './nfts.ts'
export type * from './nodes.ts'
export type * from './signer-payload.ts'
export type * from './submission.ts'
export type * from './tokens.ts'

type NetworkTraits = {
  readonly network: Network
  readonly family: ChainFamily
  /** The EIP-155 chain id; null for a family that has none. */
  readonly chainId: number | null
  readonly coin: NativeCoin
  /** Well-known tokens by canonical address. */
  readonly knownTokens: ReadonlyMap<string, TokenDisplay>
  /** Whether names (ENS) can be resolved to addresses on this network. */
  readonly hasNames: boolean
  /** What an intent without a recipient means. */
  readonly withoutRecipient: 'creation' | 'runtime_call'
  /** Whether transactions have a type (EIP-2718), and so perhaps a gas price or an access list. */
  readonly hasTransactionTypes: boolean
  /** Whether a transaction expires by itself when it waits too long. */
  readonly isMortal: boolean
}

/** What a network can do without a node. */
export type NodelessChain = NetworkTraits &
  Addresses &
  Messages & {
    readonly abiFiles: AbiFiles | null
    /** For authorisations of EIP-7702; null for a family whose accounts cannot delegate to a contract. */
    readonly delegation: { readonly chainId: number } | null
    /** Whether a text has the form of a function name as `Calls.calls` reads it. Pure. */
    isCallName(text: string): boolean
    /** null for a family without contract wallets, and for a network without a node. */
    readonly contractWallets: ContractWallets | null
  }

/** Resolves names to addresses (ENS). */
export type Names = {
  /** The address of a name; null if the name has none. */
  addressOfName(name: string): Promise<string | null>
}

/** A network with a node. */
export type Chain = NodelessChain &
  Submission &
  Delivery &
  Calls &
  Facts &
  Nfts &
  Tokens &
  Blocks &
  Nodes & {
    /** null for a network without a registry of names. */
    readonly names: Names | null
    /** null for a family whose dapps show signers no payload in this form. */
    readonly signerPayloads: SignerPayloads | null
  }
