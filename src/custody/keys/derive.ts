// From a keyring's secret to a wallet's key pair.
//
// EVM: phrase → BIP-39 seed → BIP-32 → m/44'/60'/0'/0/0, as every common wallet derives its first account.
// Substrate: the mini-secret of the phrase without a path, sr25519, as the common wallets there do.
// An imported private key is the wallet's own. None of this happens when signing: a wallet's key is sealed by itself.

import { HARDENED_OFFSET, HDKey } from '@scure/bip32'
import type { ChainFamily, KeyringKind } from '../../../db/words.ts'
import { unreachable } from '../../errors.ts'
import { HeldKeys } from '../sealing/held-keys.ts'
import { KEY_BYTES } from '../sealing/kdf.ts'
import { KEY_TYPES } from './key-types.ts'
import { seedOf, substrateSeedOf } from './phrase.ts'

const EVM_PATH = [HARDENED_OFFSET + 44, HARDENED_OFFSET + 60, HARDENED_OFFSET, 0, 0]

export type KeyPair = {
  /** 32 bytes, zeroed by the caller: a scalar of secp256k1, or a mini-secret of sr25519. */
  readonly privateKey: Uint8Array
  /** secp256k1: 65 bytes, uncompressed. sr25519: 32 bytes. */
  readonly publicKey: Uint8Array
}

/** BIP-32, private keys only. @returns 32 bytes; the nodes on the way are zeroed. */
export const privateKeyAt = (input: { readonly seed: Uint8Array; readonly path: readonly number[] }): Uint8Array => {
  let node = HDKey.fromMasterSeed(input.seed)
  for (const index of input.path) {
    const child = node.deriveChild(index)
    node.wipePrivateData()
    node = child
  }
  if (node.privateKey === null) throw new Error('a derived node has no private key')
  const privateKey = Uint8Array.from(node.privateKey)
  node.wipePrivateData()
  return privateKey
}

type FromSecret = { readonly family: ChainFamily; readonly kind: KeyringKind; readonly secret: Uint8Array }

const privateKeyOf = ({ family, kind, secret }: FromSecret): Uint8Array => {
  using keys = new HeldKeys()
  if (kind === 'key') return Uint8Array.from(secret)
  switch (family) {
    case 'evm':
      return privateKeyAt({ seed: keys.hold(seedOf(secret)), path: EVM_PATH })
    case 'substrate':
      return Uint8Array.from(keys.hold(substrateSeedOf(secret)).subarray(0, KEY_BYTES))
    default:
      return unreachable(family)
  }
}

/** A wallet's key pair in a family. @param from.secret the entropy of a phrase, or an imported key; zeroed by the caller. */
export const keyPairOf = (from: FromSecret): KeyPair => {
  const privateKey = privateKeyOf(from)
  return { privateKey, publicKey: KEY_TYPES[from.family].publicKeyOf(privateKey) }
}
