import { Elysia } from 'elysia'
import { AppError } from '../../platform/errors.ts'
import { readFormBody } from '../../platform/http/body.ts'
import { SMALL_BODY_BYTES } from '../../platform/http/limits.ts'
import { clientOf, subnetOf } from '../../platform/http/peer.ts'
import type { Rate } from '../../platform/http/rate.ts'
import { PAGE_HEADERS } from '../../platform/pages/page.ts'
import type { IdentityCtx } from '../ctx.ts'
import { linkPage, linkProblemPage } from './link-page.ts'
import { confirmMailedLink, type MailedLink, openMailedLink } from './magic-link.ts'

const hidden = { detail: { hide: true } }

type Answered = { headers: Record<string, string | number>; status?: number | string }

/** Shows an error as a page too, because a person reads it. */
const asPage = async (ctx: IdentityCtx, set: Answered, of: () => Promise<MailedLink>): Promise<string> => {
  Object.assign(set.headers, PAGE_HEADERS)
  try {
    const { status, text } = linkPage(await of(), ctx.now())
    set.status = status
    return text
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    set.status = error.status
    if (error.retryAfterSeconds !== null) set.headers['retry-after'] = String(error.retryAfterSeconds)
    return linkProblemPage(error.message)
  }
}

/** The page of a mailed link. It sends a plain HTML form, so it works without a script. */
export const linkRoutes = (ctx: IdentityCtx, bytes: Rate) =>
  new Elysia({ prefix: '/login', normalize: false })
    .onParse(({ request }) => {
      const spend = (count: number) => bytes.spend(subnetOf(clientOf(ctx.config, request).address), count)
      return readFormBody(request, { maxBytes: SMALL_BODY_BYTES, spend })
    })
    .get(
      '/link',
      ({ query, request, set }) =>
        asPage(ctx, set, () =>
          openMailedLink(ctx, { client: clientOf(ctx.config, request), secret: query.secret ?? '' }),
        ),
      hidden,
    )
    .post(
      '/link',
      ({ body, request, set }) =>
        asPage(ctx, set, () => {
          const secret = body instanceof Map ? (body.get('secret') ?? '') : ''
          return confirmMailedLink(ctx, { client: clientOf(ctx.config, request), headers: request.headers, secret })
        }),
      hidden,
    )
