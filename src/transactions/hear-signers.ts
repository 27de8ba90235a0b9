import { noteStanding, signersToHear } from '../../db/queries/standings.ts'
import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'

/** A transaction that waits for so long makes operators ask how its signer stands. */
const WAITED_SECONDS = 20
const BATCH = 100

/** Asks the node how the signers of what waits stand, so that a gap in their nonces can be told from a low fee. */
export const hearSigners = async (ctx: Pick<WorkerCtx, 'db' | 'log'>, chain: Chain): Promise<void> => {
  const { network } = chain
  for (const address of await signersToHear(ctx.db, { network, seconds: WAITED_SECONDS, limit: BATCH })) {
    try {
      await noteStanding(ctx.db, { network, address, standing: await chain.standing(address) })
    } catch (err) {
      // A node that does not answer one will not answer the others.
      ctx.log.warn({ err, network }, 'could not ask how a signer stands')
      return
    }
  }
}
