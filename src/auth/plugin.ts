import { Elysia } from 'elysia'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { createAuthenticate } from './authenticate.ts'
import { checkOrigin } from './origins.ts'

type AuthCtx = Pick<Ctx, 'db' | 'now' | 'log' | 'config'>

/**
 * Gives every route behind it a `caller`, before the body is validated: who may not come in learns nothing else.
 * The rate limit is per API key and process.
 */
export const authentication = (ctx: AuthCtx) => {
  const authenticate = createAuthenticate(ctx)
  const limiter = new RateLimiterMemory({ points: ctx.config.rateLimitPerSecond, duration: 1 })
  return new Elysia({ name: 'authentication' }).derive({ as: 'scoped' }, async ({ request }) => {
    const caller = await authenticate(request.headers)
    await checkOrigin(ctx, { projectId: caller.projectId, origin: request.headers.get('origin') })
    await limiter.consume(caller.apiKeyId).catch((refusal: unknown) => {
      throw tooMany(refusal)
    })
    return { caller }
  })
}

const tooMany = (refusal: unknown): unknown =>
  refusal instanceof RateLimiterRes
    ? new AppError('rate_limited', 'Too many requests with this API key; wait and try again.', {
        retryable: true,
        retryAfterSeconds: Math.max(1, Math.ceil(refusal.msBeforeNext / 1000)),
      })
    : refusal
