import { AppError } from '../errors.ts'

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
  throw new AppError('invalid_input', `Field "${field}" must be ${TIME_RULE}.`)
}
