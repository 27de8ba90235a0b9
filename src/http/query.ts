import { AppError } from '../errors.ts'
import { checkText } from './text.ts'

/** Checks of a query string that schemas cannot express. @throws invalid_input for a repeated parameter, NUL and broken Unicode. */
export const checkQuery = (url: string): void => {
  const start = url.indexOf('?')
  if (start === -1) return
  const query = url.slice(start + 1)
  refuseBrokenEscapes(query)
  const seen = new Set<string>()
  for (const [name, value] of new URLSearchParams(query)) {
    checkText(name, 'query')
    checkText(value, name)
    if (seen.has(name)) throw new AppError('invalid_input', 'A query parameter must not be given twice.')
    seen.add(name)
  }
}

/** Refuses invalid UTF-8, which URLSearchParams would replace by U+FFFD. */
const refuseBrokenEscapes = (query: string): void => {
  try {
    decodeURIComponent(query)
  } catch {
    throw new AppError('invalid_input', 'The query string must be percent-encoded UTF-8.')
  }
}
