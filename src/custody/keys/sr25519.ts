// sr25519 (Schnorr on Ristretto255, as Substrate uses it), by an audited library in JavaScript. A wallet's private key is
// the 32-byte mini-secret: what a phrase gives, and what wallets show as the "secret seed". It is expanded for each use.
//
// schnorrkel in WebAssembly (@polkadot/wasm-crypto) signs half as fast again; but it starts asynchronously, and leaves
// copies of keys in a memory that nobody zeroes. The tests hold one against the other.

import { getPublicKey, secretFromSeed, sign } from '@scure/sr25519'

const withExpanded = <Result>(miniSecret: Uint8Array, use: (expanded: Uint8Array) => Result): Result => {
  const expanded = secretFromSeed(miniSecret)
  try {
    return use(expanded)
  } finally {
    expanded.fill(0)
  }
}

/** @param miniSecret 32 bytes. @returns 32 bytes. */
export const publicKeyOfMiniSecret = (miniSecret: Uint8Array): Uint8Array => withExpanded(miniSecret, getPublicKey)

/**
 * Signs in Substrate's context ("substrate"), with a random nonce: no two signatures are alike.
 * @param input.miniSecret 32 bytes. @returns 64 bytes: R, s with schnorrkel's marker in its highest bit.
 */
export const signWithMiniSecret = (input: {
  readonly message: Uint8Array
  readonly miniSecret: Uint8Array
}): Uint8Array => withExpanded(input.miniSecret, (expanded) => sign(expanded, input.message))
