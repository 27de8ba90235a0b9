// Addresses: 20 bytes as text. Input is checked strictly; output always has the EIP-55 checksum.

import { keccak_256 } from '@noble/hashes/sha3.js'
import { getContractAddress } from 'viem/utils'
import { AppError } from '../../platform/errors.ts'
import { hexText } from '../node/wire.ts'

/** Token transfers repeat the same addresses, and each checksum costs some microseconds. */
const CHECKSUM_MEMO_LIMIT = 65_536

const ADDRESS_ANY_CASE = /^0x[0-9a-fA-F]{40}$/
const ONE_CASE = /^0x(?:[0-9a-f]{40}|[0-9A-F]{40})$/
/** 35 or 36 bytes in base58: a one or two byte prefix, 32 bytes, a two byte checksum (SS58). */
const LIKE_SS58 = /^[1-9A-HJ-NP-Za-km-z]{46,50}$/

/** Mints come from it, burns go to it. */
export const ZERO_ADDRESS = '0x0000000000000000000000000000000000000000'

const memo = new Map<string, string>()

const computeChecksum = (lower: string): string => {
  const digest = keccak_256(new TextEncoder().encode(lower.slice(2)))
  let text = '0x'
  for (let at = 0; at < 40; at += 1) {
    const nibble = ((digest[at >> 1] ?? 0) >> (at % 2 === 0 ? 4 : 0)) & 0x0f
    const letter = lower.charAt(at + 2)
    text += nibble >= 8 ? letter.toUpperCase() : letter
  }
  return text
}

/** The EIP-55 form of a lower-case address. Pure, except for a cache of recent ones. */
export const checksum = (lower: string): string => {
  const known = memo.get(lower)
  if (known !== undefined) return known
  const text = computeChecksum(lower)
  if (memo.size >= CHECKSUM_MEMO_LIMIT) memo.clear()
  memo.set(lower, text)
  return text
}

/**
 * The checksummed text of an address. All lower or all upper case is accepted; mixed case must be a valid checksum.
 * @throws network_mismatch
 */
export const parseAddress = (text: string, field: string): string => {
  if (LIKE_SS58.test(text)) {
    throw new AppError(
      'network_mismatch',
      `Field "${field}" is an address of a Substrate network; right is 0x and 40 hex digits.`,
    )
  }
  if (!ADDRESS_ANY_CASE.test(text)) {
    throw new AppError('address_invalid', `Field "${field}" must be an address: 0x and 40 hex digits.`)
  }
  const address = checksum(text.toLowerCase())
  if (text !== address && !ONE_CASE.test(text)) {
    throw new AppError('address_invalid', `Field "${field}" has a wrong checksum (EIP-55): a letter may be mistyped.`)
  }
  return address
}

/** The address of a public key. @param publicKey 65 bytes, uncompressed secp256k1 @throws Error for any other form. */
export const addressOf = (publicKey: Uint8Array): string => {
  if (publicKey.length !== 65 || publicKey[0] !== 4) throw new Error('expected 65 bytes of an uncompressed public key')
  return checksum(`0x${Buffer.from(keccak_256(publicKey.subarray(1)).subarray(12)).toString('hex')}`)
}

/** The address of the contract that a sender creates at a nonce: keccak256(rlp([sender, nonce])), Yellow Paper §7. */
export const createdAddress = (sender: string, nonce: number): string =>
  getContractAddress({ from: hexText(sender), nonce: BigInt(nonce) })
