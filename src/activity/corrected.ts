import { asStandard, type BlockMovements, type Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { keptRows } from './kept.ts'
import type { Watched } from './watched.ts'

/**
 * The movements of some blocks by their contracts' own standards. Only contracts that touch what we watch are asked, all
 * at once, and once ever: so a listing need not ask the node either. What a strange contract answers must not hold up the
 * chain: where nothing can be read, movements stay as their events tell them.
 */
export const corrected = async (
  ctx: Pick<WorkerCtx, 'log'>,
  input: { readonly chain: Chain; readonly blocks: readonly BlockMovements[]; readonly watched: Watched },
): Promise<readonly BlockMovements[]> => {
  const { chain, blocks, watched } = input
  const rows = keptRows({ network: chain.network, blocks, watched })
  const contracts = new Set(rows.flatMap((row) => row.contract ?? []))
  if (contracts.size === 0) return blocks
  try {
    const facts = await chain.facts([...contracts])
    return blocks.map((block) => ({
      ...block,
      movements: block.movements.map((movement) => asStandard(movement, facts.get(movement.contract ?? '')?.standard)),
    }))
  } catch (err) {
    ctx.log.warn({ err, network: chain.network }, 'the facts of moved tokens could not be read')
    return blocks
  }
}
