import type { Tx } from '../../db/client.ts'
import { doubtContracts } from '../../db/queries/doubtful-contracts.ts'
import { asStandard, type BlockMovements, type Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { keptContracts } from './kept.ts'
import type { Watched } from './watched.ts'

/** `doubtful`: contracts that did not say what they are, whose movements stand as their events tell them. */
export type Corrected = { readonly blocks: readonly BlockMovements[]; readonly doubtful: readonly string[] }

/**
 * The movements of some blocks by their contracts' own standards. Only contracts that touch what we watch are asked, all
 * at once, and once ever: so a listing need not ask the node either. What a strange contract answers must not hold up the
 * chain: what cannot be read now is written down with the movements (`writeDoubts`), and asked again (settle-doubts.ts).
 */
export const corrected = async (
  ctx: Pick<WorkerCtx, 'log'>,
  input: { readonly chain: Chain; readonly blocks: readonly BlockMovements[]; readonly watched: Watched },
): Promise<Corrected> => {
  const { chain, blocks, watched } = input
  const contracts = [...keptContracts({ blocks, watched })]
  if (contracts.length === 0) return { blocks, doubtful: [] }
  try {
    const facts = await chain.facts(contracts)
    const set = blocks.map((block) => ({
      ...block,
      movements: block.movements.map((movement) => asStandard(movement, facts.get(movement.contract ?? '')?.standard)),
    }))
    return { blocks: set, doubtful: [] }
  } catch (err) {
    ctx.log.warn({ err, network: chain.network }, 'the facts of moved tokens could not be read')
    return { blocks, doubtful: contracts }
  }
}

/** In the transaction that keeps the movements. */
export const writeDoubts = async (
  tx: Tx,
  { chain, corrected }: { readonly chain: Chain; readonly corrected: Corrected },
): Promise<void> => {
  const { blocks, doubtful } = corrected
  const [first, last] = [blocks[0], blocks.at(-1)]
  if (first === undefined || last === undefined) return
  const { network } = chain
  await doubtContracts(tx, { network, contracts: doubtful, fromBlock: first.number, toBlock: last.number })
}
