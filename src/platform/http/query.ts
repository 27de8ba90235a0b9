import type { Network } from '../../../db/words.ts'
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

const networkIn = (input: unknown): unknown =>
  typeof input === 'object' && input !== null && 'network' in input ? input.network : undefined

/** Checks that the network in a body or a query is one of this deployment. */
export const checkNetwork = (networks: readonly Network[], input: unknown): void => {
  const network = networkIn(input)
  if (network === undefined || networks.some((each) => each === network)) return
  throw new AppError('invalid_input', `Field "network" must be one of ${networks.join(', ')}.`)
}
