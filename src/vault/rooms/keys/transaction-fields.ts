// Reads an unsigned EVM transaction: type 0 with its chain id (EIP-155), type 1 (EIP-2930) or type 2 (EIP-1559). It
// refuses anything else, also type 0 without a chain id, which every chain would take, and fields that no node takes:
// numbers that are too long or begin with a zero, a recipient of another length, the last nonce (EIP-2681).

import { decodeRlp, type RlpItem } from './rlp.ts'

const EMPTY: Uint8Array = new Uint8Array()
/** RLP of a list begins with this byte, or with a higher one. */
const LIST = 0xc0
/** The fields of each type in their order. Two zeros follow in type 0, and the access list in all other types. */
const FIELDS = {
  0: ['nonce', 'maxFeePerGas', 'gas', 'to', 'value', 'data', 'chainId'],
  1: ['chainId', 'nonce', 'maxFeePerGas', 'gas', 'to', 'value', 'data'],
  2: ['chainId', 'nonce', 'maxPriorityFeePerGas', 'maxFeePerGas', 'gas', 'to', 'value', 'data'],
} as const
const ADDRESS_BYTES = 20
const SLOT_BYTES = 32
/** The most bytes of each number. */
const NUMBERS = [
  ['chainId', 8],
  ['nonce', 8],
  ['gas', 8],
  ['maxPriorityFeePerGas', 32],
  ['maxFeePerGas', 32],
  ['value', 32],
] as const
const LAST_NONCE = 'ff'.repeat(8)

/** Addresses and storage slots in lower-case hex without 0x. */
type AccessList = readonly { readonly address: string; readonly slots: readonly string[] }[]

/** Big-endian bytes. A gas price is both fees, as EIP-1559 treats the types 0 and 1. */
export type TransactionFields = {
  readonly type: 0 | 1 | 2
  readonly accessList: AccessList
} & Readonly<
  Record<'chainId' | 'nonce' | 'maxPriorityFeePerGas' | 'maxFeePerGas' | 'gas' | 'to' | 'value' | 'data', Uint8Array>
>

const malformed = (): Error => new Error('expected the fields of an unsigned transaction of type 0, 1 or 2')

const isBytes = (item: RlpItem | undefined): item is Uint8Array => item instanceof Uint8Array

const hexOf = (item: RlpItem | undefined, length: number): string => {
  if (!isBytes(item) || item.length !== length) throw malformed()
  return Buffer.from(item).toString('hex')
}

const itemsOf = (item: RlpItem | undefined): readonly RlpItem[] => {
  if (item === undefined || isBytes(item)) throw malformed()
  return item
}

const accessListOf = (item: RlpItem | undefined): AccessList =>
  itemsOf(item).map((entry) => {
    const [address, slots, ...others] = itemsOf(entry)
    if (others.length > 0) throw malformed()
    return { address: hexOf(address, ADDRESS_BYTES), slots: itemsOf(slots).map((slot) => hexOf(slot, SLOT_BYTES)) }
  })

/** Whether an unsigned transaction is of type 0. Pure. */
export const isLegacy = ([first = 0]: Uint8Array): boolean => first >= LIST

const typeOf = (unsigned: Uint8Array): TransactionFields['type'] => {
  const [first = 0] = unsigned
  if (first === 1 || first === 2) return first
  if (isLegacy(unsigned)) return 0
  throw malformed()
}

const read = (unsigned: Uint8Array): TransactionFields => {
  const type = typeOf(unsigned)
  const names: readonly string[] = FIELDS[type]
  const items = itemsOf(decodeRlp(type === 0 ? unsigned : unsigned.subarray(1)))
  if (items.length !== names.length + (type === 0 ? 2 : 1)) throw malformed()
  const bytes = (type === 0 ? items : items.slice(0, -1)).map((item) => {
    if (!isBytes(item)) throw malformed()
    return item
  })
  const {
    chainId = EMPTY,
    nonce = EMPTY,
    gas = EMPTY,
    maxFeePerGas = EMPTY,
    ...named
  } = Object.fromEntries(names.map((name, at) => [name, bytes[at]]))
  const { maxPriorityFeePerGas = maxFeePerGas, to = EMPTY, value = EMPTY, data = EMPTY } = named
  const isForOneChain = chainId.length > 0 && bytes.slice(names.length).every((zero) => zero.length === 0)
  if (type === 0 && !isForOneChain) throw malformed()
  const accessList = type === 0 ? [] : accessListOf(items.at(-1))
  return { type, chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas, to, value, data, accessList }
}

const isNumber = (bytes: Uint8Array, bytesMax: number): boolean => bytes.length <= bytesMax && bytes[0] !== 0

/** The fields of an unsigned transaction. Pure. @throws Error for another form. */
export const fieldsOfTransaction = (unsigned: Uint8Array): TransactionFields => {
  const fields = read(unsigned)
  const { nonce, to } = fields
  const areNumbers = NUMBERS.every(([name, bytesMax]) => isNumber(fields[name], bytesMax))
  const isLastNonce = Buffer.from(nonce).toString('hex') === LAST_NONCE
  if (!areNumbers || isLastNonce || (to.length !== 0 && to.length !== ADDRESS_BYTES)) throw malformed()
  return fields
}
