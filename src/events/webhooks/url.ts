import type { Config } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import { refusalOfUrl } from '../../platform/process/outgoing.ts'

const LENGTH_MAX = 2_048

const wrong = (right: string): AppError => new AppError('invalid_input', `Field "url" must be ${right}.`)

/**
 * Checks an endpoint's URL as far as that is possible without looking its name up; where the name leads is checked at each request.
 * @returns it in normal form. @throws invalid_input
 */
export const readEndpointUrl = (config: Pick<Config, 'environment' | 'outgoingHosts'>, text: string): string => {
  const refusal = refusalOfUrl(config, text)
  if (refusal !== null) throw wrong(refusal)
  const { href } = new URL(text)
  if (href.length > LENGTH_MAX) throw wrong(`a URL of at most ${LENGTH_MAX} characters`)
  return href
}
