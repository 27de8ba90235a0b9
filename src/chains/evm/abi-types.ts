// Parses the type names of the contract ABI (Solidity documentation, "Contract ABI Specification") into layouts: how
// many bytes a value takes in the head of a sequence, and whether its content is in the tail.

import { keccak_256 } from '@noble/hashes/sha3.js'
import type { AbiInput, Hex } from '../chain.ts'

/** A value of exactly one word, by the kind of its content. */
type WordKind = 'address' | 'bool' | 'uint' | 'int' | 'bytes'

export type Layout = { readonly headBytes: number; readonly dynamic: boolean } & (
  | { readonly kind: 'word'; readonly word: WordKind; readonly size: number }
  | { readonly kind: 'bytes'; readonly text: boolean }
  /** `length`: null if it is in the data. */
  | { readonly kind: 'array'; readonly item: Layout; readonly length: number | null }
  | { readonly kind: 'tuple'; readonly names: readonly string[]; readonly items: readonly Layout[] }
)

const ARRAY = /^(.*)\[([1-9][0-9]{0,8})?\]$/
const INTEGER = /^(u?int)([1-9][0-9]{0,2})?$/
const FIXED_BYTES = /^bytes([1-9][0-9]?)$/

const word = (kind: WordKind, size: number): Layout => ({
  kind: 'word',
  word: kind,
  size,
  headBytes: 32,
  dynamic: false,
})

const wordLayout = (type: string): Layout | null => {
  if (type === 'address') return word('address', 20)
  if (type === 'bool') return word('bool', 1)
  // An address and a selector.
  if (type === 'function') return word('bytes', 24)
  const [, sign, bits = '256'] = INTEGER.exec(type) ?? []
  if (sign !== undefined) {
    const size = Number(bits) / 8
    return Number.isInteger(size) && size <= 32 ? word(sign === 'int' ? 'int' : 'uint', size) : null
  }
  const size = Number(FIXED_BYTES.exec(type)?.[1] ?? 0)
  return size >= 1 && size <= 32 ? word('bytes', size) : null
}

const arrayLayout = (item: Layout, length: number | null): Layout => {
  const dynamic = length === null || item.dynamic
  return { kind: 'array', item, length, dynamic, headBytes: dynamic ? 32 : (length ?? 0) * item.headBytes }
}

/** null for a type that the ABI does not have. Pure. */
export const parseLayout = (input: AbiInput): Layout | null => {
  const [, inner, length] = ARRAY.exec(input.type) ?? []
  if (inner !== undefined) {
    const item = parseLayout({ ...input, type: inner })
    return item === null ? null : arrayLayout(item, length === undefined ? null : Number(length))
  }
  if (input.type === 'tuple') return input.components?.length ? parseTuple(input.components) : null
  if (input.type === 'bytes' || input.type === 'string') {
    return { kind: 'bytes', text: input.type === 'string', headBytes: 32, dynamic: true }
  }
  return wordLayout(input.type)
}

/** The layout of parameters: a tuple that may be empty. Pure. */
export const parseTuple = (inputs: readonly AbiInput[]): Extract<Layout, { kind: 'tuple' }> | null => {
  const items: Layout[] = []
  for (const input of inputs) {
    const item = parseLayout(input)
    if (item === null) return null
    items.push(item)
  }
  const dynamic = items.some((item) => item.dynamic)
  const sizes = items.reduce((sum, item) => sum + item.headBytes, 0)
  return { kind: 'tuple', names: chooseNames(inputs), items, dynamic, headBytes: dynamic ? 32 : sizes }
}

/**
 * Parameter names without leading underscores. A parameter without a name, or with one that is taken, gets its index as
 * a name: identifiers in Solidity cannot begin with a digit. Pure.
 */
export const chooseNames = (inputs: readonly AbiInput[]): readonly string[] => {
  const names = new Set<string>()
  for (const [index, { name }] of inputs.entries()) {
    const bare = name.replace(/^_+/, '')
    names.add(bare === '' || names.has(bare) ? String(index) : bare)
  }
  return [...names]
}

const ALIAS = /^(u?int)(?=$|\[)/

const typeName = ({ type, components }: AbiInput): string => {
  if (!type.startsWith('tuple')) return type.replace(ALIAS, '$1256')
  return `(${(components ?? []).map(typeName).join(',')})${type.slice('tuple'.length)}`
}

/** `transfer(address,uint256)`. Pure. */
export const signatureOf = (item: { readonly name: string; readonly inputs: readonly AbiInput[] }): string =>
  `${item.name}(${item.inputs.map(typeName).join(',')})`

/** The first four bytes of the signature's Keccak-256. Pure. */
export const selectorOf = (signature: string): Hex =>
  `0x${Buffer.from(keccak_256(Buffer.from(signature)).subarray(0, 4)).toString('hex')}`
