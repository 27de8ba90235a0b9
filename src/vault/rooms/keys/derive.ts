// From a keyring's secret to a wallet's key pair.
//
// EVM: phrase → BIP-39 seed → BIP-32 → m/44'/60'/0'/0/0, the first account of every common wallet.
// Substrate: the mini-secret of the phrase without a path, sr25519, as in common wallets.
// An imported private key is used unchanged. Signing derives nothing: each wallet's key is sealed by itself.
//
// PBKDF2 stretches a phrase: some milliseconds of a thread of the pool, in the queue of argon2, so that no signature
// waits for it.

import { pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import { CHAIN_FAMILIES, type ChainFamily, type KeyringKind } from '../../../../db/words.ts'
import { unreachable } from '../../../platform/errors.ts'
import { copyOf, HeldKeys, moved, zeros } from '../../../platform/sealing/bytes.ts'
import { hmacSha512, KEY_BYTES } from '../../../platform/sealing/kdf.ts'
import type { RoomCtx } from '../ctx.ts'
import { KEY_TYPES } from './key-types.ts'
import { encodePhrase } from './phrase.ts'
import { curve, isPrivateKey } from './secp256k1.ts'

/** A new seed has 12 words. secp256k1 itself has 128 bits of security, so 24 words would protect a key no better. */
export const ENTROPY_BYTES = 16

const STRETCH_ROUNDS = 2048
const STRETCH_BYTES = 64

const pbkdf2InPool = promisify(pbkdf2)

type StretchCtx = Pick<RoomCtx, 'argon2' | 'stretching'>

const stretch = async ({ argon2, stretching }: StretchCtx, secret: Uint8Array): Promise<Uint8Array> => {
  using _turn = await argon2.enter()
  using _core = await stretching.enter()
  return moved(await pbkdf2InPool(secret, 'mnemonic', STRETCH_ROUNDS, STRETCH_BYTES, 'sha512'))
}

/** BIP-39's seed: 64 bytes, from the phrase without a passphrase. */
export const deriveSeed = async (ctx: StretchCtx, entropy: Uint8Array): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  return await stretch(ctx, keys.hold(encodePhrase(entropy)))
}

/** Indices from here on are hardened (BIP-32). */
const HARDENED_OFFSET = 2 ** 31
const INDEX_BYTES = 4
const EVM_PATH = [HARDENED_OFFSET + 44, HARDENED_OFFSET + 60, HARDENED_OFFSET, 0, 0]

export type KeyPair = {
  /** 32 bytes, zeroed by the caller: a scalar of secp256k1, or a mini-secret of sr25519. */
  readonly privateKey: Uint8Array
  /** secp256k1: 65 bytes, uncompressed. sr25519: 32 bytes. */
  readonly publicKey: Uint8Array
}

/** BIP-32's serP(point(k)): 33 bytes. */
const compressedPublicKeyOf = (privateKey: Uint8Array): Uint8Array => {
  const uncompressed = curve.publicKeyOf(privateKey)
  const isOdd = (uncompressed.at(-1) ?? 0) & 1
  return Uint8Array.of(2 + isOdd, ...uncompressed.subarray(1, 1 + KEY_BYTES))
}

/** BIP-32, private keys only: ten times as fast as with a public key for every node. @returns 32 bytes. */
export const privateKeyAt = (input: { readonly seed: Uint8Array; readonly path: readonly number[] }): Uint8Array => {
  using keys = new HeldKeys()
  let node = keys.hold(hmacSha512({ key: 'Bitcoin seed', message: input.seed }))
  let privateKey: Uint8Array = keys.hold(copyOf(node.subarray(0, KEY_BYTES)))
  if (!isPrivateKey(privateKey)) throw new Error('a seed has no private key')
  for (const index of input.path) {
    const message = keys.hold(Buffer.from(zeros(1 + KEY_BYTES + INDEX_BYTES).buffer))
    message.writeUInt32BE(index, 1 + KEY_BYTES)
    if (index < HARDENED_OFFSET) message.set(compressedPublicKeyOf(privateKey))
    else message.set(privateKey, 1)
    node = keys.hold(hmacSha512({ key: node.subarray(KEY_BYTES), message }))
    privateKey = keys.hold(curve.tweak({ privateKey, tweak: node.subarray(0, KEY_BYTES) }))
  }
  return copyOf(privateKey)
}

type FromSecret = { readonly family: ChainFamily; readonly kind: KeyringKind; readonly secret: Uint8Array }

const privateKeyOf = async (ctx: StretchCtx, { family, kind, secret }: FromSecret): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  if (kind === 'key') return copyOf(secret)
  switch (family) {
    case 'evm':
      return privateKeyAt({ seed: keys.hold(await deriveSeed(ctx, secret)), path: EVM_PATH })
    case 'substrate':
      // From the entropy itself instead of the words (substrate-bip39).
      return copyOf(keys.hold(await stretch(ctx, secret)).subarray(0, KEY_BYTES))
    default:
      return unreachable(family)
  }
}

/** @param privateKey belongs to the caller, as the pair does. */
const pairOf = (family: ChainFamily, privateKey: Uint8Array): KeyPair => ({
  privateKey,
  publicKey: KEY_TYPES[family].publicKeyOf(privateKey),
})

/** @param from.secret the entropy of a phrase, or an imported key; zeroed by the caller. */
export const deriveKeyPair = async (ctx: StretchCtx, from: FromSecret): Promise<KeyPair> =>
  pairOf(from.family, await privateKeyOf(ctx, from))

/** A phrase's private keys: 32 bytes each, in the order of `CHAIN_FAMILIES`. Zeroed by the caller. */
export const deriveFamilyKeys = async (ctx: StretchCtx, entropy: Uint8Array): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const familyKeys = zeros(CHAIN_FAMILIES.length * KEY_BYTES)
  for (const [index, family] of CHAIN_FAMILIES.entries()) {
    const privateKey = keys.hold(await privateKeyOf(ctx, { family, kind: 'seed', secret: entropy }))
    familyKeys.set(privateKey, index * KEY_BYTES)
  }
  return familyKeys
}

/** The key pair that `deriveKeyPair` gives for the phrase. */
export const keyPairFrom = (input: { readonly family: ChainFamily; readonly familyKeys: Uint8Array }): KeyPair => {
  const offset = CHAIN_FAMILIES.indexOf(input.family) * KEY_BYTES
  return pairOf(input.family, copyOf(input.familyKeys.subarray(offset, offset + KEY_BYTES)))
}
