import { Elysia } from 'elysia'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { readJsonBody } from '../body.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { createAuthenticate } from './authenticate.ts'
import type { Caller } from './caller.ts'
import { checkOrigin } from './origins.ts'
import { requireScope } from './scopes.ts'

type AuthCtx = Pick<Ctx, 'db' | 'now' | 'log' | 'config'>

/**
 * Gives every route behind it a `caller`, before the body is read: who may not come in learns nothing else.
 * One for all resources of a process: the rate limit is per API key and process.
 */
export const authentication = (ctx: AuthCtx) => {
  const authenticate = createAuthenticate(ctx)
  const limiter = new RateLimiterMemory({ points: ctx.config.rateLimitPerSecond, duration: 1 })
  const admit = async ({ request, route }: { request: Request; route: string }): Promise<Caller> => {
    const caller = await authenticate(request.headers)
    await checkOrigin(ctx, { projectId: caller.projectId, origin: request.headers.get('origin') })
    await limiter.consume(caller.apiKeyId).catch((refusal: unknown) => {
      throw tooMany(refusal)
    })
    requireScope(caller, { method: request.method, route })
    return caller
  }
  // The framework parses before anything else, and parses only where there may be a body.
  const admitted = new WeakMap<Request, Caller>()
  return new Elysia({ name: 'authentication' })
    .onParse({ as: 'scoped' }, async ({ request, route }) => {
      admitted.set(request, await admit({ request, route }))
      return (await readJsonBody(request)) ?? {}
    })
    .derive({ as: 'scoped' }, async ({ request, route }) => ({
      caller: admitted.get(request) ?? (await admit({ request, route })),
    }))
}

export type Authentication = ReturnType<typeof authentication>

const tooMany = (refusal: unknown): unknown =>
  refusal instanceof RateLimiterRes
    ? new AppError('rate_limited', 'Too many requests with this API key; wait and try again.', {
        retryable: true,
        retryAfterSeconds: Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)),
      })
    : refusal
