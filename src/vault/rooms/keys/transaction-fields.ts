// Reads an unsigned EVM transaction: type 0 with its chain id (EIP-155), type 1 (EIP-2930) or type 2 (EIP-1559). Anything else is
// refused, also a transaction of type 0 without a chain id, which every chain would take, and fields that no node takes: numbers that
// are too long or begin with a zero, a recipient of another length, the last nonce (EIP-2681).

import { decodeRlp, type RlpItem } from './rlp.ts'

const EMPTY: Uint8Array = new Uint8Array()
const EIP2930_TYPE = 1
const EIP1559_TYPE = 2
/** RLP of a list begins with this byte, or with a higher one. */
const LIST = 0xc0
/** Nonce, gas price, gas, to, value, data, chain id, and two zeros. */
const LEGACY_FIELDS = 9
/** Chain id, nonce, gas price, gas, to, value, data, access list. */
const EIP2930_FIELDS = 8
/** Chain id, nonce, tip, cap, gas, to, value, data, access list. */
const EIP1559_FIELDS = 9
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

/** The texts of a list of this length; the access list, if there is one, is its last item. */
const readItems = (bytes: Uint8Array, of: { readonly fields: number; readonly hasAccessList: boolean }) => {
  const items = itemsOf(decodeRlp(bytes))
  if (items.length !== of.fields) throw malformed()
  const texts = (of.hasAccessList ? items.slice(0, -1) : items).map((item) => {
    if (!isBytes(item)) throw malformed()
    return item
  })
  return { texts, accessList: of.hasAccessList ? accessListOf(items.at(-1)) : [] }
}

const legacy = (unsigned: Uint8Array): TransactionFields => {
  const { texts, accessList } = readItems(unsigned, { fields: LEGACY_FIELDS, hasAccessList: false })
  const [nonce = EMPTY, price = EMPTY, gas = EMPTY, to = EMPTY, value = EMPTY, data = EMPTY, chainId = EMPTY] = texts
  const isForOneChain = chainId.length > 0 && texts.slice(-2).every((zero) => zero.length === 0)
  if (!isForOneChain) throw malformed()
  return { type: 0, chainId, nonce, maxPriorityFeePerGas: price, maxFeePerGas: price, gas, to, value, data, accessList }
}

const eip2930 = (unsigned: Uint8Array): TransactionFields => {
  const { texts, accessList } = readItems(unsigned.subarray(1), { fields: EIP2930_FIELDS, hasAccessList: true })
  const [chainId = EMPTY, nonce = EMPTY, price = EMPTY, gas = EMPTY, to = EMPTY, value = EMPTY, data = EMPTY] = texts
  return { type: 1, chainId, nonce, maxPriorityFeePerGas: price, maxFeePerGas: price, gas, to, value, data, accessList }
}

const eip1559 = (unsigned: Uint8Array): TransactionFields => {
  const { texts, accessList } = readItems(unsigned.subarray(1), { fields: EIP1559_FIELDS, hasAccessList: true })
  const [chainId = EMPTY, nonce = EMPTY, maxPriorityFeePerGas = EMPTY, maxFeePerGas = EMPTY, ...rest] = texts
  const [gas = EMPTY, to = EMPTY, value = EMPTY, data = EMPTY] = rest
  return { type: 2, chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas, to, value, data, accessList }
}

/** Whether an unsigned transaction is of type 0. Pure. */
export const isLegacy = ([first = 0]: Uint8Array): boolean => first >= LIST

const read = (unsigned: Uint8Array): TransactionFields => {
  const [first = 0] = unsigned
  if (first === EIP1559_TYPE) return eip1559(unsigned)
  if (first === EIP2930_TYPE) return eip2930(unsigned)
  if (isLegacy(unsigned)) return legacy(unsigned)
  throw malformed()
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
