// Messages signed by keys and contracts. They are not transactions.

import type { TypedData } from '../vault/language/payload.ts'
import type { Signable } from './contract-wallets.ts'
import type { Hex } from './intent.ts'

/** A message as text with its signature, hex of any length. */
export type SignedMessage = { readonly address: string; readonly message: string; readonly signature: Hex }

/**
 * Who signed. `key`: the private key of the address, valid on every network of the family. `contract`: the contract at the
 * address, valid on this network only, because another network may have another contract there.
 */
export type MessageSigner = 'key' | 'contract'

export type Messages = {
  /** A message to sign with the key of an address: EIP-191 with v 27 or 28, or sr25519. Pure. */
  message(message: Uint8Array): Signable<Hex>
  /** Typed data (EIP-712) to sign with the key of an address; null for a family that has none. */
  readonly typedData: ((typedData: TypedData) => Signable<Hex>) | null
  /**
   * The CAIP-10 name of a contract that signs, because its signature is valid on this network only; null for a family whose
   * contracts cannot sign. Pure.
   */
  contractSigner(address: string): string | null
  /** Verifies a signature by EIP-191, ERC-1271 and ERC-6492, or sr25519. null if it is not valid for the address. */
  verifyMessage(signed: SignedMessage): Promise<MessageSigner | null>
}
