import { Elysia } from 'elysia'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { readJsonBody } from '../http/body.ts'
import { type Asker, askerOf, subnetOf } from '../http/peer.ts'
import { createAuthenticate, readProjectHeader, requireProject } from './authenticate.ts'
import type { Caller } from './caller.ts'
import { checkOrigin } from './origins.ts'
import { requireScope } from './scopes.ts'

/** What is somebody's, or a token or number of a login, is kept by no cache; nor is a refusal. */
const KEPT_BY_NOBODY = 'no-store'

type Asking = { readonly request: Request; readonly set: { readonly headers: Record<string, string | number> } }

type AuthCtx = Pick<Ctx, 'db' | 'now' | 'log' | 'config' | 'tokens'>

/**
 * Gives every route behind it a `caller`, before the body is read: who may not come in learns nothing else.
 * One for all resources of a process: the rate limit is per API key or user, and process.
 */
export const authentication = (ctx: AuthCtx) => {
  const authenticate = createAuthenticate(ctx)
  const limiter = new RateLimiterMemory({ points: ctx.config.rateLimitPerSecond, duration: 1 })
  const admit = async ({ request, route, set }: Asking & { readonly route: string }): Promise<Caller> => {
    set.headers['cache-control'] = KEPT_BY_NOBODY
    const caller = await authenticate(request.headers)
    await checkOrigin(ctx, { projectId: caller.projectId, origin: request.headers.get('origin') })
    await limiter.consume(caller.kind === 'user' ? caller.userId : caller.apiKeyId).catch((refusal: unknown) => {
      throw tooMany(refusal)
    })
    requireScope(caller, { method: request.method, route })
    return caller
  }
  // The framework parses before anything else, and parses only where there may be a body.
  const admitted = new WeakMap<Request, Caller>()
  return new Elysia({ name: 'authentication' })
    .onParse({ as: 'scoped' }, async ({ request, route, set }) => {
      admitted.set(request, await admit({ request, route, set }))
      return (await readJsonBody(request)) ?? {}
    })
    .derive({ as: 'scoped' }, async ({ request, route, set }) => ({
      caller: admitted.get(request) ?? (await admit({ request, route, set })),
    }))
}

export type Authentication = ReturnType<typeof authentication>

/** Who asks where nobody is logged in: a page or program of a project. */
export type Asked = { readonly projectId: string; readonly asker: Asker; readonly origin: string | null }

/**
 * For what needs no bearer: gives every route behind it `asked`, before the body is read. A bearer that is sent is ignored.
 */
export const projectDoor = (ctx: AuthCtx) => {
  const limiter = new RateLimiterMemory({ points: ctx.config.rateLimitPerSecond, duration: 1 })
  const admit = async ({ request, set }: Asking): Promise<Asked> => {
    set.headers['cache-control'] = KEPT_BY_NOBODY
    const asker = askerOf(ctx.config, request)
    await limiter.consume(subnetOf(asker.address)).catch((refusal: unknown) => {
      throw tooMany(refusal)
    })
    const { id: projectId } = await requireProject(ctx, readProjectHeader(request.headers))
    const origin = request.headers.get('origin')
    await checkOrigin(ctx, { projectId, origin })
    return { projectId, asker, origin }
  }
  const admitted = new WeakMap<Request, Asked>()
  return new Elysia({ name: 'project-door' })
    .onParse({ as: 'scoped' }, async ({ request, set }) => {
      admitted.set(request, await admit({ request, set }))
      return (await readJsonBody(request)) ?? {}
    })
    .derive({ as: 'scoped' }, async ({ request, set }) => ({
      asked: admitted.get(request) ?? (await admit({ request, set })),
    }))
}

export type ProjectDoor = ReturnType<typeof projectDoor>

const tooMany = (refusal: unknown): unknown =>
  refusal instanceof RateLimiterRes
    ? new AppError('rate_limited', 'Too many requests by this caller; wait and try again.', {
        retryable: true,
        retryAfterSeconds: Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)),
      })
    : refusal
