// Where a browser goes after a login, a consent or the page of credentials. The code of a login travels in that
// address, and an attacker can make a login page's link with the hash of a secret of their own. So no page of the app
// may pass the code on, as an open redirect does: addresses are compared whole, as texts (RFC 9700 §2.1), with a list
// of the project. The port of a loopback address may differ, as a program on the user's machine takes a free one (RFC
// 8252 §7.3).

import type { Project } from '../../../db/queries/projects.ts'
import type { HasConfig } from '../../platform/config.ts'
import { invalidInput } from '../../platform/errors.ts'
import { isOwnOrigin } from './origins.ts'

export const RETURN_ADDRESSES_MAX = 20
/** The audit has all of them before and after each change. */
const LISTED_MAX_CHARACTERS = 512
const ASKED_MAX_CHARACTERS = 2_048

const LOOPBACK_HOSTS = ['127.0.0.1', '[::1]', 'localhost']
/** `localhost` can be resolved to another address, so its port does not vary. */
const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):[0-9]{1,5}(?=\/)/

/** A user name can look like another host, `blob:` URLs have the origin of their creator, and we use the fragment. */
const plainUrl = (text: string): URL | null => {
  if (text.includes('#') || !URL.canParse(text)) return null
  const url = new URL(text)
  const isPlain = ['https:', 'http:'].includes(url.protocol) && url.username === '' && url.password === ''
  return isPlain ? url : null
}

/** A listed address is written as browsers write it, so that equal addresses are equal texts. */
export const isReturnAddress = (text: string): boolean => {
  const url = text.length > LISTED_MAX_CHARACTERS ? null : plainUrl(text)
  if (url === null || url.href !== text) return false
  return url.protocol === 'https:' || LOOPBACK_HOSTS.includes(url.hostname)
}

const withoutLoopbackPort = (address: string): string => address.replace(LOOPBACK_PORT, '$1')

const isListed = (list: readonly string[], text: string): boolean =>
  list.some((each) => withoutLoopbackPort(each) === withoutLoopbackPort(text))

const AT_AN_ORIGIN =
  'The parameter redirect_uri must be a URL without a fragment, at an origin that the project allows.'
const IN_THE_LIST =
  "The parameter redirect_uri must be one of the project's return addresses, and equal to it in every character."

/** On testnet a project may have none: then any page of its origins will do. */
const withoutList = (
  { config }: HasConfig,
  { project, url }: { readonly project: Pick<Project, 'id' | 'allowedOrigins'>; readonly url: URL | null },
): URL => {
  if (config.environment === 'mainnet') {
    throw invalidInput(
      `The project has no return addresses, so redirect_uri is refused. The operator adds one with: bun run cli project return-addresses add ${project.id} <address>`,
    )
  }
  const isAllowed = (origin: string) =>
    project.allowedOrigins.includes(origin) || (config.devnet && isOwnOrigin({ config }, origin))
  if (url === null || !isAllowed(url.origin)) throw invalidInput(AT_AN_ORIGIN)
  return url
}

/** @returns the URL as browsers write it. @throws invalid_input with a sentence for the app's developer. */
export const readReturnAddress = (
  ctx: HasConfig,
  project: Pick<Project, 'id' | 'allowedOrigins' | 'returnAddresses'>,
  text: string,
): string => {
  const url = text.length > ASKED_MAX_CHARACTERS ? null : plainUrl(text)
  if (project.returnAddresses.length === 0) return withoutList(ctx, { project, url }).href
  if (url === null || !isListed(project.returnAddresses, text)) throw invalidInput(IN_THE_LIST)
  return url.href
}
