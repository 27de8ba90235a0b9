// sr25519 (Schnorr on Ristretto255, as Substrate uses it), by an audited library in JavaScript. A wallet's private key is
// the 32-byte mini-secret: what a phrase gives, and what wallets show as the "secret seed". It is expanded for each use.

import { getPublicKey, secretFromSeed } from '@scure/sr25519'

/** @param miniSecret 32 bytes. @returns 32 bytes. */
export const publicKeyOfMiniSecret = (miniSecret: Uint8Array): Uint8Array => {
  const expanded = secretFromSeed(miniSecret)
  try {
    return getPublicKey(expanded)
  } finally {
    expanded.fill(0)
  }
}
