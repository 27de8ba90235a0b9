// Plain data as the bytes of a message. See data.ts.

import { BIGINT, checkBigint, checkValue, DATE, Refused } from './data.ts'

/** Enough for most messages. More moves to a larger buffer, and the smaller one is zeroed. */
const INITIAL_BYTES = 2048
/** A longer text is written by the runtime. */
const SIMPLE_LENGTH_MAX = 64

/** Messages one after the other, up to `at`; after it there are zeros. */
export type Writer = {
  bytes: Buffer
  at: number
  /** How many values the message has so far, and where it must end. */
  values: number
  endMax: number
}

export const createWriter = (): Writer => ({ bytes: Buffer.alloc(INITIAL_BYTES), at: 0, values: 0, endMax: 0 })

/** @returns where the next bytes are written. It may move `writer.bytes`, so it comes first. */
const take = (writer: Writer, length: number): number => {
  const start = writer.at
  const end = start + length
  if (end > writer.endMax) throw new Refused('the message is too large')
  if (end > writer.bytes.length) {
    const larger = Buffer.alloc(end * 2)
    writer.bytes.copy(larger, 0, 0, start)
    writer.bytes.fill(0)
    writer.bytes = larger
  }
  writer.at = end
  return start
}

const putByte = (writer: Writer, byte: number): void => {
  const start = take(writer, 1)
  writer.bytes[start] = byte
}

const putUint = (writer: Writer, byteLength: number, value: number): void => {
  const start = take(writer, byteLength)
  writer.bytes.writeUIntBE(value, start, byteLength)
}

/** A head, and a length of 8, 16 or 32 bits after it. `first` is the head for 8 bits. */
const putLength = (writer: Writer, first: number, length: number): void => {
  const power = length < 0x100 ? 0 : length < 0x10000 ? 1 : 2
  putByte(writer, first + power)
  putUint(writer, 2 ** power, length)
}

const putDouble = (writer: Writer, value: number): void => {
  const start = take(writer, 8)
  writer.bytes.writeDoubleBE(value, start)
}

const putNumber = (writer: Writer, value: number): void => {
  if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
    putByte(writer, 0xcb)
    putDouble(writer, value)
  } else if (value >= -0x20 && value < 0x80) {
    putByte(writer, value & 0xff)
  } else if (value >= 0) {
    const power = value < 0x100 ? 0 : value < 0x10000 ? 1 : value < 0x100000000 ? 2 : 3
    putByte(writer, 0xcc + power)
    const start = take(writer, 2 ** power)
    if (power < 3) writer.bytes.writeUIntBE(value, start, 2 ** power)
    else writer.bytes.writeBigUInt64BE(BigInt(value), start)
  } else {
    const power = value >= -0x80 ? 0 : value >= -0x8000 ? 1 : value >= -0x80000000 ? 2 : 3
    putByte(writer, 0xd0 + power)
    const start = take(writer, 2 ** power)
    if (power < 3) writer.bytes.writeIntBE(value, start, 2 ** power)
    else writer.bytes.writeBigInt64BE(BigInt(value), start)
  }
}

/** As most texts are: short, and ASCII. Others are left. */
const putSimpleText = (writer: Writer, text: string): boolean => {
  const { length } = text
  if (length > SIMPLE_LENGTH_MAX) return false
  const headBytes = length < 0x20 ? 1 : 2
  const start = take(writer, headBytes + length)
  const { bytes } = writer
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index)
    if (code >= 0x80) {
      writer.at = start
      return false
    }
    bytes[start + headBytes + index] = code
  }
  bytes[start] = headBytes === 1 ? 0xa0 + length : 0xd9
  if (headBytes === 2) bytes[start + 1] = length
  return true
}

const putText = (writer: Writer, text: string): void => {
  if (putSimpleText(writer, text)) return
  // UTF-8 cannot say half of a surrogate pair: it would arrive as something else.
  if (!text.isWellFormed()) throw new Refused('a text is not Unicode')
  const length = Buffer.byteLength(text)
  if (length < 0x20) putByte(writer, 0xa0 + length)
  else putLength(writer, 0xd9, length)
  const start = take(writer, length)
  writer.bytes.write(text, start)
}

