import type { Project } from '../../db/queries/projects.ts'
import { isOwnOrigin } from '../auth/origins.ts'
import type { Ctx } from '../context.ts'

const LENGTH_MAX = 2_048
const PROTOCOLS = ['https:', 'http:']

/**
 * Where a user goes back to after the login: a page of an origin that the project allows. What goes with them is as good as
 * a login, so nothing else will do. A URL with a user name looks like one of another host, `blob:` has the origin of
 * whoever made it, and the fragment is ours.
 * @returns the URL as browsers write it, or null where the text is no such page.
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
