// EIP-1559: the bytes of a type 2 transaction, 0x02 ‖ rlp([chainId, nonce, tip, cap, gas, to, value, data, accessList, …]).
// The keccak of the unsigned form is what is signed; the keccak of the signed form is the transaction's hash.

import { keccak_256 } from '@noble/hashes/sha3.js'
import { serializeTransaction, type TransactionSerializableEIP1559 } from 'viem'
import type { EvmUnsigned, Hex, Signed } from '../chain.ts'
import { hexText } from './wire.ts'

/** The order of secp256k1's group (SEC 2 §2.4.1). */
const GROUP_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const fields = (unsigned: EvmUnsigned): TransactionSerializableEIP1559 => ({
  type: 'eip1559',
  chainId: unsigned.chainId,
  nonce: unsigned.nonce,
  to: unsigned.to === null ? null : hexText(unsigned.to),
  value: unsigned.value,
  data: unsigned.input,
  gas: unsigned.gasLimit,
  maxFeePerGas: unsigned.maxFeePerGas,
  maxPriorityFeePerGas: unsigned.maxPriorityFeePerGas,
})

/** The unsigned form as hex. Pure. */
export const serializeUnsigned = (unsigned: EvmUnsigned): Hex => serializeTransaction(fields(unsigned))

/** Each signature takes two of these: the library directly is twice as fast as through viem. */
const digest = (raw: Hex): Uint8Array => keccak_256(Buffer.from(raw.slice(2), 'hex'))

const toHex = (bytes: Uint8Array): Hex => hexText(`0x${Buffer.from(bytes).toString('hex')}`)

/** @returns 32 bytes to sign. Pure. */
export const signingBytes = (unsigned: EvmUnsigned): Uint8Array => digest(serializeUnsigned(unsigned))

/**
 * The signed transaction and its hash. Pure.
 * @param signature 65 bytes: r, s, recovery id (0 or 1)
 * @throws Error for a signature that no node would take: a mistake of ours. EIP-2 allows the lower half of s only.
 */
export const assemble = (unsigned: EvmUnsigned, signature: Uint8Array): Signed => {
  const yParity = signature[64]
  if (signature.length !== 65 || (yParity !== 0 && yParity !== 1)) {
    throw new Error('expected a signature of 65 bytes ending in a recovery id of 0 or 1')
  }
  const r = toHex(signature.subarray(0, 32))
  const s = toHex(signature.subarray(32, 64))
  if (BigInt(r) === 0n || BigInt(r) >= GROUP_ORDER) throw new Error('expected r of a signature within the group')
  if (BigInt(s) === 0n || BigInt(s) > GROUP_ORDER / 2n) throw new Error('expected s of a signature in the lower half')
  const raw = serializeTransaction(fields(unsigned), { r, s, yParity })
  return { raw, hash: toHex(digest(raw)) }
}
