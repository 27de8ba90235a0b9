// Which RP ID the passkeys of a project have (Web Authentication Level 3, §4 "RP ID"), and on which pages they work.
// The browser checks that a page uses only its own host or a parent domain as RP ID, and that this domain is not a
// public suffix. Android checks that the domain names the app (Digital Asset Links). We do not repeat these checks.

import type { Project } from '../../../db/queries/projects.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import { isAndroidApp, isOriginOf } from './origins.ts'

type Pages = Pick<Project, 'allowedOrigins'>

const IPV4 = /^[0-9]{1,3}(?:\.[0-9]{1,3}){3}$/

/** The host of an origin, in lower case, without its port; null for an invalid URL or an IP address. */
const domainOf = (origin: string): string | null => {
  const host = URL.canParse(origin) ? new URL(origin).hostname : ''
  return host === '' || host.startsWith('[') || IPV4.test(host) ? null : host
}

const isWithin = (origin: string, rpId: string): boolean => {
  const host = domainOf(origin)
  return host !== null && (host === rpId || host.endsWith(`.${rpId}`))
}

/** Whether pages of an origin, or an app on Android, may use a project's passkeys with an RP ID. */
export const isPasskeyPage =
  (ctx: HasConfig, project: Pages, rpId: string) =>
  (origin: string): boolean =>
    (isWithin(origin, rpId) || isAndroidApp(origin)) && isOriginOf(ctx, { project, origin })

const LABELS = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/

const pagesOf = ({ config }: HasConfig, allowedOrigins: readonly string[]): readonly string[] => [
  ...allowedOrigins,
  config.publicBaseUrl,
  ...(config.devnet ? ['http://localhost'] : []),
]

/** An RP ID is the host of one of the project's pages, or a parent domain of it that is not a top-level domain. */
export const isRpIdFor = (ctx: HasConfig, project: Pages, rpId: string): boolean => {
  if (!LABELS.test(rpId) || IPV4.test(rpId)) return false
  return pagesOf(ctx, project.allowedOrigins).some((page) =>
    rpId.includes('.') ? isWithin(page, rpId) : domainOf(page) === rpId,
  )
}

/** Whether `rpIdFor` can choose this RP ID for a login. Passkeys with another one log no user in. */
export const isRpIdInUse = (
  ctx: HasConfig,
  { passkeyRpId, allowedOrigins }: Pick<Project, 'allowedOrigins' | 'passkeyRpId'>,
  rpId: string,
): boolean =>
  passkeyRpId === null ? pagesOf(ctx, allowedOrigins).some((page) => domainOf(page) === rpId) : passkeyRpId === rpId

/**
 * The project's passkey domain, else the host of the calling page. A server or an app sends no `Origin`: then the only
 * host among the project's origins. @param origin the header `Origin`, which the project allows.
 * @throws passkey_domain_required if none of these exists or fits the page.
 */
export const rpIdFor = (project: Pick<Project, 'allowedOrigins' | 'passkeyRpId'>, origin: string | null): string => {
  const { passkeyRpId, allowedOrigins } = project
  if (passkeyRpId !== null) {
    if (origin === null || isWithin(origin, passkeyRpId)) return passkeyRpId
    throw new AppError(
      'passkey_domain_required',
      `The page must be on the project's passkey domain ${passkeyRpId} or on a subdomain of it.`,
    )
  }
  if (origin !== null) {
    const domain = domainOf(origin)
    if (domain !== null) return domain
    throw new AppError(
      'passkey_domain_required',
      'The page must have a host name: passkeys do not work on IP addresses.',
    )
  }
  const pages = allowedOrigins.filter((each) => !isAndroidApp(each))
  const [domain, ...others] = new Set(pages.map(domainOf))
  if (domain !== undefined && domain !== null && others.length === 0) return domain
  throw new AppError(
    'passkey_domain_required',
    'The project has no passkey domain and not exactly one allowed origin, so the header Origin must name a page of it.',
  )
}
