// Checks a body's text for what JSON.parse accepts: too much depth, too many items, duplicate fields, NUL characters
// and lone surrogates. It is one pass, before anything is built. In decoded UTF-8 the two forbidden characters occur
// only as escapes (JSON.parse refuses raw control characters), so in a string without a backslash it only searches the
// end.

import { type AppError, invalidInput } from '../errors.ts'
import { refusedNul, refusedSurrogate } from './text.ts'

const MAX_DEPTH = 32
/** The largest legitimate body is a batch of 100 transactions with 7 fields each. */
const MAX_ITEMS = 10_000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const BRACKET_OPEN = 0x5b
const BRACKET_CLOSE = 0x5d
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d
const LETTER_N = 0x6e
const UNIT = /\\u([0-9a-fA-F]{4})/y
const ESCAPE_LENGTH = 6

/** An object or a list that is open at the current position. */
type Open = {
  /** The field names so far; null in a list. */
  readonly names: Set<string> | null
  /** The position of the current field's name, with its quotes. */
  nameFrom: number
  nameTo: number
  /** In an object: whether the next string is a name. */
  nameNext: boolean
  index: number
}

const notJson = (): AppError => invalidInput('The body must be valid JSON in UTF-8.')

/** Decodes a string of the text, given with its quotes. */
const meantBy = (text: string, from: number, to: number, escaped: boolean): string => {
  if (!escaped) return text.slice(from + 1, to - 1)
  try {
    return String(JSON.parse(text.slice(from, to)))
  } catch {
    throw notJson()
  }
}

/** The path for an error, for instance `unsigned_transactions.3.to`. */
const pathOf = (text: string, open: readonly Open[]): string =>
  open
    .map((each) => (each.names === null ? String(each.index) : meantBy(text, each.nameFrom, each.nameTo, true)))
    .join('.')

/** The code unit of the escape at a position; NaN if it is no `\uXXXX`. */
const unitAt = (text: string, at: number): number => {
  UNIT.lastIndex = at
  return Number.parseInt(UNIT.exec(text)?.[1] ?? '', 16)
}

/** @returns the length of the escape. */
const checkEscape = (text: string, at: number, field: () => string): number => {
  const unit = unitAt(text, at)
  if (Number.isNaN(unit)) return 2
  if (unit === 0) throw refusedNul(field())
  if (unit < 0xd800 || unit > 0xdfff) return ESCAPE_LENGTH
  const next = unitAt(text, at + ESCAPE_LENGTH)
  if (unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) return 2 * ESCAPE_LENGTH
  throw refusedSurrogate(field())
}

/** Starts at the first backslash of a string. @returns the position after its closing quote. */
const endOfEscaped = (text: string, from: number, field: () => string): number => {
  let at = from
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    at += code === BACKSLASH ? checkEscape(text, at, field) : 1
  }
  throw notJson()
}

const begin = (open: Open[], names: Set<string> | null): void => {
  open.push({ names, nameFrom: 0, nameTo: 0, nameNext: names !== null, index: 0 })
  if (open.length > MAX_DEPTH) {
    throw invalidInput(`The body must not be nested deeper than ${MAX_DEPTH}.`)
  }
}

/** @returns whether any field is `null`. */
const checkJsonText = (text: string): boolean => {
  const open: Open[] = []
  let items = 0
  let hasNulls = false
  let backslash = text.indexOf('\\')

  const count = () => {
    items += 1
    if (items > MAX_ITEMS) {
      throw invalidInput(`The body must not hold more than ${MAX_ITEMS} fields and list items.`)
    }
  }
  /** @returns the position after the string that begins here. */
  const passString = (from: number): number => {
    const innermost = open.at(-1)
    const isName = innermost?.nameNext === true
    const quote = text.indexOf('"', from + 1)
    if (backslash !== -1 && backslash < from) backslash = text.indexOf('\\', from)
    const escaped = backslash !== -1 && backslash < quote
    const field = () => (isName ? 'body' : pathOf(text, open))
    const to = escaped ? endOfEscaped(text, backslash, field) : quote + 1
    if (to === 0) throw notJson()
    if (isName) {
      const name = meantBy(text, from, to, escaped)
      if (innermost.names?.has(name)) throw invalidInput('The body must not name a field twice.')
      innermost.names?.add(name)
      innermost.nameNext = false
      innermost.nameFrom = from
      innermost.nameTo = to
    }
    return to
  }

  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      at = passString(at)
      continue
    }
    at += 1
    // White space.
    if (code < QUOTE) continue
    if (code === COMMA) {
      count()
      const innermost = open.at(-1)
      if (innermost?.names === null) innermost.index += 1
      else if (innermost !== undefined) innermost.nameNext = true
    } else if (code === BRACE_OPEN || code === BRACKET_OPEN) {
      count()
      begin(open, code === BRACE_OPEN ? new Set() : null)
    } else if (code === BRACE_CLOSE || code === BRACKET_CLOSE) {
      open.pop()
    } else if (code === LETTER_N && open.at(-1)?.names) {
      hasNulls = true
    }
  }
  return hasNulls
}

/** Removes null fields at every depth, because `null` means absent. */
const dropNulls = (value: unknown): void => {
  if (typeof value !== 'object' || value === null) return
  for (const [name, item] of Object.entries(value)) {
    if (item === null && !Array.isArray(value)) Reflect.deleteProperty(value, name)
    else dropNulls(item)
  }
}

/** Drops null fields. @throws invalid_input for what is no JSON, too deep or too large, or has a duplicate field. */
export const parseJsonText = (text: string): unknown => {
  const hasNulls = checkJsonText(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw notJson()
  }
  if (hasNulls) dropNulls(value)
  return value
}
