// What names accounts and contracts on a network. All of it is pure: no node is asked.

export type Addresses = {
  /** @returns the canonical text. @throws address_invalid (malformed, wrong checksum), network_mismatch. Pure. */
  parseAddress(text: string, field: string): string
  /**
   * What names a token contract or a collection here: an address, a collection's id in decimal digits, a program's id in hex.
   * @returns the canonical text. @throws address_invalid, network_mismatch. Pure.
   */
  parseContract(text: string, field: string): string
  /**
   * What previews and activity show in place of an address: an address in any letter case, or an id where the network has ids.
   * @returns the canonical text. @throws address_invalid, network_mismatch.
   */
  parseShown(text: string, field: string): string
  /**
   * What a fee is to be paid in where that is not the coin: an asset's id, or its name as `contract` of movements has it.
   * @returns the name. @throws invalid_input, also on networks where fees are paid in the coin alone. Pure.
   */
  parseFeeAsset(text: string, field: string): string
  /** Whether a text has the form of an id that names contracts on networks like this one, and is no address. */
  isContractId(text: string): boolean
  /** Whether a text has the form of an address with a network's prefix (SS58): then only its canonical text compares. */
  isPrefixedAddress(text: string): boolean
  /** One text for an account on all networks of the family; null for what is no address. */
  accountOf(text: string): string | null
  /** The address of a public key: 65 bytes uncompressed secp256k1 or 32 bytes sr25519. Pure. */
  addressOf(publicKey: Uint8Array): string
  /** An address that is nobody's: of a random public key. */
  randomAddress(): string
}
