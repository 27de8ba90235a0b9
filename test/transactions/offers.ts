// What an intent of the small world has signed. Each offer has a name of its own, so that one which was erased is
// another than one which was signed anew at the same fee. What is erased when it is signed anew is for the running code
// to say.

import type { Ladder, TransactionState } from '../../src/signing/transactions/transition.ts'
import { type Fee, LADDER, type Rules } from './rules.ts'

/**
 * What it offers, and a hundred for each time that its intent was signed anew before. Of the first ladder: the attempt.
 */
export type Offer = number
const AGAIN = 100

export type Offers = {
  readonly rungs: readonly Offer[]
  readonly cancel: Offer
  readonly former: readonly Offer[]
  readonly isFixed: boolean
}

export const FIRST_OFFERS: Offers = {
  rungs: Array.from({ length: LADDER.rungs }, (_, rung) => rung),
  cancel: LADDER.rungs,
  former: [],
  isFixed: false,
}

const feeOf = (offer: Offer): Fee => offer % AGAIN

/** Whether the next block could take it. */
export const isPaying = (offer: Offer, fee: Fee): boolean => feeOf(offer) >= fee

/** Whether a pool takes one in the place of the other. */
export const outbids = (one: Offer, other: Offer): boolean => feeOf(one) > feeOf(other)

export const ladderOf = ({ rungs, isFixed }: Offers): Ladder =>
  rungs.length === LADDER.rungs && !isFixed ? LADDER : { rungs: rungs.length, isFixed }

/** In the order by which attempts are counted. */
export const attemptsOf = ({ rungs, cancel, former }: Offers): readonly Offer[] => [...rungs, cancel, ...former]

export const isCancel = ({ cancel, former }: Offers, offer: Offer): boolean =>
  offer === cancel || former.includes(offer)

/** How many attempts, from the lowest on, offer less than blocks ask for. */
export const payableOf = ({ rungs, cancel }: Offers, fee: Fee): number =>
  [...rungs, cancel].filter((offer) => !isPaying(offer, fee)).length

/** How it can be signed anew: by what the market asks, or at what its caller fixes, which may be too low. */
export const WAYS = ['market', 'fixed'] as const
export type Way = (typeof WAYS)[number]

/** The offers of one that is signed anew, above all that is known of it; and its first new rung. */
export const signedAnew = (
  rules: Rules,
  input: {
    readonly before: Offers
    readonly state: Extract<TransactionState, { kind: 'waiting' }>
    readonly isCancelOffered: boolean
    readonly fee: Fee
    readonly way: Way
  },
): { readonly offers: Offers; readonly first: number } => {
  const { before, state, isCancelOffered, fee, way } = input
  const { chosen, givenUp } = state
  const { firstRung, isCancelKept } = rules.attemptsToKeep({
    chosen,
    rungs: before.rungs.length,
    givenUp,
    isCancelOffered,
  })
  const rungs = before.rungs.slice(0, firstRung)
  const former = isCancelKept ? [...before.former, before.cancel] : before.former
  const above = Math.max(...[...rungs, ...former].map(feeOf)) + 1
  const times = Math.floor(before.cancel / AGAIN) + 1
  const lowest = times * AGAIN + (way === 'market' ? Math.max(above, fee) : above)
  const count = way === 'market' ? LADDER.rungs : 1
  const fresh = Array.from({ length: count }, (_, rung) => lowest + rung)
  return {
    offers: { rungs: [...rungs, ...fresh], cancel: lowest + count, former, isFixed: way === 'fixed' },
    first: firstRung,
  }
}
