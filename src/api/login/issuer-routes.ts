import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { isOwnOrigin } from '../../identity/auth/origins.ts'
import type { Visitor, VisitorAdmission } from '../../identity/auth/plugin.ts'
import { beginIssuerLogin, endIssuerLogin, LOGIN_SECONDS } from '../../identity/issuers/browser-login.ts'
import { CODE_CHALLENGE } from '../../identity/users/code-verifier.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import { clientOf } from '../../platform/http/peer.ts'
import { UUID } from '../../platform/http/text.ts'
import { PAGE_HEADERS, rootOf } from '../../platform/pages/page.ts'
import type { ApiCtx } from '../ctx.ts'
import type { Answered } from './open.ts'
import { endedPage } from './page.ts'

const hidden = { detail: { hide: true } }

/** One for each begun login. The prefix keeps other hosts of the domain from setting it (RFC 6265bis §4.1.3.2). */
const cookieNameOf = (state: string): string => `__Host-strongroom-login-${state.slice(0, 16)}`
/** The browser must send it when the issuer sends the user back, so it cannot be `Strict`. */
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax'

const cookieIn = (headers: Headers, name: string): string => {
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? ''
}

const BeginBody = Type.Object(
  { issuer: Type.String({ maxLength: 32 }), code_challenge: Type.String({ pattern: `^${CODE_CHALLENGE}$` }) },
  { additionalProperties: false },
)

/** Another page must not begin logins: it could end none, but would fill the browser with cookies. */
const requireOurPage = (ctx: HasConfig, { origin, projectId }: Visitor): void => {
  if (origin !== null && isOwnOrigin(ctx, origin)) return
  throw new AppError('origin_not_allowed', 'Only the login page may ask this.', {
    event: { kind: 'origin_refused', projectId, details: { page: 'login' } },
  })
}

const beginRoute = (ctx: ApiCtx, visitors: VisitorAdmission) =>
  new Elysia().use(visitors).post(
    '/issuer',
    async ({ body, caller, set }) => {
      requireOurPage(ctx, caller)
      const { issuer: name, code_challenge: codeChallenge } = body
      const { url, secret, state } = await beginIssuerLogin(ctx, caller, { name, codeChallenge })
      set.headers['set-cookie'] = `${cookieNameOf(state)}=${secret}; ${ATTRIBUTES}; Max-Age=${LOGIN_SECONDS}`
      return { url }
    },
    { body: BeginBody, ...hidden },
  )

const endRoute = (ctx: ApiCtx) => {
  const root = rootOf(ctx.config)
  const end = async (request: Request, login: { readonly projectId: string; readonly name: string }, set: Answered) => {
    const query = new URL(request.url).searchParams
    const cookie = cookieNameOf(query.get('state') ?? '')
    const secret = cookieIn(request.headers, cookie)
    const answer = { client: clientOf(ctx.config, request), ...login, query, secret }
    const ended = UUID.test(login.projectId) ? await endIssuerLogin(ctx, answer) : ({ kind: 'unknown' } as const)
    if (secret !== '') set.headers['set-cookie'] = `${cookie}=; ${ATTRIBUTES}; Max-Age=0`
    if (ended.kind === 'unknown') {
      set.status = 400
      return endedPage(root)
    }
    // Browsers send no fragment to servers, so it appears in no log and no Referer.
    const outcome = ended.kind === 'proven' ? { issuer_code: ended.code } : { issuer_refusal: ended.why }
    set.status = 303
    set.headers.location = `${root}/login?project_id=${login.projectId}#${new URLSearchParams({ ...outcome, issuer: login.name })}`
    return ''
  }
  return new Elysia().get(
    '/oidc/callback/:projectId/:name',
    async ({ params: { projectId, name }, request, set }) => {
      Object.assign(set.headers, PAGE_HEADERS)
      try {
        return await end(request, { projectId: projectId.toLowerCase(), name }, set)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        set.status = error.status
        if (error.retryAfterSeconds !== null) set.headers['retry-after'] = String(error.retryAfterSeconds)
        return endedPage(root)
      }
    },
    hidden,
  )
}

/** A login at an issuer of the project: where the login page begins it, and where the issuer sends people back to. */
export const issuerLoginRoutes = (ctx: ApiCtx, visitors: VisitorAdmission) =>
  new Elysia({ prefix: '/login', normalize: false }).use(beginRoute(ctx, visitors)).use(endRoute(ctx))
