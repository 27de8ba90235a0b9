// libsecp256k1: constant-time C, several times as fast as JavaScript.

import { createRequire } from 'node:module'

type Libsecp256k1 = {
  publicKeyCreate(privateKey: Uint8Array, compressed: boolean): Uint8Array
  /** Changes the key. */
  privateKeyTweakAdd(privateKey: Uint8Array, tweak: Uint8Array): Uint8Array
  ecdsaSign(digest: Uint8Array, privateKey: Uint8Array): { readonly signature: Uint8Array; readonly recid: number }
  /** @throws Error if no key has made the signature. */
  ecdsaRecover(signature: Uint8Array, recid: number, digest: Uint8Array, compressed: boolean): Uint8Array
}

const load = (): Libsecp256k1 | null => {
  try {
    // Not the package's main module, which falls back to another implementation without saying so.
    return createRequire(import.meta.url)('secp256k1/bindings.js')
  } catch {
    return null
  }
}

/** null if no prebuilt module of it runs. */
export const libsecp256k1 = load()
