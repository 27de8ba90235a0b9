import type { Project } from '../../db/queries/projects.ts'
import { isOwnOrigin } from '../auth/origins.ts'
import type { Ctx } from '../context.ts'

const LENGTH_MAX = 2_048
const PROTOCOLS = ['https:', 'http:']

/**
 * Checks where a user may return to after login: a page of an origin that the project allows. What we append to the URL is
 * as good as a login, so nothing else is accepted. A URL with a user name can look like another host, `blob:` URLs have the
 * origin of their creator, and we use the fragment ourselves.
 * @returns the URL as browsers write it, or null if it is refused.
 */
export const readReturnAddress = (
  ctx: Pick<Ctx, 'config'>,
  project: Pick<Project, 'allowedOrigins'>,
  text: string,
): string | null => {
  if (text.length > LENGTH_MAX || text.includes('#') || !URL.canParse(text)) return null
  const url = new URL(text)
  if (!PROTOCOLS.includes(url.protocol) || url.username !== '' || url.password !== '') return null
  const isAllowed = project.allowedOrigins.includes(url.origin) || (ctx.config.devnet && isOwnOrigin(ctx, url.origin))
  return isAllowed ? url.href : null
}
