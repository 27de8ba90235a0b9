// How often a login may begin or be tried. By address, of IPv6 by its subnet, so that nobody tries many targets; by target,
// so that many addresses do not try one. On the devnet a hundred times as often.

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
/** Ten devices behind one address that look once a second. */
const LOOKS_FROM_ADDRESS = 600

const scaled = (ctx: LimitsCtx, tries: number): number => (ctx.config.devnet ? tries * 100 : tries)

/** Logins of one way that begin at one address. */
export const beginsFrom = (ctx: LimitsCtx, asked: Asked, way: string): Limit => ({
  of: ['begin from', way, asked.projectId, subnetOf(asked.asker.address)],
  tries: scaled(ctx, FROM_ADDRESS),
  windowSeconds: MINUTES_A_WINDOW * MINUTE,
})

/** Challenges from one address: the login page makes one for everybody whom it sends back. */
export const challengesFrom = (ctx: LimitsCtx, asked: Asked): Limit => ({
  of: ['challenge from', asked.projectId, subnetOf(asked.asker.address)],
  tries: scaled(ctx, CHALLENGES_FROM_ADDRESS),
  windowSeconds: MINUTES_A_WINDOW * MINUTE,
})

/**
 * Logins of one way that begin for one target: a wallet, a user. The number to sign cannot be guessed, so that only load is
 * limited; few would let anybody shut a wallet out whose address is known.
 */
export const beginsFor = (ctx: LimitsCtx, asked: Asked, way: string, target: string): readonly Limit[] => [
  {
    of: ['begin for', way, asked.projectId, target],
    tries: scaled(ctx, FOR_TARGET),
    windowSeconds: MINUTES_A_WINDOW * MINUTE,
  },
]

/** Mails to one address: each brings five tries at a code of six digits, so that a day allows a hundred. */
export const mailsTo = (ctx: LimitsCtx, asked: Asked, way: string, target: string): readonly Limit[] => [
  {
    of: ['mail to', way, asked.projectId, target],
    tries: scaled(ctx, MAILS_TO),
    windowSeconds: MINUTES_A_WINDOW * MINUTE,
  },
  { of: ['mail to, a day', way, asked.projectId, target], tries: scaled(ctx, MAILS_TO_A_DAY), windowSeconds: DAY },
]

/** Proofs, and what completes challenges, from one address. */
export const triesFrom = (ctx: LimitsCtx, asked: Pick<Asked, 'asker'>, what: string): Limit => ({
  of: ['try from', what, subnetOf(asked.asker.address)],
  tries: scaled(ctx, TRIES_FROM_ADDRESS),
  windowSeconds: MINUTE,
})

/** Looks at challenges from one address: whoever waits for one looks again and again. */
export const looksFrom = (ctx: LimitsCtx, asked: Pick<Asked, 'asker'>): Limit => ({
  of: ['look from', subnetOf(asked.asker.address)],
  tries: scaled(ctx, LOOKS_FROM_ADDRESS),
  windowSeconds: MINUTE,
})
