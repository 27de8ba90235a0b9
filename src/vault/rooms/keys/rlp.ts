// RLP (Yellow Paper, appendix B), read strictly: each value has one encoding, and any other is refused.

export type RlpItem = Uint8Array | readonly RlpItem[]

const STRING = 0x80
const LONG_STRING = 0xb7
const LIST = 0xc0
const LONG_LIST = 0xf7
/** Up to this many bytes, the first byte contains the length. */
const SHORT_MAX = 55
/** More than any transaction has, and few enough for exact integers. */
const LENGTH_BYTES_MAX = 4
const DEPTH_MAX = 8

const malformed = (): Error => new Error('expected RLP in its shortest form')

const extentOf = (bytes: Uint8Array, at: number, offset: number, long: number): { start: number; end: number } => {
  const first = bytes[at] ?? 0
  if (first <= long) return { start: at + 1, end: at + 1 + first - offset }
  const lengthBytes = first - long
  if (lengthBytes > LENGTH_BYTES_MAX || at + 1 + lengthBytes > bytes.length) throw malformed()
  let length = 0
  for (const byte of bytes.subarray(at + 1, at + 1 + lengthBytes)) length = length * 256 + byte
  if (bytes[at + 1] === 0 || length <= SHORT_MAX) throw malformed()
  const start = at + 1 + lengthBytes
  return { start, end: start + length }
}

const readItem = (bytes: Uint8Array, at: number, depth: number): { item: RlpItem; end: number } => {
  const first = bytes[at]
  if (first === undefined || depth > DEPTH_MAX) throw malformed()
  if (first < STRING) return { item: bytes.subarray(at, at + 1), end: at + 1 }
  const isText = first < LIST
  const { start, end } = isText ? extentOf(bytes, at, STRING, LONG_STRING) : extentOf(bytes, at, LIST, LONG_LIST)
  if (end > bytes.length) throw malformed()
  if (isText) {
    const item = bytes.subarray(start, end)
    if (item.length === 1 && (item[0] ?? 0) < STRING) throw malformed()
    return { item, end }
  }
  const items: RlpItem[] = []
  let next = start
  while (next < end) {
    const read = readItem(bytes, next, depth + 1)
    items.push(read.item)
    next = read.end
  }
  if (next !== end) throw malformed()
  return { item: items, end }
}

/** Pure. @throws Error for bytes that are not exactly one item. */
export const decodeRlp = (bytes: Uint8Array): RlpItem => {
  const { item, end } = readItem(bytes, 0, 0)
  if (end !== bytes.length) throw malformed()
  return item
}

const withHeader = (content: Uint8Array, offset: number, long: number): Buffer => {
  if (content.length <= SHORT_MAX) return Buffer.concat([Buffer.of(offset + content.length), content])
  const length = minimal(Buffer.from(content.length.toString(16).padStart(8, '0'), 'hex'))
  return Buffer.concat([Buffer.of(long + length.length), length, content])
}

/** Big-endian bytes of an integer of at most 32. Pure. */
export const bytesOfInteger = (value: bigint): Uint8Array => Buffer.from(value.toString(16).padStart(64, '0'), 'hex')

/** An integer without leading zero bytes. */
export const minimal = (bytes: Uint8Array): Uint8Array => {
  const first = bytes.findIndex((byte) => byte !== 0)
  return first < 0 ? bytes.subarray(bytes.length) : bytes.subarray(first)
}

const text = (bytes: Uint8Array): Uint8Array => {
  const [first = STRING] = bytes
  return bytes.length === 1 && first < STRING ? bytes : withHeader(bytes, STRING, LONG_STRING)
}

export const encodeList = (texts: readonly Uint8Array[]): Uint8Array =>
  withHeader(Buffer.concat(texts.map(text)), LIST, LONG_LIST)

/** A list with further integers (big-endian bytes) at its end. Pure. @param list as `decodeRlp` takes it. */
export const appendIntegers = (list: Uint8Array, integers: readonly Uint8Array[]): Uint8Array => {
  const { start, end } = extentOf(list, 0, LIST, LONG_LIST)
  const texts = integers.map((bytes) => text(minimal(bytes)))
  return withHeader(Buffer.concat([list.subarray(start, end), ...texts]), LIST, LONG_LIST)
}
