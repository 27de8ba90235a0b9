// Decodes ABI values into readable form. It accepts only the encoding that Solidity's abi.encode produces: tails in the
// order of their heads, no gaps, zero padding, no bytes after the end. So the decoded values encode to the same bytes
// again, and each byte is read only once: crafted offsets that share a tail cannot make decoding slow.

import type { AbiInput } from '../chain.ts'
import { type Layout, parseTuple } from './abi-types.ts'
import { checksum } from './address.ts'

const WORD_BYTES = 32

/** The data is not an encoding of these types. */
class Misfit extends Error {}

type Tuple = Extract<Layout, { kind: 'tuple' }>
type Word = Extract<Layout, { kind: 'word' }>
/** `end` is where the next tail begins. */
type Read = { readonly value: unknown; readonly end: number }

/** Keeps a leading U+FEFF, and refuses invalid UTF-8. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const slice = (data: Buffer, from: number, length: number): Buffer => {
  if (from + length > data.length) throw new Misfit()
  return data.subarray(from, from + length)
}

const toHex = (bytes: Buffer): string => `0x${bytes.toString('hex')}`

const assertZero = (bytes: Buffer): void => {
  for (const byte of bytes) if (byte !== 0) throw new Misfit()
}

/** A length or an offset. It must fit in 32 bits. */
const sizeAt = (data: Buffer, at: number): number => {
  const word = slice(data, at, WORD_BYTES)
  assertZero(word.subarray(0, 28))
  return word.readUInt32BE(28)
}

const integerIn = (bytes: Buffer, { word, size }: Word): string => {
  const unsigned = BigInt(toHex(bytes))
  const bits = size * 8
  const value = word === 'int' ? BigInt.asIntN(bits, unsigned) : unsigned
  if (word === 'int' ? BigInt.asUintN(256, value) !== unsigned : BigInt.asUintN(bits, value) !== value)
    throw new Misfit()
  return value.toString()
}

const readWord = (data: Buffer, at: number, layout: Word): unknown => {
  const bytes = slice(data, at, WORD_BYTES)
  if (layout.word === 'uint' || layout.word === 'int') return integerIn(bytes, layout)
  if (layout.word === 'bytes') {
    assertZero(bytes.subarray(layout.size))
    return toHex(bytes.subarray(0, layout.size))
  }
  assertZero(bytes.subarray(0, WORD_BYTES - layout.size))
  if (layout.word === 'address') return checksum(toHex(bytes.subarray(12)))
  const last = bytes.readUInt8(31)
  if (last > 1) throw new Misfit()
  return last === 1
}

const textIn = (bytes: Buffer): string => {
  try {
    return UTF8.decode(bytes)
  } catch {
    throw new Misfit()
  }
}

const readBytes = (data: Buffer, at: number, text: boolean): Read => {
  const length = sizeAt(data, at)
  const bytes = slice(data, at + WORD_BYTES, length)
  const padding = (WORD_BYTES - (length % WORD_BYTES)) % WORD_BYTES
  const end = at + WORD_BYTES + length
  assertZero(slice(data, end, padding))
  return { value: text ? textIn(bytes) : toHex(bytes), end: end + padding }
}

/** Reads a sequence of values: first all heads, then the tails of the dynamic ones. */
const readSequence = (
  data: Buffer,
  at: number,
  sequence: { readonly length: number; readonly headsBytes: number; readonly layoutAt: (index: number) => Layout },
): { readonly values: readonly unknown[]; readonly end: number } => {
  const { length, headsBytes, layoutAt } = sequence
  const values: unknown[] = []
  let head = at
  let end = at + headsBytes
  for (let index = 0; index < length; index += 1) {
    const layout = layoutAt(index)
    if (layout.dynamic && sizeAt(data, head) !== end - at) throw new Misfit()
    const read = readValue(data, layout.dynamic ? end : head, layout)
    values.push(read.value)
    if (layout.dynamic) end = read.end
    head += layout.headBytes
  }
  return { values, end }
}

const readTuple = (data: Buffer, at: number, { items }: Tuple) =>
  readSequence(data, at, {
    length: items.length,
    headsBytes: items.reduce((sum, item) => sum + item.headBytes, 0),
    layoutAt: (index) => {
      const item = items[index]
      if (item === undefined) throw new Misfit()
      return item
    },
  })

const named = ({ names }: Tuple, values: readonly unknown[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(names.map((name, index) => [name, values[index]]))

const readValue = (data: Buffer, at: number, layout: Layout): Read => {
  if (layout.kind === 'word') return { value: readWord(data, at, layout), end: at + WORD_BYTES }
  if (layout.kind === 'bytes') return readBytes(data, at, layout.text)
  if (layout.kind === 'tuple') {
    const { values, end } = readTuple(data, at, layout)
    return { value: named(layout, values), end }
  }
  const { item } = layout
  const length = layout.length ?? sizeAt(data, at)
  const from = layout.length === null ? at + WORD_BYTES : at
  const { values, end } = readSequence(data, from, {
    length,
    headsBytes: length * item.headBytes,
    layoutAt: () => item,
  })
  return { value: values, end }
}

/**
 * Arguments by their bare names: addresses checksummed, integers as decimal strings, bytes as hex, tuples as objects.
 * @param data what follows the selector, in hex without a prefix
 * @returns null where the data is not exactly the encoding of such values. Pure, in time linear in the data.
 */
export const readArguments = (inputs: readonly AbiInput[], data: string): Readonly<Record<string, unknown>> | null => {
  const layout = parseTuple(inputs)
  if (layout === null) return null
  try {
    const buffer = Buffer.from(data, 'hex')
    const { values, end } = readTuple(buffer, 0, layout)
    return end === buffer.length && buffer.length * 2 === data.length ? named(layout, values) : null
  } catch (error) {
    if (error instanceof Misfit) return null
    throw error
  }
}
