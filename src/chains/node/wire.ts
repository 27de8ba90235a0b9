// Parsers for a node's answers. An answer is untrusted data: every field passes one of these parsers before use.

import type { NodeTrouble } from '../../../db/words.ts'
import { AppError } from '../../platform/errors.ts'
import type { Hex } from '../chain.ts'

/** The node cannot be reached, its answer cannot be read, it refused a question, or it belongs to another chain. */
export class NodeUnavailable extends AppError {
  readonly trouble: NodeTrouble
  /** How long the node wants to be left alone (`Retry-After`); null if it did not say. */
  readonly retryAfterMs: number | null

  constructor(trouble: NodeTrouble, sentence: string, cause?: unknown, retryAfterMs: number | null = null) {
    super(trouble === 'wrong_chain' ? 'wrong_chain' : 'node_unavailable', sentence, { cause })
    this.name = 'NodeUnavailable'
    this.trouble = trouble
    this.retryAfterMs = retryAfterMs
  }
}

/** What a node said; null if it is unavailable. For what works without it. */
export const unlessUnavailable = async <Result>(asked: Promise<Result>): Promise<Result | null> => {
  try {
    return await asked
  } catch (error) {
    if (error instanceof NodeUnavailable) return null
    throw error
  }
}

/** The node's answer does not have the shape that the execution API specifies. */
export class MalformedAnswer extends Error {
  constructor(expected: string) {
    super(`expected ${expected}`)
    this.name = 'MalformedAnswer'
  }
}

/**
 * What a codec reads in bytes of a node. Some codecs read a part only when it is asked for, so all that is needed is
 * read here.
 * @throws MalformedAnswer for whatever the codec throws
 */
export const decoded = <Read>(expected: string, read: () => Read): Read => {
  try {
    return read()
  } catch (error) {
    throw error instanceof MalformedAnswer ? error : new MalformedAnswer(expected)
  }
}

/** A JSON object whose fields are not parsed yet. */
export type JsonRecord = Readonly<Record<string, unknown>>

export const isRecord = (value: unknown): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

// Whole bytes are checked by the length: a repeated group in a pattern is 100 times slower and fails at 4 million
// digits.
const HEX_ANY_CASE = /^0x[0-9a-fA-F]*$/
const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/

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

export const list = (value: unknown): readonly unknown[] => {
  if (!Array.isArray(value)) throw new MalformedAnswer('a list')
  return value
}

/** An integer in hex, up to 32 bytes. */
export const quantity = (value: unknown): bigint => {
  if (typeof value !== 'string' || !QUANTITY.test(value)) throw new MalformedAnswer('a quantity')
  return BigInt(value)
}

/** So many hex digits are below 2^53, without a look at a bigint. */
const SMALL_LENGTH_MAX = '0x'.length + 13

/** A quantity that must fit a JavaScript number: indexes, counts, seconds. */
export const smallQuantity = (value: unknown): number => {
  if (typeof value === 'string' && value.length <= SMALL_LENGTH_MAX && QUANTITY.test(value)) return Number(value)
  const number = Number(quantity(value))
  if (!Number.isSafeInteger(number)) throw new MalformedAnswer('a quantity below 2^53')
  return number
}

/** A parser of whole bytes that match, in any letter case. Most nodes answer in lower case. */
const lowerCase =
  (pattern: RegExp, expected: string) =>
  (value: unknown): Hex => {
    if (typeof value !== 'string' || !isWhole(value)) throw new MalformedAnswer(expected)
    if (matches(value, pattern)) return value
    const lower = value.toLowerCase()
    if (!matches(lower, pattern)) throw new MalformedAnswer(expected)
    return lower
  }

/** Bytes of any length, in lower case. */
export const bytes = lowerCase(/^0x[0-9a-f]*$/, 'bytes')

/** 32 bytes, in lower case. */
export const hash = lowerCase(/^0x[0-9a-f]{64}$/, '32 bytes')

/** 20 bytes, in lower case. Only addresses that leave src/chains get a checksum. */
export const rawAddress = lowerCase(/^0x[0-9a-f]{40}$/, 'an address')

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
