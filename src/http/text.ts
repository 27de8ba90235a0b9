import { AppError, shownField } from '../errors.ts'

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
