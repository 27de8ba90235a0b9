import type { Chain } from '../chains/chain.ts'

const FIRST_PAUSE_SECONDS = 5

/** How long to wait after so many tries in vain before this one: twice as long each time. Pure. */
export const patienceSeconds = (input: { readonly tries: number; readonly maxSeconds: number }): number =>
  Math.min(FIRST_PAUSE_SECONDS * 2 ** input.tries, input.maxSeconds)

/** Whether a node that failed fails altogether: one that tells its newest block only refuses what it was asked. */
export const isAway = (chain: Chain): Promise<boolean> =>
  chain.head().then(
    () => false,
    () => true,
  )
