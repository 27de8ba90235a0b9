// CORS. A preflight names no project, so it succeeds if any project allows the origin. The request itself must come
// from an origin of its own project. We never allow browser credentials: tokens travel in headers.

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

const LOCALHOST = /^http:\/\/localhost(:[0-9]{1,5})?$/

/** An app on Android by the SHA-256 of its certificate. Its passkeys have this in place of an origin. */
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

const noContent = (headers: Record<string, string>): Response => new Response(null, { status: 204, headers })

const PREFLIGHT = { 'access-control-allow-methods': 'GET, POST', 'access-control-allow-headers': ALLOWED_HEADERS }
const KEPT = { 'access-control-max-age': '600' }

/** Asks no database, and is not kept: the request itself is checked. */
export const openPreflight = (): Response => noContent({ ...OPEN_CORS, ...PREFLIGHT })

export const preflight = async (ctx: OriginCtx, request: Pick<Request, 'url' | 'headers'>): Promise<Response> => {
  if (PUBLIC_PATHS.test(new URL(request.url).pathname)) {
    return noContent({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': '*',
      ...KEPT,
    })
  }
  const headers = await corsHeaders(ctx, request.headers.get('origin'))
  const isAllowed = 'access-control-allow-origin' in headers
  return noContent(isAllowed ? { ...headers, ...PREFLIGHT, ...KEPT } : headers)
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
