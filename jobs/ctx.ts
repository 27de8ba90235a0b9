import type { HasMailer } from '../src/identity/mail/mailer.ts'
import type { TrackingCtx } from '../src/signing/ctx.ts'

/** What the worker's tasks get. It has no vault and no identity key, so no job can open a wallet or create a token. */
export type JobsCtx = TrackingCtx & HasMailer
