// CORS. A preflight names no project, so it succeeds if any project allows the origin. The request itself must come from
// an origin of its own project. We never allow browser credentials: tokens travel in headers.

import type { HasDb } from '../../../db/client.ts'
import { isOriginAllowedByAny, type Project } from '../../../db/queries/projects.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import { CALLER_HEADERS } from './caller-headers.ts'

type OriginCtx = HasDb & HasConfig

const ALLOWED_HEADERS = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'Last-Event-ID',
  'Traceparent',
  'X-Request-Id',
  ...CALLER_HEADERS,
  'X-Fern-Language',
  'X-Fern-SDK-Name',
  'X-Fern-SDK-Version',
].join(', ')

const EXPOSED_HEADERS = 'Retry-After, WWW-Authenticate, X-Request-Id'
/** A scheme, a host name (RFC 1035 §2.3.4) and a port. */
const MAX_ORIGIN_CHARACTERS = 280
const PREFLIGHT_MAX_AGE_SECONDS = '600'

const LOCALHOST = /^http:\/\/localhost(:[0-9]{1,5})?$/

/** An app on Android, by the SHA-256 of the certificate that signed it: what its passkeys have in place of a page's origin. */
const ANDROID_APP = /^android:apk-key-hash:([A-Za-z0-9_-]{43})$/

/** Whether a text names an app on Android, with a hash as Android writes it. */
export const isAndroidApp = (origin: string): boolean => {
  const hash = ANDROID_APP.exec(origin)?.[1]
  return hash !== undefined && Buffer.from(hash, 'base64url').toString('base64url') === hash
}

/** Our own pages, and in the devnet any local page. */
export const isOwnOrigin = (ctx: Pick<OriginCtx, 'config'>, origin: string): boolean =>
  origin === new URL(ctx.config.publicBaseUrl).origin || (ctx.config.devnet && LOCALHOST.test(origin))

/** The headers that let a page of this origin read the answer; none if no project allows the origin. */
export const corsHeaders = async (ctx: OriginCtx, origin: string | null): Promise<Record<string, string>> => {
  if (origin === null) return {}
  const allowed = isOwnOrigin(ctx, origin) || (await isOriginAllowedByAny(ctx.db, origin))
  if (!allowed) return { vary: 'Origin' }
  return { vary: 'Origin', 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED_HEADERS }
}

/** What pages of any origin may read: hosted metadata, and the public keys of access tokens. */
const PUBLIC_PATHS = /^\/(?:metadata\/|\.well-known\/jwks\.json$)/

/** Lets a page of any origin read a refusal that comes before its origin is looked up. */
export const OPEN_CORS = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED_HEADERS }

/** Asks no database, and is not kept: the request itself is checked. */
export const openPreflight = (): Response =>
  new Response(null, {
    status: 204,
    headers: {
      ...OPEN_CORS,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': ALLOWED_HEADERS,
    },
  })

const publicPreflight = (): Response =>
  new Response(null, {
    status: 204,
    headers: {
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': '*',
      'access-control-max-age': PREFLIGHT_MAX_AGE_SECONDS,
    },
  })

/** Answers OPTIONS for any path, without a project or a bearer token. */
export const preflight = async (ctx: OriginCtx, request: Pick<Request, 'url' | 'headers'>): Promise<Response> => {
  if (PUBLIC_PATHS.test(new URL(request.url).pathname)) return publicPreflight()
  const headers = await corsHeaders(ctx, request.headers.get('origin'))
  const allowed = 'access-control-allow-origin' in headers
  return new Response(null, {
    status: 204,
    headers: {
      ...headers,
      ...(allowed
        ? {
            'access-control-allow-methods': 'GET, POST',
            'access-control-allow-headers': ALLOWED_HEADERS,
            'access-control-max-age': PREFLIGHT_MAX_AGE_SECONDS,
          }
        : {}),
    },
  })
}

/** Whether pages of an origin may call for a project. */
export const isOriginOf = (
  ctx: Pick<OriginCtx, 'config'>,
  input: { readonly project: Pick<Project, 'allowedOrigins'>; readonly origin: string },
): boolean => input.project.allowedOrigins.includes(input.origin) || isOwnOrigin(ctx, input.origin)

/** The origin as it may be logged. Strangers choose this text, so we repeat it only if it is an origin. */
const loggableOrigin = (text: string): string =>
  text.length <= MAX_ORIGIN_CHARACTERS && URL.canParse(text) && new URL(text).origin === text ? text : 'none'

/** @throws origin_not_allowed if a browser sent the request from a page that the project does not allow. */
export const checkOrigin = (
  ctx: Pick<OriginCtx, 'config'>,
  input: { readonly project: Project; readonly origin: string | null },
): void => {
  const { origin, project } = input
  if (origin === null || isOriginOf(ctx, { origin, project })) return
  throw new AppError('origin_not_allowed', 'The project does not allow requests from pages of this origin.', {
    event: { kind: 'origin_refused', projectId: project.id, details: { origin: loggableOrigin(origin) } },
  })
}
