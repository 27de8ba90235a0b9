import { dueClocks, startClocks } from '../../db/queries/transactions.ts'
import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { learn } from './learn.ts'

/**
 * Lets a network's waiting transactions climb and expire: of each signer only the lowest, as nothing behind it can be mined
 * before it is. Its clock runs from when a node was first asked to take it, whatever came of that: what is refused for ever
 * must end too, and giving up frees no nonce, so that an answer which nobody heard does no harm. But only what a node took
 * climbs: time makes no refused offer better.
 */
export const runClocks = async (ctx: Pick<WorkerCtx, 'db' | 'log'>, chain: Chain): Promise<void> => {
  const { network } = chain
  const clocks = await dueClocks(ctx.db, { network, ...chain.patience })
  const unstarted = clocks.filter(({ due }) => due === 'start')
  if (unstarted.length > 0) {
    await startClocks(
      ctx.db,
      unstarted.map(({ id }) => id),
    )
  }
  for (const { id: transactionId, due } of clocks) {
    if (due === 'start') continue
    const news = { kind: due === 'climb' ? 'climb_due' : 'expiry_due' } as const
    ctx.log.info({ network, transactionId, due }, 'a transaction waits for too long')
    await ctx.db.transaction((tx) => learn(tx, { transactionId, news }))
  }
}
