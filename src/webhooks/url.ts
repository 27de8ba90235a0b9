import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import { isPrivate } from '../environment/hosts.ts'
import { AppError } from '../errors.ts'
import { mayReach } from './post.ts'

const LENGTH_MAX = 2_048

const wrong = (right: string): AppError => new AppError('invalid_input', `Field "url" must be ${right}.`)

/**
 * Checks an endpoint's URL as far as that is possible without looking its name up; where the name leads is checked at each request.
 * @returns it in normal form. @throws invalid_input
 */
export const readEndpointUrl = ({ webhookAddresses }: Pick<Config, 'webhookAddresses'>, text: string): string => {
  if (!URL.canParse(text)) throw wrong('an absolute URL')
  const url = new URL(text)
  const { protocol, username, password, hash, href } = url
  if (href.length > LENGTH_MAX) throw wrong(`a URL of at most ${LENGTH_MAX} characters`)
  if (username !== '' || password !== '') throw wrong('a URL without user and password')
  if (hash !== '') throw wrong('a URL without #')
  const protocols = webhookAddresses.isEmpty ? ['https:'] : ['https:', 'http:']
  if (!protocols.includes(protocol)) throw wrong('a URL that begins with https://')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const mayBeReached =
    isIP(host) === 0
      ? !webhookAddresses.isEmpty || !isPrivate(url.hostname)
      : mayReach(webhookAddresses, { protocol, address: host })
  if (!mayBeReached) throw wrong('a URL of a host on the public Internet')
  return href
}
