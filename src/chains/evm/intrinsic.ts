// The gas that a transaction costs before its first instruction. A node refuses a whole simulation if one call has less
// gas, so such calls are found beforehand.

import type { AccessList } from '../chain.ts'
import type { Call } from './call.ts'

const TRANSACTION_GAS = 21_000n
/** EIP-2 and EIP-3860. */
const CREATION_GAS = 32_000n
const INIT_CODE_WORD_GAS = 2n
/** EIP-2028. */
const ZERO_BYTE_GAS = 4n
const OTHER_BYTE_GAS = 16n
/** EIP-2930. */
const ACCESSED_ADDRESS_GAS = 2_400n
const ACCESSED_SLOT_GAS = 1_900n
/** EIP-7623. */
const FLOOR_TOKEN_GAS = 10n
const FLOOR_TOKENS_OTHER_BYTE = 4n
/** EIP-3860: twice the limit for code (EIP-170). */
const INIT_CODE_LIMIT_BYTES = 49_152
/** EIP-170. */
export const CODE_LIMIT_BYTES = 24_576

const count = (input: string): { readonly zeros: bigint; readonly others: bigint } => {
  const all = Buffer.from(input.slice(2), 'hex')
  let zeros = 0
  for (const byte of all) if (byte === 0) zeros += 1
  return { zeros: BigInt(zeros), others: BigInt(all.length - zeros) }
}

const accessGas = (list: AccessList): bigint =>
  list.reduce((sum, { storageKeys }) => sum + ACCESSED_ADDRESS_GAS + BigInt(storageKeys.length) * ACCESSED_SLOT_GAS, 0n)

/** Intrinsic gas without EIP-7623's floor, which not every network has. Pure. */
export const intrinsicGas = (call: Call): bigint => {
  const { zeros, others } = count(call.input)
  const gas = TRANSACTION_GAS + zeros * ZERO_BYTE_GAS + others * OTHER_BYTE_GAS + accessGas(call.accessList ?? [])
  if (call.to !== null) return gas
  const words = (zeros + others + 31n) / 32n
  return gas + CREATION_GAS + words * INIT_CODE_WORD_GAS
}

/**
 * EIP-7623's floor: the most that the data of a call costs if nothing runs. On a network without EIP-7623 the cost is
 * the intrinsic gas, which is less. Pure.
 */
export const dataOnlyGas = (call: Call): bigint => {
  const { zeros, others } = count(call.input)
  return TRANSACTION_GAS + FLOOR_TOKEN_GAS * (zeros + others * FLOOR_TOKENS_OTHER_BYTE)
}

/** The lowest valid gas limit. @param input.hasDataFloor whether the network has EIP-7623. Pure. */
export const leastGas = ({ call, hasDataFloor }: { readonly call: Call; readonly hasDataFloor: boolean }): bigint => {
  const [intrinsic, floor] = [intrinsicGas(call), hasDataFloor ? dataOnlyGas(call) : 0n]
  return intrinsic > floor ? intrinsic : floor
}

/** The error text for what needs more gas than a transaction may have. Pure. */
export const tooMuchGas = (
  { network }: { readonly network: string },
  { needed, most }: { readonly needed: bigint; readonly most: bigint },
): string =>
  `execution failed: out of gas: it needs ${needed}, and a transaction on ${network} may have at most ${most}`

/** Why no node would start this call in any state; null if one may start it. Pure. */
export const whyInvalid = (call: Call): string | null => {
  if (call.to === null && (call.input.length - 2) / 2 > INIT_CODE_LIMIT_BYTES) {
    return `execution failed: max initcode size exceeded (${INIT_CODE_LIMIT_BYTES} bytes)`
  }
  if (call.gasLimit !== undefined && call.gasLimit < intrinsicGas(call)) {
    return `execution failed: intrinsic gas too low (${intrinsicGas(call)} needed)`
  }
  return null
}