const putBytes = (writer: Writer, bytes: Uint8Array): void => {
  putLength(writer, 0xc4, bytes.length)
  const start = take(writer, bytes.length)
  writer.bytes.set(bytes, start)
}

const putBigint = (writer: Writer, value: bigint): void => {
  const digits = value === 0n ? '' : (value < 0n ? -value : value).toString(16)
  const bytes = Buffer.from(`${value < 0n ? '01' : '00'}${digits.length % 2 === 0 ? '' : '0'}${digits}`, 'hex')
  checkBigint(bytes.length)
  putLength(writer, 0xc7, bytes.length)
  putByte(writer, BIGINT)
  const start = take(writer, bytes.length)
  writer.bytes.set(bytes, start)
}

const putDate = (writer: Writer, date: Date): void => {
  const atMs = date.getTime()
  if (Number.isNaN(atMs)) throw new Refused('a date is invalid')
  // fixext 8
  putByte(writer, 0xd7)
  putByte(writer, DATE)
  putDouble(writer, atMs)
}

const LIST = { fixed: 0x90, long: 0xdc }
const OBJECT = { fixed: 0x80, long: 0xde }

/** The number of values of a list or of fields of an object. `fixed` is the head for 0, `long` that for 16 bits. */
const putCount = (writer: Writer, { fixed, long }: { fixed: number; long: number }, count: number): void => {
  if (count < 0x10) {
    putByte(writer, fixed + count)
  } else {
    putByte(writer, count < 0x10000 ? long : long + 1)
    putUint(writer, count < 0x10000 ? 2 : 4, count)
  }
}

const isPlain = (value: object): value is Record<string, unknown> => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const putObject = (writer: Writer, value: object, depth: number): void => {
  if (value instanceof Uint8Array) {
    putBytes(writer, value)
  } else if (value instanceof Date) {
    putDate(writer, value)
  } else if (Array.isArray(value)) {
    putCount(writer, LIST, value.length)
    for (const each of value) put(writer, each, depth + 1)
  } else if (isPlain(value)) {
    const names = Object.keys(value)
    let count = 0
    for (const name of names) if (value[name] !== undefined) count += 1
    putCount(writer, OBJECT, count)
    for (const name of names) {
      const field = value[name]
      if (field === undefined) continue
      if (name === '__proto__') throw new Refused('an object has a field that no object may have')
      putText(writer, name)
      put(writer, field, depth + 1)
    }
  } else {
    throw new Refused('a value is not plain data')
  }
}

const put = (writer: Writer, value: unknown, depth: number): void => {
  writer.values += 1
  checkValue({ depth, values: writer.values })
  if (value === null || value === undefined) putByte(writer, 0xc0)
  else if (typeof value === 'boolean') putByte(writer, value ? 0xc3 : 0xc2)
  else if (typeof value === 'number') putNumber(writer, value)
  else if (typeof value === 'string') putText(writer, value)
  else if (typeof value === 'bigint') putBigint(writer, value)
  else if (typeof value === 'object') putObject(writer, value, depth)
  else throw new Refused('a value is not plain data')
}

/**
 * Adds a message: null, booleans, numbers, texts, Uint8Array, bigint, Date, and lists and objects of these. Fields that
 * are undefined are left out; elsewhere undefined becomes null. @returns where it begins, with `headBytes` zeros.
 * @throws Refused for what `decode` would refuse. Then nothing was added.
 */
export const encode = (
  writer: Writer,
  value: unknown,
  { headBytes, bytesMax }: { readonly headBytes: number; readonly bytesMax: number },
): number => {
  const start = writer.at
  writer.values = 0
  writer.endMax = start + bytesMax
  try {
    take(writer, headBytes)
    put(writer, value, 0)
    return start
  } catch (error) {
    writer.bytes.fill(0, start, writer.at)
    writer.at = start
    throw error
  }
}
