// The bytes of a transaction, of which … is the signature:
//   type 0, EIP-155    rlp([nonce, gasPrice, gas, to, value, data, …]); unsigned, it ends in chainId, 0, 0
//   type 1, EIP-2930   0x01 ‖ rlp([chainId, nonce, gasPrice, gas, to, value, data, accessList, …])
//   type 2, EIP-1559   0x02 ‖ rlp([chainId, nonce, tip, cap, gas, to, value, data, accessList, …])
// The Keccak-256 of the unsigned form is signed; that of the signed form is the transaction hash.

import { keccak_256 } from '@noble/hashes/sha3.js'
import type { TransactionSerializedEIP1559 } from 'viem'
import { parseTransaction, serializeTransaction } from 'viem/utils'
import { unreachable } from '../../platform/errors.ts'
import type { Payload } from '../../vault/language/payload.ts'
import type { AccessList, EvmUnsigned, Hex, Signed } from '../chain.ts'
import { hexText } from '../node/wire.ts'
import { checksum } from './address.ts'
import { recoverAddress } from './recover.ts'

/** The order of secp256k1's group (SEC 2 §2.4.1). */
const GROUP_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** RLP of a byte string given as hex digits (Yellow Paper, appendix B); `short` is 0x80 for strings, 0xc0 for lists. */
const withLength = (digits: string, short: 0x80 | 0xc0): string => {
  const length = digits.length / 2
  if (length < 56) return (short + length).toString(16) + digits
  const lengthDigits = evenDigits(length.toString(16))
  return (short + 55 + lengthDigits.length / 2).toString(16) + lengthDigits + digits
}

const evenDigits = (digits: string): string => (digits.length % 2 === 0 ? digits : `0${digits}`)

const rlpBytes = (digits: string): string => (digits.length === 2 && digits < '80' ? digits : withLength(digits, 0x80))

/** Quantities are big-endian without leading zeros, so zero is the empty string. */
const rlpQuantity = (value: bigint | number): string =>
  rlpBytes(value === 0n || value === 0 ? '' : evenDigits(value.toString(16)))

const EMPTY_LIST = 'c0'

const rlpAccessList = (list: AccessList = []): string => {
  if (list.length === 0) return EMPTY_LIST
  const entries = list.map(({ address, storageKeys }) => {
    const slots = withLength(storageKeys.map((slot) => rlpBytes(slot.slice(2))).join(''), 0xc0)
    return withLength(rlpBytes(address.slice(2).toLowerCase()) + slots, 0xc0)
  })
  return withLength(entries.join(''), 0xc0)
}

/** The fields that every type has, in this order. */
const common = (unsigned: EvmUnsigned): string =>
  rlpQuantity(unsigned.gasLimit) +
  rlpBytes(unsigned.to === null ? '' : unsigned.to.slice(2).toLowerCase()) +
  rlpQuantity(unsigned.value) +
  rlpBytes(unsigned.input.slice(2))

/** `prefix`: the byte of its type, if it has one. `fields`: those that the signed form has before the signature. */
const encodeParts = (unsigned: EvmUnsigned): { readonly prefix: string; readonly fields: string } => {
  const { type, chainId, nonce, maxFeePerGas, maxPriorityFeePerGas, accessList } = unsigned
  const priced = rlpQuantity(nonce) + rlpQuantity(maxFeePerGas) + common(unsigned)
  switch (type) {
    case undefined: {
      const fees = rlpQuantity(maxPriorityFeePerGas) + rlpQuantity(maxFeePerGas)
      const fields = rlpQuantity(chainId) + rlpQuantity(nonce) + fees + common(unsigned) + rlpAccessList(accessList)
      return { prefix: '02', fields }
    }
    case 'eip2930':
      return { prefix: '01', fields: rlpQuantity(chainId) + priced + rlpAccessList(accessList) }
    case 'legacy':
      return { prefix: '', fields: priced }
    default:
      return unreachable(type)
  }
}

