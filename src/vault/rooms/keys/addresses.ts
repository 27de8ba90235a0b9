// The address of a key. The vault computes it from the key that it opened. So it signs for an address only with the key of that
// address, even if the wallet's row was edited. Custody imports no chain, so a test compares this with src/chains.

import { blake2b } from '@noble/hashes/blake2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { WalletType } from '../../../../db/words.ts'
import { unreachable } from '../../../platform/errors.ts'
import { withChecksum } from '../../language/checksum.ts'
import { safeOf } from './safe.ts'
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
  const checksum = blake2b(Buffer.concat([SS58_CONTEXT, body]), { dkLen: 64 }).subarray(0, SS58_CHECKSUM_BYTES)
  return base58Of(Buffer.concat([body, checksum]))
}

/**
 * The canonical address of a wallet: EIP-55, or SS58 with the network's prefix. Pure.
 * @param of.publicKey 65 bytes uncompressed secp256k1, or 32 bytes sr25519.
 * @throws Error for a contract wallet on a network that has none.
 */
export const addressOf = (of: {
  readonly chain: WalletChain
  readonly type: WalletType
  readonly publicKey: Uint8Array
}): string => {
  const { chain, type, publicKey } = of
  switch (chain.family) {
    case 'evm':
      if (type === 'contract') return withChecksum(safeOf(publicKey))
      return withChecksum(Buffer.from(keccak_256(publicKey.subarray(1)).subarray(12)).toString('hex'))
    case 'substrate':
      if (type === 'contract' || chain.ss58Prefix === undefined)
        throw new Error('expected a network with contract wallets')
      return ss58Of(publicKey, chain.ss58Prefix)
    default:
      return unreachable(chain.family)
  }
}
