import { dueClocks, startClocks } from '../../db/queries/clocks.ts'
import { type Cursor, noteBaseFee } from '../../db/queries/cursors.ts'
import type { Head } from '../blocks/fork.ts'
import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { learn } from './learn.ts'

/** EIP-1559: from block to block the base fee rises by an eighth at most. */
const RISE_DIVISOR = 8n

/**
 * Lets a network's waiting transactions climb and expire: of each signer only the lowest, as nothing behind it can be mined
 * before it is. Where the newest block asks for more than it offers, it climbs at once, to a rung that the next one can take.
 * Else its clock decides, which runs from when a node was first asked to take it, whatever came of that: what is refused for
 * ever must end too, and giving up frees no nonce, so that an answer which nobody heard does no harm. But only what a node
 * took climbs by time: that makes no refused offer better. While blocks ask for more than its top rung offers, no time passes.
 */
export const runClocks = async (
  ctx: Pick<WorkerCtx, 'db' | 'log'>,
  { chain, head, cursor }: { readonly chain: Chain; readonly head: Head; readonly cursor: Cursor },
): Promise<void> => {
  const { network } = chain
  const { baseFeePerGas } = head
  if (baseFeePerGas !== cursor.baseFeePerGas) await noteBaseFee(ctx.db, { network, baseFeePerGas })
  const askedPerGas = baseFeePerGas === null ? null : baseFeePerGas + baseFeePerGas / RISE_DIVISOR
  const clocks = await dueClocks(ctx.db, { network, ...chain.patience, askedPerGas })
  const starting = clocks.filter(({ due }) => due === 'start')
  if (starting.length > 0) {
    await startClocks(
      ctx.db,
      starting.map(({ id }) => id),
    )
  }
  for (const { id: transactionId, due: said, payable } of clocks) {
    const due = said === 'start' ? null : said
    if (due === null && payable === 0) continue
    ctx.log.info({ network, transactionId, due, payable }, 'a transaction waits for too long, or for lower fees')
    await ctx.db.transaction((tx) => learn(tx, { transactionId, news: { kind: 'clock', due, payable } }))
  }
}
