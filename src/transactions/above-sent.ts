// What of a ladder may have been sent, as far as its row says. Pure; test/transactions/explore.test.ts walks through it.

import type { GiveUp } from '../../db/words.ts'

type SentSoFar = {
  readonly chosen: number
  readonly rungs: number
  readonly givenUp: GiveUp | null
  /** Whether anything was written down of what a node said to the cancel. */
  readonly isCancelOffered: boolean
}

/**
 * What has never been chosen was never sent, and may make way for a new ladder. But once it was given up any of it may have
 * been sent, and all of it stays.
 * @returns the number of rungs that stay, and whether the cancel does.
 */
export const aboveSent = (sent: SentSoFar): { readonly firstRung: number; readonly isCancelKept: boolean } => {
  const { chosen, rungs, givenUp, isCancelOffered } = sent
  const isCancelKept = givenUp !== null || isCancelOffered
  return { firstRung: isCancelKept ? rungs : chosen + 1, isCancelKept }
}
