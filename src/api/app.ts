import { type AnyElysia, Elysia } from 'elysia'
import { activityRoutes } from '../assets/activity/routes.ts'
import { addressRoutes } from '../assets/addresses/routes.ts'
import { metadataRoutes } from '../assets/metadata/routes.ts'
import { nftRoutes } from '../assets/nfts/routes.ts'
import { tokenRoutes } from '../assets/tokens/routes.ts'
import { eventRoutes } from '../events/routes.ts'
import { webhookRoutes } from '../events/webhooks/routes.ts'
import { type Allowance, createAllowance } from '../identity/auth/allowance.ts'
import { corsHeaders, OPEN_CORS, openPreflight, preflight } from '../identity/auth/origins.ts'
import { authentication, visitorAdmission } from '../identity/auth/plugin.ts'
import { tokenKeyRoutes } from '../identity/auth/routes.ts'
import { linkRoutes } from '../identity/users/link-routes.ts'
import { userRoutes } from '../identity/users/routes.ts'
import { AppError } from '../platform/errors.ts'
import { challengeFor, describeError, methodNotAllowed } from '../platform/http/failure.ts'
import { readRequestId } from '../platform/http/gate.ts'
import { addressOf, subnetOf } from '../platform/http/peer.ts'
import { byteRate } from '../platform/http/rate.ts'
import { checkNetwork, checkQuery } from '../platform/http/text.ts'
import { pageRoutes } from '../platform/pages/routes.ts'
import { createRequestTimer } from '../platform/tracing/requests.ts'
import { approvalRoutes } from '../signing/approvals/routes.ts'
import { policyRoutes } from '../signing/policies/routes.ts'
import { transactionRoutes } from '../signing/transactions/routes.ts'
import { typedDataRoutes } from '../signing/typed-data/routes.ts'
import { secretRoutes, walletRoutes } from '../signing/wallets/routes.ts'
import { approvalPageRoutes } from './approvals/page-routes.ts'
import { consentRoutes } from './consent/routes.ts'
import { credentialRoutes } from './credentials/routes.ts'
import type { ApiCtx } from './ctx.ts'
import { healthRoutes } from './health/routes.ts'
import { issuerLoginRoutes } from './login/issuer-routes.ts'
import { oauthRoutes } from './login/oauth-routes.ts'
import { loginRoutes } from './login/routes.ts'
import { devMailboxRoutes } from './mail/routes.ts'
import { metricsRoutes } from './metrics/routes.ts'
import { openapiRoutes } from './openapi/routes.ts'

const HOST = /^[a-z0-9._:[\]-]*$/i

/** The server makes the URL of the header as it came: a slash in it would move the path. */
const refuseOddHost = (request: Request): void => {
  if (HOST.test(request.headers.get('host') ?? '') && URL.canParse(request.url)) return
  throw new AppError('invalid_input', 'The header Host must name a host and perhaps a port.')
}

type Served = {
  readonly stopping?: AbortSignal
  readonly bytes: ReturnType<typeof byteRate>
  readonly allowance: Allowance
  readonly openApp: () => AnyElysia
}

const routesOf = (ctx: ApiCtx, { bytes, allowance, openApp, ...input }: Served): readonly AnyElysia[] => {
  const auth = authentication(ctx, bytes, allowance)
  const visitors = visitorAdmission(ctx, bytes)
  return [
    healthRoutes(ctx, input),
    metricsRoutes(ctx),
    walletRoutes(ctx, auth),
    secretRoutes(ctx, auth),
    transactionRoutes(ctx, auth),
    typedDataRoutes(ctx, auth),
    nftRoutes(ctx, auth),
    policyRoutes(ctx, auth),
    approvalPageRoutes(ctx),
    approvalRoutes(ctx, auth),
    webhookRoutes(ctx, auth),
    metadataRoutes(ctx),
    activityRoutes(ctx, auth),
    eventRoutes(ctx, auth, input),
    tokenRoutes(ctx, auth),
    addressRoutes(ctx, auth),
    tokenKeyRoutes(ctx),
    userRoutes(ctx, visitors, auth),
    linkRoutes(ctx, bytes),
    pageRoutes(ctx),
    loginRoutes(ctx),
    issuerLoginRoutes(ctx, visitors),
    consentRoutes(ctx),
    credentialRoutes(ctx, auth),
    oauthRoutes(ctx, bytes),
    devMailboxRoutes(ctx),
    openapiRoutes(ctx, openApp),
  ]
}

/**
 * The whole HTTP interface; it does not listen. Unknown properties are refused rather than dropped (`normalize:
 * false`), and every failure leaves through the one error handler.
 */
export const createApp = (ctx: ApiCtx, input: { readonly stopping?: AbortSignal } = {}): AnyElysia => {
  const requests = createRequestTimer(ctx.metrics)
  const bytes = byteRate(ctx.config)
  const allowance = createAllowance(ctx.config)
  const networks = ctx.chains.known.map(({ network }) => network)
  // By default the path begins at the first slash behind the eleventh character: a short host name would end before it.
  const app: AnyElysia = new Elysia({ normalize: false, handler: { standardHostname: false } })
    .onRequest(async ({ request, set }) => {
      requests.begin(request)
      set.headers['x-request-id'] = readRequestId(request.headers)
      // By default nothing is cached: answers contain private data, tokens or codes, and refusals may end soon.
      set.headers['cache-control'] = 'no-store'
      refuseOddHost(request)
      try {
        await allowance.spend(request)
      } catch (error) {
        if (request.method === 'OPTIONS') return openPreflight()
        Object.assign(set.headers, OPEN_CORS)
        throw error
      }
      if (request.method === 'OPTIONS') return preflight(ctx, request)
      Object.assign(set.headers, await corsHeaders(ctx, request.headers.get('origin')))
      return undefined
    })
    .onTransform({ as: 'global' }, ({ request, route }) => {
      ctx.requests.note(request, { route })
      checkQuery(request.url)
    })
    .onBeforeHandle({ as: 'global' }, ({ body, query }) => {
      for (const part of [body, query]) checkNetwork(networks, part)
    })
    .onError({ as: 'global' }, ({ error, code, request, route, set }) => {
      if (route) ctx.requests.note(request, { route })
      const allowed = code === 'NOT_FOUND' ? methodNotAllowed(app.routes, request) : null
      const answer = describeError(error)
      ctx.space.note(error)
      if (allowed !== null) {
        set.status = 405
        set.headers.allow = allowed.allow
        return allowed.body
      }
      const facts = () => ({ requestId: set.headers['x-request-id'], path: new URL(request.url).pathname })
      const { event } = answer
      if (event !== null) ctx.securityEvents.record({ event, from: subnetOf(addressOf(ctx.config, request)) })
      if (answer.unexpected) ctx.log.error({ err: error, ...facts() }, 'failed')
      if (answer.body.code === 'body_incomplete') ctx.log.info(facts(), 'the client went away within its body')
      if (answer.body.code === 'content_encoding_unsupported') set.headers['accept-encoding'] = 'identity'
      if (answer.status === 401) allowance.refuse(request)
      if (answer.status === 401) set.headers['www-authenticate'] = challengeFor(request.headers, answer.body.code)
      if (answer.retryAfterSeconds !== null) set.headers['retry-after'] = String(answer.retryAfterSeconds)
      set.status = answer.status
      return answer.body
    })
    .onAfterResponse({ as: 'global' }, ({ request, route, set }) =>
      requests.end(request, { route, status: set.status }),
    )
  for (const routes of routesOf(ctx, { ...input, bytes, allowance, openApp: () => app })) app.use(routes)
  return app
}
