// Parsers for a node's answers. An answer is untrusted data: every field passes one of these parsers before use.

import type { Hex } from '../chain.ts'

/** The node's answer does not have the shape that the execution API specifies. */
export class MalformedAnswer extends Error {
  constructor(expected: string) {
    super(`expected ${expected}`)
    this.name = 'MalformedAnswer'
  }
}

/** A JSON object whose fields are not parsed yet. */
export type JsonRecord = Readonly<Record<string, unknown>>

/** Whether a value is an object and not a list. */
export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

// Whole bytes are checked by the length: a repeated group in the pattern is 100 times slower and fails above 4 million digits.
const HEX = /^0x[0-9a-f]*$/
const HEX_ANY_CASE = /^0x[0-9a-fA-F]*$/
const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/
const HASH = /^0x[0-9a-f]{64}$/
const ADDRESS = /^0x[0-9a-f]{40}$/

const matches = (value: string, pattern: RegExp): value is Hex => pattern.test(value)

const isWhole = (value: string): boolean => value.length % 2 === 0

/** Whether a value is `0x` with whole bytes, in any letter case. */
export const isHex = (value: unknown): value is Hex =>
  typeof value === 'string' && isWhole(value) && matches(value, HEX_ANY_CASE)

/** For our own data, which must already be hex. @throws Error if it is not. */
export const hexText = (text: string): Hex => {
  if (!isHex(text)) throw new Error('expected a hex text')
  return text
}

/** An object that is not a list. @throws MalformedAnswer */
export const record = (value: unknown): JsonRecord => {
  if (!isRecord(value)) throw new MalformedAnswer('an object')
  return value
}

/** A list of anything. */
export const list = (value: unknown): readonly unknown[] => {
  if (!Array.isArray(value)) throw new MalformedAnswer('a list')
  return value
}

/** An integer in hex, up to 32 bytes. */
export const quantity = (value: unknown): bigint => {
  if (typeof value !== 'string' || !QUANTITY.test(value)) throw new MalformedAnswer('a quantity')
  return BigInt(value)
}

/** A quantity that must fit a JavaScript number: indexes, counts, seconds. */
export const smallQuantity = (value: unknown): number => {
  const number = Number(quantity(value))
  if (!Number.isSafeInteger(number)) throw new MalformedAnswer('a quantity below 2^53')
  return number
}

/** Bytes of any length, in lower case. */
export const bytes = (value: unknown): Hex => {
  if (typeof value !== 'string' || !isWhole(value)) throw new MalformedAnswer('bytes')
  if (matches(value, HEX)) return value
  const lower = value.toLowerCase()
  if (!matches(lower, HEX)) throw new MalformedAnswer('bytes')
  return lower
}

/** 32 bytes, in lower case. */
export const hash = (value: unknown): Hex => {
  if (typeof value !== 'string') throw new MalformedAnswer('32 bytes')
  if (matches(value, HASH)) return value
  const lower = value.toLowerCase()
  if (!matches(lower, HASH)) throw new MalformedAnswer('32 bytes')
  return lower
}

/** 20 bytes, in lower case. Only addresses that leave src/chains get a checksum. */
export const rawAddress = (value: unknown): Hex => {
  if (typeof value !== 'string') throw new MalformedAnswer('an address')
  if (matches(value, ADDRESS)) return value
  const lower = value.toLowerCase()
  if (!matches(lower, ADDRESS)) throw new MalformedAnswer('an address')
  return lower
}

/** The same parser for a value that may be null or absent. */
export const nullable =
  <T>(parse: (value: unknown) => T) =>
  (value: unknown): T | null =>
    value === null || value === undefined ? null : parse(value)

/** The same parser for every item of a list. */
export const listOf =
  <T>(parse: (value: unknown) => T) =>
  (value: unknown): readonly T[] =>
    list(value).map((item) => parse(item))

/** An integer as a JSON-RPC quantity (hex without leading zeros). */
export const toQuantity = (value: bigint | number): Hex => `0x${value.toString(16)}`
