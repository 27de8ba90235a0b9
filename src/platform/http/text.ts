import { AppError, shownField } from '../errors.ts'

const GIVEN_MAX = 256
const NUL = String.fromCharCode(0)

export const refusedNul = (field: string): AppError =>
  new AppError('invalid_input', `${shownField(field)} must not contain the NUL character.`)

export const refusedSurrogate = (field: string): AppError =>
  new AppError('invalid_input', `${shownField(field)} must be well-formed Unicode.`)

export const checkText = (text: string, field: string): void => {
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

/** What hides, reorders or ends text: controls, bidirectional and other format characters, and all that is shown as nothing. */
const HIDDEN = new RegExp(`(?!${SEEN.join('|')})[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]`, 'gv')
const LINE_BREAKS = /[\t\r\n]/g

/** Whether people see a text of one line as it is: no name that is given may look like another one. */
export const isVisible = (text: string): boolean => text.search(HIDDEN) === -1

/** The same for a text of several lines. */
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
  throw new AppError('invalid_input', sentence)
}
