import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { toOpenAPISchema } from '@elysiajs/openapi'
import { type AnyElysia, Elysia } from 'elysia'
import type { Ctx } from '../context.ts'
import { describe } from './document.ts'
import { ASSETS, CONTENT_SECURITY_POLICY, PAGE, SCRIPT } from './page.ts'

const hidden = { detail: { hide: true } }
const scriptDigest = createHash('sha256').update(SCRIPT).digest('base64')
/** Paths that need neither project nor bearer token. */
const OPEN = /^\/(?:healthz|readyz|metadata\/.*|\.well-known\/.*|users\/session-challenge)$/
/** Paths that need only the project, because nobody is logged in yet. */
const WAYS_IN = /^\/users\/(?:login-.*|verify-login|refresh-token|create-session-challenge)$/

/** The whole document; the tests' client checks answers by it. */
export const documentOf = (ctx: Pick<Ctx, 'config' | 'chains'>, app: AnyElysia) =>
  describe({
    config: ctx.config,
    networks: ctx.chains.known.map(({ network }) => network),
    paths: { ...toOpenAPISchema(app, { staticFile: false }).paths },
    // The generator would read any object as a schema; ours all have a title.
    routes: app.routes.map(({ method, path, hooks }) => ({
      method,
      path,
      body: hooks?.body ?? null,
      success: hooks?.response?.[200],
      errorCodes: hooks?.detail?.errorCodes ?? [],
    })),
    securityOf: (path) => (OPEN.test(path) ? [] : WAYS_IN.test(path) ? [{ project: [] }] : null),
  })

/** /openapi/json, generated from the routes' schemas, and /openapi, a page to try each call; nothing where they are switched off. */
export const openapiRoutes = (ctx: Pick<Ctx, 'config' | 'chains'>, app: () => AnyElysia) => {
  if (!ctx.config.hasApiPage) return new Elysia()
  let document: string | null = null
  const viewer = new Elysia({ prefix: '/openapi' })
    .get(
      '',
      ({ set }) => {
        set.headers['content-type'] = 'text/html; charset=utf-8'
        set.headers['content-security-policy'] = CONTENT_SECURITY_POLICY.replace('SCRIPT_DIGEST', scriptDigest)
        return PAGE
      },
      hidden,
    )
    .get(
      '/json',
      ({ set }) => {
        set.headers['content-type'] = 'application/json'
        document ??= JSON.stringify(documentOf(ctx, app()))
        return document
      },
      hidden,
    )
  for (const [name, type] of Object.entries(ASSETS)) {
    viewer.get(
      `/${name}`,
      ({ set }) => {
        set.headers['content-type'] = type
        set.headers['cache-control'] = 'max-age=3600'
        return readFile(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)))
      },
      hidden,
    )
  }
  return viewer
}
