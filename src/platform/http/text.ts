import type { Network } from '../../../db/words.ts'
import { type AppError, invalidInput, shownField } from '../errors.ts'

/** @throws invalid_input for a repeated parameter, NUL and broken Unicode, which schemas cannot express. */
export const checkQuery = (url: string): void => {
  const start = url.indexOf('?')
  if (start === -1) return
  const query = url.slice(start + 1)
  refuseBrokenEscapes(query)
  const names = new Set<string>()
  for (const [name, value] of new URLSearchParams(query)) {
    checkText(name, 'query')
    checkText(value, name)
    if (names.has(name)) throw invalidInput('A query parameter must not be given twice.')
    names.add(name)
  }
}

/** Refuses invalid UTF-8, which URLSearchParams would replace by U+FFFD. */
const refuseBrokenEscapes = (query: string): void => {
  try {
    decodeURIComponent(query)
  } catch {
    throw invalidInput('The query string must be percent-encoded UTF-8.')
  }
}

const networkIn = (input: unknown): unknown =>
  typeof input === 'object' && input !== null && 'network' in input ? input.network : undefined

export const checkNetwork = (networks: readonly Network[], input: unknown): void => {
  const network = networkIn(input)
  if (network === undefined || networks.some((each) => each === network)) return
  throw invalidInput(`Field "network" must be one of ${networks.join(', ')}.`)
}

/** RFC 3339 with an offset; `parseTime` checks that the day exists. */
export const TIME_PATTERN =
  '[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(?:\\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})'

export const TIME_RULE = 'an RFC 3339 time with an offset'

/** Checks that the day exists. JavaScript would turn the 31st of a short month into the first of the next. */
const isOnCalendar = (text: string): boolean => {
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10))
}

/** Checks the year in UTC too: PostgreSQL does not read JavaScript's years with six digits. */
const hasFourDigitYear = (at: Date): boolean => at.getUTCFullYear() >= 1 && at.getUTCFullYear() <= 9_999

/** A time that fits the pattern. @throws invalid_input */
export const parseTime = ({ text, field }: { readonly text: string; readonly field: string }): Date => {
  const at = new Date(text)
  if (!Number.isNaN(at.getTime()) && isOnCalendar(text) && hasFourDigitYear(at)) return at
  throw invalidInput(`Field "${field}" must be ${TIME_RULE}.`)
}

const GIVEN_MAX = 256
const NUL = String.fromCharCode(0)

export const refusedNul = (field: string): AppError =>
  invalidInput(`${shownField(field)} must not contain the NUL character.`)

export const refusedSurrogate = (field: string): AppError =>
  invalidInput(`${shownField(field)} must be well-formed Unicode.`)

const checkText = (text: string, field: string): void => {
  if (text.includes(NUL)) throw refusedNul(field)
  if (!text.isWellFormed()) throw refusedSurrogate(field)
}

/** A UUID (RFC 9562 §4), in any letter case. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Of the scripts of India and Sri Lanka: it takes the vowel from the letter before. */
const VIRAMA = '[\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca]'
/** A letter of a script whose letters join, as in Arabic. */
const CURSIVE = '[\\p{L}&&[\\p{scx=Arab}\\p{scx=Syrc}\\p{scx=Nkoo}\\p{scx=Adlm}\\p{scx=Rohg}]]'

/** Where people see what joiners and selectors do (UAX 31 §2.3, UTS 51). */
const SEEN = [
  `(?<=${VIRAMA})(?:\\u200c(?=\\p{L})|\\u200d)`,
  // As in Bengali and Kannada.
  `(?<=[\\u0900-\\u0dff])\\u200d(?=${VIRAMA})`,
  `(?<=${CURSIVE}\\p{M}*)\\u200c(?=${CURSIVE})`,
  '(?<=\\p{ExtPict}[\\p{EMod}\\ufe0f]?)\\u200d(?=\\p{ExtPict})',
  '(?<=[\\p{Emoji}--[#*0-9]])[\\ufe0e\\ufe0f]',
  '(?<=[#*0-9])\\ufe0f(?=\\u20e3)',
]

/** Characters that hide, reorder or end text: controls, format characters, and all that is shown as nothing. */
const HIDDEN = new RegExp(`(?!${SEEN.join('|')})[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]`, 'gv')
const LINE_BREAKS = /[\t\r\n]/g

/** Whether people see a text of one line as it is: no name that is given may look like another one. */
export const isVisible = (text: string): boolean => text.search(HIDDEN) === -1

export const hasVisibleLines = (text: string): boolean => isVisible(text.replace(LINE_BREAKS, ''))

/** Writes each character that people would not see by its number, but line breaks. */
export const showHidden = (text: string): string =>
  text.replace(HIDDEN, (character) =>
    character.search(LINE_BREAKS) === -1 ? `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}` : character,
  )

/** A name or a reason that an operator gives. @throws invalid_input */
export const readGiven = (what: 'name' | 'reason', text: string): string => {
  const given = text.trim()
  if (given.length > 0 && given.length <= GIVEN_MAX && isVisible(given)) return given
  const sentence = `The ${what} must be a text of 1 to ${GIVEN_MAX} characters, none of them hidden.`
  throw invalidInput(sentence)
}
