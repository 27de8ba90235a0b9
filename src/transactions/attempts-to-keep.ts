// Which attempts of a ladder may have been sent. Pure; test/transactions/explore.test.ts checks it.

import type { GiveUp } from '../../db/words.ts'

type LadderSent = {
  readonly chosen: number
  readonly rungs: number
  readonly givenUp: GiveUp | null
  /** Whether a node has ever answered to the cancel. */
  readonly isCancelOffered: boolean
}

/**
 * The attempts that must stay when a transaction is signed again. A rung above the chosen one was never sent and may be
 * replaced. Once the transaction was given up, any attempt may have been sent, so all stay.
 * @returns firstRung the number of rungs that stay, which is the index of the first new one.
 */
export const attemptsToKeep = (sent: LadderSent): { readonly firstRung: number; readonly isCancelKept: boolean } => {
  const { chosen, rungs, givenUp, isCancelOffered } = sent
  const isCancelKept = givenUp !== null || isCancelOffered
  return { firstRung: isCancelKept ? rungs : chosen + 1, isCancelKept }
}
