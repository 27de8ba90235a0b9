import {
  dueDoubtfulContracts,
  postponeDoubtfulContract,
  settleDoubtfulContract,
} from '../../db/queries/doubtful-contracts.ts'
import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'

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

const ASKED_AT_ONCE = 20
const MAX_PAUSE_SECONDS = 3_600

/** Asks contracts again that did not say what they are, each alone, and sets their kept movements right. */
export const settleDoubts = async (ctx: Pick<WorkerCtx, 'db' | 'log'>, chain: Chain): Promise<void> => {
  const { network } = chain
  for (const { contract, tries } of await dueDoubtfulContracts(ctx.db, { network, limit: ASKED_AT_ONCE })) {
    try {
      const standard = (await chain.facts([contract])).get(contract)?.standard ?? 'other'
      await settleDoubtfulContract(ctx.db, { network, contract, standard })
    } catch (err) {
      ctx.log.warn({ err, network, contract }, 'the facts of a moved token still cannot be read')
      const afterSeconds = patienceSeconds({ tries, maxSeconds: MAX_PAUSE_SECONDS })
      await postponeDoubtfulContract(ctx.db, { network, contract, tries: tries + 1, afterSeconds })
      if (await isAway(chain)) return
    }
  }
}