const encodeList = (prefix: string, list: string): Hex => `0x${prefix}${withLength(list, 0xc0)}`

/** The unsigned form as hex. Pure. */
export const serializeUnsigned = (unsigned: EvmUnsigned): Hex => {
  const { prefix, fields } = encodeParts(unsigned)
  const isLegacy = unsigned.type === 'legacy'
  return encodeList(
    prefix,
    isLegacy ? fields + rlpQuantity(unsigned.chainId) + rlpQuantity(0) + rlpQuantity(0) : fields,
  )
}

/** EIP-155: v = 35 + 2 × chain id + y parity; the other types have the y parity itself. */
const rlpV = ({ type, chainId }: EvmUnsigned, yParity: number): string =>
  rlpQuantity(type === 'legacy' ? 2n * BigInt(chainId) + 35n + BigInt(yParity) : yParity)

/** Calling the library directly is twice as fast as through viem. */
const digest = (raw: Hex): Uint8Array => keccak_256(Buffer.from(raw.slice(2), 'hex'))

const toHex = (bytes: Uint8Array): Hex => hexText(`0x${Buffer.from(bytes).toString('hex')}`)

/** What to sign. Pure. */
export const payloadOf = (unsigned: EvmUnsigned): Payload => ({
  kind: 'evm_transaction',
  unsigned: Buffer.from(serializeUnsigned(unsigned).slice(2), 'hex'),
})

/**
 * The signed transaction and its hash. Pure.
 * @param signature 65 bytes: r, s, recovery id (0 or 1)
 * @throws Error for a signature that no node accepts (EIP-2 allows only the lower half of s).
 */
export const assemble = (unsigned: EvmUnsigned, signature: Uint8Array): Signed => {
  const yParity = signature[64]
  if (signature.length !== 65 || (yParity !== 0 && yParity !== 1)) {
    throw new Error('expected a signature of 65 bytes ending in a recovery id of 0 or 1')
  }
  const r = BigInt(toHex(signature.subarray(0, 32)))
  const s = BigInt(toHex(signature.subarray(32, 64)))
  if (r === 0n || r >= GROUP_ORDER) throw new Error('expected r of a signature within the group')
  if (s === 0n || s > GROUP_ORDER / 2n) throw new Error('expected s of a signature in the lower half')
  const { prefix, fields } = encodeParts(unsigned)
  const raw = encodeList(prefix, fields + rlpV(unsigned, yParity) + rlpQuantity(r) + rlpQuantity(s))
  return { raw, hash: toHex(digest(raw)) }
}

/**
 * The unsigned transaction in signed bytes, the reverse of `assemble`. Pure.
 * @throws Error for bytes of another form, and for those that are only signed and never sent.
 */
export const disassemble = (raw: Hex): EvmUnsigned => {
  const parsed = parseTransaction(raw as TransactionSerializedEIP1559)
  if (parsed.type !== 'eip1559' || (parsed.accessList ?? []).length > 0) {
    throw new Error('expected a transaction of EIP-1559 without an access list')
  }
  return {
    family: 'evm',
    chainId: parsed.chainId,
    nonce: parsed.nonce ?? 0,
    to: parsed.to == null ? null : checksum(parsed.to.toLowerCase()),
    value: parsed.value ?? 0n,
    input: parsed.data ?? '0x',
    gasLimit: parsed.gas ?? 0n,
    maxFeePerGas: parsed.maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: parsed.maxPriorityFeePerGas ?? 0n,
  }
}

/** The address whose key signed the bytes. Pure. @throws Error for bytes of another form or an invalid signature. */
export const recoverSigner = async (raw: Hex): Promise<string> => {
  const { r, s, v, yParity, ...unsigned } = parseTransaction(raw as TransactionSerializedEIP1559)
  if (r === undefined || s === undefined || yParity === undefined) throw new Error('a transaction without a signature')
  return recoverAddress({ digest: digest(serializeTransaction(unsigned)), r, s, yParity })
}
