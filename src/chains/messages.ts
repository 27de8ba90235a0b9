// Messages that keys and contracts sign, which are no transactions.

import type { Signable } from './contract-wallets.ts'
import type { Hex } from './intent.ts'

/** A message as text, and a signature of it as hex of any length. */
export type SignedMessage = { readonly address: string; readonly message: string; readonly signature: Hex }

/**
 * Who signed. `key`: the one private key that an address follows from, on every network of the family. `contract`: the
 * code at the address, which speaks for this network alone: on another one somebody else's may stand there.
 */
export type MessageSigner = 'key' | 'contract'

export type Messages = {
  /** A message signed by a key for its own address: EIP-191, v 27 or 28; or sr25519. Pure. */
  message(message: Uint8Array): Signable<Hex>
  /**
   * Who of an address signed a message: EIP-191, ERC-1271 and ERC-6492; or sr25519. null: nobody.
   * @throws node_unavailable where only a contract could tell.
   */
  verifyMessage(signed: SignedMessage): Promise<MessageSigner | null>
}
