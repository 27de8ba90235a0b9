import type { HasSpace } from '../platform/space.ts'
import type { HasRequests } from '../platform/tracing/requests.ts'
import type { SigningCtx } from '../signing/ctx.ts'

export type ApiCtx = SigningCtx & HasSpace & HasRequests
