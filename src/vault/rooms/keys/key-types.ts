// The two types of keys. A wallet's network determines its type, and the same 32 bytes can be a private key of either type. So
// every opened key is compared with the wallet's public key before it signs. Who moves a wallet's row to a network of the
// other family cannot compute the public key on the other curve without the private key. The wallet's address is compared as
// well: no key signs for an address that is not its own.

import type { ChainFamily, Network, WalletType } from '../../../../db/words.ts'
import { createBoundedMap } from '../../../platform/bounded-map.ts'
import { addressOf } from './addresses.ts'
import { curve, isPrivateKey } from './secp256k1.ts'
import { publicKeyOfMiniSecret, signWithMiniSecret } from './sr25519.ts'
import type { WalletChain } from './worst-cost.ts'

type KeyType = {
  /** Whether 32 bytes can be a private key of this type. */
  isPrivateKey(bytes: Uint8Array): boolean
  /** @param privateKey 32 bytes. @returns 65 bytes uncompressed secp256k1, or 32 bytes sr25519. */
  publicKeyOf(privateKey: Uint8Array): Uint8Array
  /** @param input.bytes as `bytesToSign` returns them. @returns as `OpenKey.sign` says. */
  sign(input: { readonly bytes: Uint8Array; readonly privateKey: Uint8Array }): Uint8Array
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
    sign: ({ bytes, privateKey }) => signWithMiniSecret({ message: bytes, miniSecret: privateKey }),
  },
}

/** The parts of a wallet that must fit its key. */
type KeyOwner = {
  readonly id: string
  readonly network: Network
  readonly type: WalletType
  readonly publicKey: Uint8Array
  readonly address: string
}

/** Whether the wallet's address is that of its public key. */
export const hasOwnAddress = ({ type, publicKey, address }: KeyOwner, chain: WalletChain): boolean =>
  address === addressOf({ chain, type, publicKey })

const CONFIRMED_MAX = 10_000
/** The comparisons so far, by the wallet's id. A wallet's private key never changes. */
const confirmed = createBoundedMap<string>({ max: CONFIRMED_MAX })

/**
 * The type of a wallet's key.
 * @param input.chain the chain of the wallet's network.
 * @returns null if the private key is not that of the wallet's public key, or the address is not that of the public key.
 */
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
