// What can cross: plain data, written as MessagePack (github.com/msgpack/msgpack/blob/master/spec.md). Two extension
// types:
//
//   0  a bigint: one byte 0, or 1 if it is negative, then its magnitude, big-endian, without leading zeros
//   1  a Date: milliseconds since 1970, a float 64
//
// Reading and writing are our own (decode.ts, encode.ts), because what is read gets signed. The common package also
// reads what it would never write: doubled names, any depth, lists of a length that is only claimed, 64-bit integers
// that lose digits, texts that are not UTF-8; and texts lose a byte order mark. Here a value arrives as it was, or not
// at all. The tests compare with that package.

/** What came is not what may come, or what is to be sent may not be sent. The sentence repeats nothing of it. */
export class Refused extends Error {}

export const BIGINT = 0
export const DATE = 1

/** Only typed data (EIP-712) nests at all deeply. */
const DEPTH_MAX = 64
/** Each takes some 50 bytes of memory. A request has dozens, large typed data thousands. */
const VALUES_MAX = 500_000
/** Numbers on chains have 256 bits. */
const BIGINT_BYTES_MAX = 1024

export const checkBigint = (byteLength: number): void => {
  if (byteLength > BIGINT_BYTES_MAX) throw new Refused('a number is too large')
}

/** Counts a value of a message. */
export const checkValue = ({ depth, values }: { readonly depth: number; readonly values: number }): void => {
  if (depth > DEPTH_MAX) throw new Refused('lists and objects are nested too deeply')
  if (values > VALUES_MAX) throw new Refused('there are too many values')
}
