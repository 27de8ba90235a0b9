import type { HasDb } from '../../../db/client.ts'
import {
  dueDoubtfulContracts,
  postponeDoubtfulContract,
  settleDoubtfulContract,
} from '../../../db/queries/doubtful-contracts.ts'
import type { Round } from '../../blocks/follow.ts'
import type { Chain } from '../../chains/chain.ts'
import type { HasLog } from '../../platform/process/log.ts'

const FIRST_PAUSE_SECONDS = 5

/** The pause before the next try, after so many failed ones: twice as long each time. Pure. */
export const pauseSeconds = (input: { readonly tries: number; readonly maxSeconds: number }): number =>
  Math.min(FIRST_PAUSE_SECONDS * 2 ** input.tries, input.maxSeconds)

/** Whether the node does not answer at all. If it answers with its newest block, it only refused one request. */
export const isUnreachable = (chain: Chain): Promise<boolean> =>
  chain.head().then(
    () => false,
    () => true,
  )

const ASKED_AT_ONCE = 20
const MAX_PAUSE_SECONDS = 3_600

/** Asks doubtful contracts again, each by itself, and corrects their stored movements. */
export const settleDoubtfulContracts = async (ctx: HasDb & HasLog, { chain, isOver }: Round): Promise<void> => {
  const { network } = chain
  for (const { contract, tries } of await dueDoubtfulContracts(ctx.db, { network, limit: ASKED_AT_ONCE })) {
    if (isOver()) return
    try {
      const standard = (await chain.facts([contract])).get(contract)?.standard ?? 'other'
      await settleDoubtfulContract(ctx.db, { network, contract, standard })
    } catch (err) {
      ctx.log.warn({ err, network, contract }, 'still cannot read the facts of a moved token')
      const afterSeconds = pauseSeconds({ tries, maxSeconds: MAX_PAUSE_SECONDS })
      await postponeDoubtfulContract(ctx.db, { network, contract, tries: tries + 1, afterSeconds })
      if (await isUnreachable(chain)) return
    }
  }
}
