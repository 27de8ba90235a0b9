// A message's bytes as plain data. See data.ts.

import { isUtf8 } from 'node:buffer'
import { BIGINT, checkBigint, checkValue, DATE, Refused } from './data.ts'

/** A longer text is checked by the runtime. */
const ASCII_TRIED_BYTES_MAX = 64

/** The names of fields that came on a connection, by a hash of their bytes: they come again and again. */
export type Names = Map<number, string>

type Reader = { readonly bytes: Buffer; at: number; values: number; readonly names: Names }

const tooEarly = () => new Refused('the message ends too early')

/** @returns where the bytes begin. */
const take = (reader: Reader, length: number): number => {
  const start = reader.at
  if (length > reader.bytes.length - start) throw tooEarly()
  reader.at = start + length
  return start
}

const takeBytes = (reader: Reader, length: number): Buffer => {
  const start = take(reader, length)
  return reader.bytes.subarray(start, start + length)
}

const takeUint = (reader: Reader, byteLength: number): number =>
  byteLength === 1 ? takeByte(reader) : reader.bytes.readUIntBE(take(reader, byteLength), byteLength)

const takeByte = (reader: Reader): number => {
  const byte = reader.bytes[reader.at]
  if (byte === undefined) throw tooEarly()
  reader.at += 1
  return byte
}

const takeText = (reader: Reader, length: number): string => {
  const start = take(reader, length)
  const { bytes, at: end } = reader
  // Most are short and ASCII.
  if (length <= ASCII_TRIED_BYTES_MAX) {
    let at = start
    while (at < end && (bytes[at] ?? 0x80) < 0x80) at += 1
    if (at === end) return bytes.toString('latin1', start, end)
  }
  if (!isUtf8(bytes.subarray(start, end))) throw new Refused('a text is not UTF-8')
  return bytes.toString('utf8', start, end)
}

const NAMES_MAX = 1_000

const isAt = (name: string, bytes: Uint8Array, start: number): boolean => {
  for (let index = 0; index < name.length; index += 1) {
    if (name.charCodeAt(index) !== bytes[start + index]) return false
  }
  return true
}

const takeShortName = (reader: Reader, length: number): string => {
  const { bytes, names, at: start } = reader
  let hash = length
  for (let at = start; at < start + length; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] ?? 0)) | 0
  const known = names.get(hash)
  if (known?.length === length && isAt(known, bytes, start)) {
    reader.at = start + length
    return known
  }
  const name = takeText(reader, length)
  if (name.length === length && names.size < NAMES_MAX) names.set(hash, name)
  return name
}

/** 64 bits are for integers that need them and that a number can say. */
const safe = (value: bigint): number => {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) throw new Refused('an integer is beyond what a number can say')
  return number
}

const bigintOf = (bytes: Buffer): bigint => {
  checkBigint(bytes.length)
  const [sign, first] = bytes
  if (sign === undefined || sign > 1 || first === 0 || (sign === 1 && first === undefined)) {
    throw new Refused('a number is not in its one form')
  }
  const magnitude = first === undefined ? 0n : BigInt(`0x${bytes.toString('hex', 1)}`)
  return sign === 1 ? -magnitude : magnitude
}

const dateOf = (bytes: Buffer): Date => {
  const date = new Date(bytes.length === 8 ? bytes.readDoubleBE() : Number.NaN)
  if (Number.isNaN(date.getTime())) throw new Refused('a date is invalid')
  return date
}

const takeExtension = (reader: Reader, length: number): bigint | Date => {
  const type = takeUint(reader, 1)
  const bytes = takeBytes(reader, length)
  if (type === BIGINT) return bigintOf(bytes)
  if (type === DATE) return dateOf(bytes)
  throw new Refused('an extension type is unknown')
}

const takeList = (reader: Reader, length: number, depth: number): unknown[] => {
  const list: unknown[] = []
  for (let index = 0; index < length; index += 1) list.push(takeValue(reader, depth + 1))
  return list
}

const takeObject = (reader: Reader, length: number, depth: number): Record<string, unknown> => {
  const object: Record<string, unknown> = {}
  for (let index = 0; index < length; index += 1) {
    const name = takeName(reader, depth + 1)
    if (typeof name !== 'string') throw new Refused("a field's name is not a text")
    // `in` would also find what every object has.
    if (name === '__proto__' || Object.hasOwn(object, name)) {
      throw new Refused('an object has a field twice, or one that no object may have')
    }
    object[name] = takeValue(reader, depth + 1)
  }
  return object
}

/** The heads from 0xc0 to 0xdf. Those of a kind follow each other, by the number of bytes of what comes next. */
const takeLong = (reader: Reader, head: number, depth: number): unknown => {
  const uintFrom = (first: number): number => takeUint(reader, 2 ** (head - first))
  switch (head) {
    case 0xc0:
      return null
    case 0xc2:
    case 0xc3:
      return head === 0xc3
    case 0xc4:
    case 0xc5:
    case 0xc6: {
      const length = uintFrom(0xc4)
      const start = take(reader, length)
      return new Uint8Array(reader.bytes.buffer, reader.bytes.byteOffset + start, length)
    }
    case 0xc7:
    case 0xc8:
    case 0xc9:
      return takeExtension(reader, uintFrom(0xc7))
    case 0xcb:
      return reader.bytes.readDoubleBE(take(reader, 8))
    case 0xcc:
    case 0xcd:
    case 0xce:
      return uintFrom(0xcc)
    case 0xcf:
      return safe(reader.bytes.readBigUInt64BE(take(reader, 8)))
    case 0xd0:
    case 0xd1:
    case 0xd2: {
      const byteLength = 2 ** (head - 0xd0)
      return reader.bytes.readIntBE(take(reader, byteLength), byteLength)
    }
    case 0xd3:
      return safe(reader.bytes.readBigInt64BE(take(reader, 8)))
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
      return takeExtension(reader, 2 ** (head - 0xd4))
    case 0xd9:
    case 0xda:
    case 0xdb:
      return takeText(reader, uintFrom(0xd9))
    case 0xdc:
    case 0xdd:
      return takeList(reader, uintFrom(0xdb), depth)
    case 0xde:
    case 0xdf:
      return takeObject(reader, uintFrom(0xdd), depth)
    default:
      throw new Refused('a value is of a type that is never written')
  }
}

/** Counts the value that begins. */
const takeHead = (reader: Reader, depth: number): number => {
  reader.values += 1
  checkValue({ depth, values: reader.values })
  return takeByte(reader)
}

const takeName = (reader: Reader, depth: number): unknown => {
  const head = takeHead(reader, depth)
  return head >= 0xa0 && head < 0xc0 ? takeShortName(reader, head & 0x1f) : takeRest(reader, head, depth)
}

const takeValue = (reader: Reader, depth: number): unknown => takeRest(reader, takeHead(reader, depth), depth)

const takeRest = (reader: Reader, head: number, depth: number): unknown => {
  if (head < 0x80) return head
  if (head < 0x90) return takeObject(reader, head & 0x0f, depth)
  if (head < 0xa0) return takeList(reader, head & 0x0f, depth)
  if (head < 0xc0) return takeText(reader, head & 0x1f)
  if (head < 0xe0) return takeLong(reader, head, depth)
  return head - 0x100
}

/** Reads a message. Its Uint8Arrays are views of `bytes`. @throws Refused if `encode` would not write such a value. */
export const decode = (bytes: Uint8Array, names: Names = new Map()): unknown => {
  const reader = { bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), at: 0, values: 0, names }
  const value = takeValue(reader, 0)
  if (reader.at !== bytes.length) throw new Refused('there is something after the message')
  return value
}
