// How often a login may be begun and tried. Limits by caller's address (for IPv6, its subnet) stop one caller who tries many
// targets. Limits by target stop many callers who try one target. The devnet allows a hundred times as many.

import type { HasConfig } from '../../platform/config.ts'
import { subnetOf } from '../../platform/http/peer.ts'
import type { Visitor } from '../auth/plugin.ts'
import type { Limit } from '../auth/throttle.ts'

type LimitsCtx = HasConfig
type From = Pick<Visitor, 'client'>
type Beginning = From & Pick<Visitor, 'projectId'>

const MINUTE = 60
const WINDOW = 15 * MINUTE
const DAY = 86_400

const limit = (
  { config }: LimitsCtx,
  { of, tries, windowSeconds = WINDOW }: Pick<Limit, 'of' | 'tries'> & Partial<Limit>,
): Limit => ({ of, tries: config.devnet ? tries * 100 : tries, windowSeconds })

/** Logins of one method that one address begins. */
export const beginLimit = (ctx: LimitsCtx, { projectId, client }: Beginning, way: string): Limit =>
  limit(ctx, { of: ['begin from', way, projectId, subnetOf(client.address)], tries: 30 })

/** Session challenges from one address. The login page creates one for each user whom it sends back. */
export const challengeLimit = (ctx: LimitsCtx, { projectId, client }: Beginning): Limit =>
  limit(ctx, { of: ['challenge from', projectId, subnetOf(client.address)], tries: 300 })

/**
 * Logins of one method that are begun for one wallet or user. This only limits load, as nobody can guess a challenge. A
 * strict limit would let anybody who knows a wallet's address lock it out.
 */
export const targetLimit = (ctx: LimitsCtx, { projectId }: Beginning, way: string, target: string): Limit =>
  limit(ctx, { of: ['begin for', way, projectId, target], tries: 60 })

/** Mails to one e-mail address. Each gives five tries at a code of six digits, so a day gives at most a hundred. */
export const mailLimits = (ctx: LimitsCtx, { projectId }: Beginning, way: string, target: string): readonly Limit[] => [
  limit(ctx, { of: ['mail to', way, projectId, target], tries: 5 }),
  limit(ctx, { of: ['mail to, a day', way, projectId, target], tries: 20, windowSeconds: DAY }),
]

/** Proofs of logins, and attempts to complete a challenge, from one address. */
export const tryLimit = (ctx: LimitsCtx, { client }: From, what: string): Limit =>
  limit(ctx, { of: ['try from', what, subnetOf(client.address)], tries: 100, windowSeconds: MINUTE })

/** Reads of session challenges from one address: enough for ten devices that poll once a second. */
export const readLimit = (ctx: LimitsCtx, { client }: From): Limit =>
  limit(ctx, { of: ['look from', subnetOf(client.address)], tries: 600, windowSeconds: MINUTE })
