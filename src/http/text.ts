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

/**
 * What hides, reorders or ends text: controls, bidirectional and other format characters, and all that is shown as nothing. Joiners
 * belong between letters of scripts that join (as in Persian) and within emoji, and selectors behind an emoji.
 */
const HIDDEN =
  /(?!\u200c|\u200d|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?<![[\p{L}\p{M}\p{S}]--[\0-\x7f]])[\u200c\u200d]|[\u200c\u200d](?![[\p{L}\p{S}]--[\0-\x7f]])|(?<!\p{Emoji})[\ufe0e\ufe0f]/gv
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
