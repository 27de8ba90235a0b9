// The texts that identify accounts and contracts on a network. All functions work without a node.

import type { AddressValue } from './calls.ts'

type FeeAssets = {
  /**
   * Parses the asset in which a fee is to be paid: an asset id, or its name as in `Movement.contract`.
   * @returns the name. Pure.
   */
  parse(text: string, field: string): string
}

export type Addresses = {
  /** The kind of value that addresses of this family have in calls. */
  readonly addressKind: AddressValue['kind']
  /** @returns the canonical text. @throws network_mismatch */
  parseAddress(text: string, field: string): string
  /**
   * Parses the identifier of a token contract or collection: an address, a collection id in decimal digits, or a program id
   * in hex.
   * @returns the canonical text. Pure.
   */
  parseContract(text: string, field: string): string
  /**
   * Parses what previews and activity show as an address: an address in any letter case, or an id if the network has ids.
   * @returns the canonical text.
   */
  parseShown(text: string, field: string): string
  /** null for a family that takes fees only in the coin. In the other family the runtime decides which assets it takes. */
  readonly feeAssets: FeeAssets | null
  /** Whether a text has the form of a contract id of this family (not of an address). */
  isContractId(text: string): boolean
  /** Whether a text has the form of an address with a network prefix (SS58). Compare such addresses only in canonical form. */
  isPrefixedAddress(text: string): boolean
  /** One text for an account on all networks of the family; null if the text is not an address. */
  accountOf(text: string): string | null
  /** The address of a public key: 65 bytes uncompressed secp256k1 or 32 bytes sr25519. Pure. */
  addressOf(publicKey: Uint8Array): string
  /** The address of a random public key; nobody owns it. */
  randomAddress(): string
}
