// Which RP ID passkeys of a project belong to (Web Authentication Level 3, §4 "RP ID"), and from which pages they count.
// The browser sees to it that a page uses no RP ID but its own host or a domain above it; whether that domain is one
// under which strangers register theirs (the Public Suffix List) is its check, too, and not ours.

import type { Project } from '../../db/queries/projects.ts'
import type { Config } from '../config.ts'
import { AppError } from '../errors.ts'
import { isOwnOrigin } from './origins.ts'

type RpCtx = { readonly config: Config }
type Pages = Pick<Project, 'allowedOrigins'>

const IPV4 = /^[0-9]{1,3}(?:\.[0-9]{1,3}){3}$/

/** The host of an origin, in lower case and without its port; null where it is no URL, or has an IP address. */
const domainOf = (origin: string): string | null => {
  const host = URL.canParse(origin) ? new URL(origin).hostname : ''
  return host === '' || host.startsWith('[') || IPV4.test(host) ? null : host
}

const isWithin = (origin: string, rpId: string): boolean => {
  const host = domainOf(origin)
  return host !== null && (host === rpId || host.endsWith(`.${rpId}`))
}

/** Whether pages of an origin may use a project's passkeys of an RP ID. */
export const isPasskeyPage =
  (ctx: RpCtx, project: Pages, rpId: string) =>
  (origin: string): boolean =>
    isWithin(origin, rpId) && (project.allowedOrigins.includes(origin) || isOwnOrigin(ctx, origin))

const LABELS = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/

/** Whether a text may be made a project's RP ID: the host of one of its pages, or a domain above it, but no whole top-level domain. */
export const isRpIdFor = (ctx: RpCtx, project: Pages, rpId: string): boolean => {
  if (!LABELS.test(rpId) || IPV4.test(rpId)) return false
  const pages = [
    ...project.allowedOrigins,
    ctx.config.publicBaseUrl,
    ...(ctx.config.devnet ? ['http://localhost'] : []),
  ]
  return pages.some((page) => (rpId.includes('.') ? isWithin(page, rpId) : domainOf(page) === rpId))
}

/**
 * The RP ID for a ceremony that begins now: the project's, else the host of the page that asks, else, where a server asks,
 * the one host that the project's origins have.
 * @param origin the header `Origin`, which the project allows.
 * @throws passkey_domain_required where there is none for this page.
 */
export const rpIdFor = (project: Pick<Project, 'allowedOrigins' | 'passkeyRpId'>, origin: string | null): string => {
  const { passkeyRpId, allowedOrigins } = project
  if (passkeyRpId !== null) {
    if (origin === null || isWithin(origin, passkeyRpId)) return passkeyRpId
    throw new AppError(
      'passkey_domain_required',
      `The page must be of the project's passkey domain, ${passkeyRpId}, or below it.`,
    )
  }
  if (origin !== null) {
    const domain = domainOf(origin)
    if (domain !== null) return domain
    throw new AppError(
      'passkey_domain_required',
      'The page must be of a host with a name: passkeys know no IP addresses.',
    )
  }
  const [domain, ...others] = new Set(allowedOrigins.map(domainOf))
  if (domain !== undefined && domain !== null && others.length === 0) return domain
  throw new AppError(
    'passkey_domain_required',
    'The header Origin must name a page of the project, as it has no passkey domain and not exactly one allowed origin.',
  )
}
