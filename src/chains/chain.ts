// What a network can do. A chain holds no keys: it returns bytes to sign and accepts signatures. It does not access the
// database or any resource; it stores what it must remember in a ChainMemory. Callers depend only on the part they
// need. Amounts are base units (wei, planck) as bigint. Addresses are canonical texts (EIP-55, SS58).

import type { ChainFamily, Network } from '../../db/words.ts'
import type { NativeCoin, TokenDisplay } from '../platform/networks/network.ts'
import type { TypedData } from '../vault/language/payload.ts'
import type { Blocks } from './blocks.ts'
import type { AbiFiles, AddressValue, Calls } from './calls.ts'
import type { ContractWallets, Signable } from './contract-wallets.ts'
import type { Delivery } from './delivery.ts'
import type { Facts } from './facts.ts'
import type { Hex } from './intent.ts'
import type { Nodes } from './nodes.ts'
import type { SignerPayloads, Submission } from './submission.ts'
import type { Nfts, Tokens } from './tokens.ts'

export * from './blocks.ts'
export type * from './calls.ts'
export type * from './delivery.ts'
export type * from './facts.ts'
export type * from './intent.ts'
export * from './movements.ts'
export type * from './nodes.ts'
export type * from './submission.ts'
export * from './tokens.ts'

/** A message as text with its signature, hex of any length. */
export type SignedMessage = { readonly address: string; readonly message: string; readonly signature: Hex }

/**
 * Who signed. `key`: the private key of the address, valid on every network of the family. `contract`: the contract at
 * the address, valid on this network only, because another network may have another contract there.
 */
export type MessageSigner = 'key' | 'contract'

/** Messages signed by keys and contracts. They are not transactions. */
type Messages = {
  /** A message to sign with the key of an address: EIP-191 with v 27 or 28, or sr25519. Pure. */
  message(message: Uint8Array): Signable<Hex>
  /** Typed data (EIP-712) to sign with the key of an address; null for a family that has none. */
  readonly typedData: ((typedData: TypedData) => Signable<Hex>) | null
  /**
   * The CAIP-10 name of a contract that signs, because its signature is valid on this network only; null for a family
   * whose contracts cannot sign. Pure.
   */
  contractSigner(address: string): string | null
  /** Verifies a signature by EIP-191, ERC-1271 and ERC-6492, or sr25519. null if it is not valid for the address. */
  verifyMessage(signed: SignedMessage): Promise<MessageSigner | null>
}

/** The texts that identify accounts and contracts on a network. All functions work without a node. */
type Addresses = {
  /** The kind of value that addresses of this family have in calls. */
  readonly addressKind: AddressValue['kind']
  /** @returns the canonical text. @throws network_mismatch */
  parseAddress(text: string, field: string): string
  /**
   * Parses what names a token or collection: an address, a collection id in decimal digits, a program id in hex.
   * @returns the canonical text. Pure.
   */
  parseContract(text: string, field: string): string
  /**
   * Parses what previews and activity show as an address: an address in any letter case, or an id.
   * @returns the canonical text.
   */
  parseShown(text: string, field: string): string
  /** null for a family that takes fees only in the coin. On Substrate the runtime decides which assets it takes. */
  readonly feeAssets: {
    /** Parses an asset id, or its name as in `Movement.contract`. @returns the name. Pure. */
    parse(text: string, field: string): string
  } | null
  /** Whether a text has the form of a contract id of this family (not of an address). */
  isContractId(text: string): boolean
  /** Whether a text has the form of an address with a network prefix (SS58). Compare these only in canonical form. */
  isPrefixedAddress(text: string): boolean
  /** One text for an account on all networks of the family; null if the text is not an address. */
  accountOf(text: string): string | null
  /** The address of a public key: 65 bytes uncompressed secp256k1 or 32 bytes sr25519. Pure. */
  addressOf(publicKey: Uint8Array): string
  /** The address of a random public key without an owner. */
  randomAddress(): string
}

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
