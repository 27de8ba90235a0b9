// The two types of keys, and the address of a key. A wallet's network determines its type, and the same 32 bytes can be
// a private key of either type. So the vault compares every opened key with the wallet's public key before it signs: an
// attacker who moves a wallet's row to a network of the other family cannot compute the public key on the other curve.
// It computes the address from the key and compares that too, so a key signs for its own address only. The vault
// imports no chain, so a test compares addresses with src/chains.

import { hash } from 'node:crypto'
import type { ChainFamily, Network, WalletType } from '../../../../db/words.ts'
import { createBoundedMap } from '../../../platform/bounded-map.ts'
import { unreachable } from '../../../platform/errors.ts'
import { withChecksum } from '../../language/typed-data.ts'
import { ownerOf, safeOf } from './safe.ts'
import { curve, isPrivateKey } from './secp256k1.ts'
import { publicKeyOfMiniSecret, signWithMiniSecret } from './sr25519.ts'
import type { WalletChain } from './worst-cost.ts'

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const SS58_CONTEXT = Buffer.from('SS58PRE')
const SS58_CHECKSUM_BYTES = 2

/** Each leading zero byte becomes one character. */
const base58Of = (bytes: Uint8Array): string => {
  let text = ''
  for (let rest = BigInt(`0x${Buffer.from(bytes).toString('hex')}`); rest > 0n; rest /= 58n) {
    text = `${BASE58[Number(rest % 58n)]}${text}`
  }
  const zeros = bytes.findIndex((byte) => byte !== 0)
  return BASE58.slice(0, 1).repeat(zeros === -1 ? bytes.length : zeros) + text
}

/** SS58: a prefix from 64 on takes two bytes. Its low six bits stand between the mark 01 and two of the high bits. */
const ss58Of = (publicKey: Uint8Array, prefix: number): string => {
  const head = prefix < 64 ? [prefix] : [0x40 | ((prefix >> 2) & 0x3f), ((prefix >> 8) & 0x3f) | ((prefix & 0x03) << 6)]
  const body = Buffer.concat([Uint8Array.from(head), publicKey])
  const checksum = hash('blake2b512', Buffer.concat([SS58_CONTEXT, body]), 'buffer').subarray(0, SS58_CHECKSUM_BYTES)
  return base58Of(Buffer.concat([body, checksum]))
}

/** EIP-55, or SS58 with the network's prefix. @throws Error for a contract wallet on a network that has none. */
export const addressOf = (key: {
  readonly chain: WalletChain
  readonly type: WalletType
  readonly publicKey: Uint8Array
}): string => {
  const { chain, type, publicKey } = key
  switch (chain.family) {
    case 'evm':
      return withChecksum(type === 'contract' ? safeOf(publicKey) : ownerOf(publicKey))
    case 'substrate':
      if (type === 'contract' || chain.ss58Prefix === undefined)
        throw new Error('expected a network with contract wallets')
      return ss58Of(publicKey, chain.ss58Prefix)
    default:
      return unreachable(chain.family)
  }
}

type KeyType = {
  isPrivateKey(bytes: Uint8Array): boolean
  /** @param privateKey 32 bytes. @returns 65 bytes uncompressed secp256k1, or 32 bytes sr25519. */
  publicKeyOf(privateKey: Uint8Array): Uint8Array
  /** @param input.bytes as `bytesToSign` returns them. @param input.publicKey the key's. @returns as `OpenKey.sign`. */
  sign(input: Readonly<Record<'bytes' | 'privateKey' | 'publicKey', Uint8Array>>): Uint8Array
}

export const KEY_TYPES: Readonly<Record<ChainFamily, KeyType>> = {
  evm: {
    isPrivateKey,
    publicKeyOf: curve.publicKeyOf,
    sign: ({ bytes, privateKey }) => curve.sign({ digest: bytes, privateKey }),
  },
  substrate: {
    isPrivateKey: (bytes) => bytes.some((byte) => byte !== 0),
    publicKeyOf: publicKeyOfMiniSecret,
    sign: ({ bytes: message, privateKey: miniSecret, publicKey }) =>
      signWithMiniSecret({ message, miniSecret, publicKey }),
  },
}

type KeyOwner = {
  readonly id: string
  readonly network: Network
  readonly type: WalletType
  readonly publicKey: Uint8Array
  readonly address: string
}

export const hasOwnAddress = ({ type, publicKey, address }: KeyOwner, chain: WalletChain): boolean =>
  address === addressOf({ chain, type, publicKey })

const CONFIRMED_MAX = 10_000
/** The comparisons so far, by the wallet's id. A wallet's private key never changes. */
const confirmed = createBoundedMap<string>({ max: CONFIRMED_MAX })

/** @returns null if private key, public key and address of the wallet do not belong together. */
export const keyTypeOf = (input: {
  readonly wallet: KeyOwner
  readonly chain: WalletChain
  readonly privateKey: Uint8Array
}): KeyType | null => {
  const { wallet, chain, privateKey } = input
  const keyType = KEY_TYPES[chain.family]
  const claim = `${wallet.network} ${wallet.type} ${wallet.address} ${Buffer.from(wallet.publicKey).toString('hex')}`
  if (confirmed.get(wallet.id) === claim) return keyType
  if (Buffer.compare(keyType.publicKeyOf(privateKey), wallet.publicKey) !== 0) return null
  if (!hasOwnAddress(wallet, chain)) return null
  confirmed.set(wallet.id, claim)
  return keyType
}
