// How often a login may be begun and tried. Limits by caller's address (for IPv6, its subnet) stop one caller who tries many
// targets. Limits by target stop many callers who try one target. The devnet allows a hundred times as many.

import type { Asked } from '../auth/plugin.ts'
import type { Limit } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { subnetOf } from '../http/peer.ts'

type LimitsCtx = Pick<Ctx, 'config'>

const MINUTE = 60
const DAY = 86_400
const MINUTES_A_WINDOW = 15
const FROM_ADDRESS = 30
const CHALLENGES_FROM_ADDRESS = 300
const FOR_TARGET = 60
const MAILS_TO = 5
const MAILS_TO_A_DAY = 20
const TRIES_FROM_ADDRESS = 100
/** Enough for ten devices behind one address that read once a second. */
const READS_FROM_ADDRESS = 600

const scaled = (ctx: LimitsCtx, tries: number): number => (ctx.config.devnet ? tries * 100 : tries)

/** Logins of one method that one address begins. */
export const beginLimit = (ctx: LimitsCtx, asked: Asked, way: string): Limit => ({
  of: ['begin from', way, asked.projectId, subnetOf(asked.asker.address)],
  tries: scaled(ctx, FROM_ADDRESS),
  windowSeconds: MINUTES_A_WINDOW * MINUTE,
})

/** Session challenges from one address. The login page creates one for each user whom it sends back. */
export const challengeLimit = (ctx: LimitsCtx, asked: Asked): Limit => ({
  of: ['challenge from', asked.projectId, subnetOf(asked.asker.address)],
  tries: scaled(ctx, CHALLENGES_FROM_ADDRESS),
  windowSeconds: MINUTES_A_WINDOW * MINUTE,
})

/**
 * Logins of one method that are begun for one wallet or user. This only limits load, as nobody can guess a challenge. A
 * strict limit would let anybody who knows a wallet's address lock it out.
 */
export const targetLimits = (ctx: LimitsCtx, asked: Asked, way: string, target: string): readonly Limit[] => [
  {
    of: ['begin for', way, asked.projectId, target],
    tries: scaled(ctx, FOR_TARGET),
    windowSeconds: MINUTES_A_WINDOW * MINUTE,
  },
]

/** Mails to one e-mail address. Each gives five tries at a code of six digits, so a day gives at most a hundred. */
export const mailLimits = (ctx: LimitsCtx, asked: Asked, way: string, target: string): readonly Limit[] => [
  {
    of: ['mail to', way, asked.projectId, target],
    tries: scaled(ctx, MAILS_TO),
    windowSeconds: MINUTES_A_WINDOW * MINUTE,
  },
  { of: ['mail to, a day', way, asked.projectId, target], tries: scaled(ctx, MAILS_TO_A_DAY), windowSeconds: DAY },
]

/** Proofs of logins, and attempts to complete a challenge, from one address. */
export const tryLimit = (ctx: LimitsCtx, asked: Pick<Asked, 'asker'>, what: string): Limit => ({
  of: ['try from', what, subnetOf(asked.asker.address)],
  tries: scaled(ctx, TRIES_FROM_ADDRESS),
  windowSeconds: MINUTE,
})

/** Reads of session challenges from one address. A waiting device polls. */
export const readLimit = (ctx: LimitsCtx, asked: Pick<Asked, 'asker'>): Limit => ({
  of: ['look from', subnetOf(asked.asker.address)],
  tries: scaled(ctx, READS_FROM_ADDRESS),
  windowSeconds: MINUTE,
})
