import { toOpenAPISchema } from '@elysiajs/openapi'
import { type AnyElysia, Elysia } from 'elysia'
import type { HasChains } from '../../chains/chains.ts'
import { WEBHOOKS } from '../../events/webhooks/schema.ts'
import type { HasConfig } from '../../platform/config.ts'
import { PAGE_HEADERS, rootOf } from '../../platform/pages/page.ts'
import { describe } from './document.ts'
import { apiPage } from './page.ts'

const hidden = { detail: { hide: true } }
/** Paths that need neither project nor bearer token. */
const OPEN = /^\/(?:healthz|readyz|metadata\/.*|\.well-known\/.*|users\/session-challenge)$/
/** Paths that need only the project, because no user is logged in yet. */
const WAYS_IN = /^\/users\/(?:login-.*|verify-login|refresh-token|create-session-challenge)$/

export const documentOf = (ctx: HasConfig & HasChains, app: AnyElysia) =>
  describe({
    config: ctx.config,
    networks: ctx.chains.known,
    paths: { ...toOpenAPISchema(app, { staticFile: false }).paths },
    // The generator would read any object as a schema; the service's schemas all have a title.
    routes: app.routes.map(({ method, path, hooks }) => ({
      method,
      path,
      body: hooks?.body ?? null,
      success: hooks?.response?.[200],
      accepted: hooks?.response?.[202] ?? null,
      errorCodes: hooks?.detail?.errorCodes ?? [],
      headerSet: hooks?.detail?.headerSet ?? null,
    })),
    webhooks: WEBHOOKS,
    securityOf: (path) => (OPEN.test(path) ? [] : WAYS_IN.test(path) ? [{ project: [] }] : null),
  })

/** /openapi/json, made from the routes' schemas, and /openapi, a page that shows it, unless they are switched off. */
export const openapiRoutes = (ctx: HasConfig & HasChains, app: () => AnyElysia) => {
  if (!ctx.config.hasApiPage) return new Elysia()
  let made: { readonly json: string; readonly page: string } | null = null
  // The routes are complete only when the first request comes.
  const texts = () => {
    if (made !== null) return made
    const document = documentOf(ctx, app())
    made = { json: JSON.stringify(document), page: apiPage(document, { root: rootOf(ctx.config) }) }
    return made
  }
  return new Elysia({ prefix: '/openapi' })
    .get(
      '',
      ({ set }) => {
        Object.assign(set.headers, PAGE_HEADERS)
        return texts().page
      },
      hidden,
    )
    .get(
      '/json',
      ({ set }) => {
        set.headers['content-type'] = 'application/json'
        return texts().json
      },
      hidden,
    )
}
