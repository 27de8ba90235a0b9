import type { HasSpace } from '../health/space.ts'
import type { SigningCtx } from '../signing/ctx.ts'
import type { HasRequests } from '../tracing/requests.ts'

/** What the routes of the API get. */
export type ApiCtx = SigningCtx & HasSpace & HasRequests
