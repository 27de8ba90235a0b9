import { dueClocks, startClock } from '../../db/queries/transactions.ts'
import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { learn } from './learn.ts'

/**
 * Lets a network's waiting transactions climb and expire: of each signer only the lowest, as nothing behind it can be mined
 * before it is.
 */
export const runClocks = async (ctx: Pick<WorkerCtx, 'db' | 'log'>, chain: Chain): Promise<void> => {
  const { network } = chain
  for (const { id: transactionId, due } of await dueClocks(ctx.db, { network, ...chain.patience })) {
    if (due === 'start') {
      await startClock(ctx.db, transactionId)
      continue
    }
    const news = { kind: due === 'climb' ? 'climb_due' : 'expiry_due' } as const
    ctx.log.info({ network, transactionId, due }, 'a transaction waits for too long')
    await ctx.db.transaction((tx) => learn(tx, { transactionId, news }))
  }
}
