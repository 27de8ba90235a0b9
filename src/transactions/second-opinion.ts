// What cannot be taken back must be said by every node that can judge it: that a transaction is final, that its nonce was used
// elsewhere, that its era ended. A network with one node has no other opinions, so that node's word is enough.

import type { FinalCandidate } from '../../db/queries/mined.ts'
import { finalNumberOf } from '../blocks/fork.ts'
import type { Chain, HashStatus, Hex, Opinion } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'

/** A network with its nodes, each of which is asked. */
type Asked = Pick<Chain, 'network' | 'depth' | 'opinions'>

/** Whether a mined transaction did what it was meant to do. A contract wallet's own event says so for its execution. */
export const hasSucceeded = (
  { kind, contractWallet }: Pick<FinalCandidate, 'kind' | 'contractWallet'>,
  { success, executedBy }: Extract<HashStatus, { kind: 'mined' }>,
): boolean => success && (contractWallet === null || kind === 'deployment' || executedBy.includes(contractWallet))

/** Whether every other opinion agrees. A node that does not answer does not agree: if it stays away, it is no longer asked. */
const doAllAgree = async (
  ctx: Pick<WorkerCtx, 'log'>,
  { chain, agrees }: { readonly chain: Asked; readonly agrees: (opinion: Opinion) => Promise<boolean> },
): Promise<boolean> => {
  const answers = await Promise.all(
    chain.opinions().map((opinion) =>
      agrees(opinion).catch((err: unknown) => {
        ctx.log.warn({ err, network: chain.network }, 'a node gave no second opinion')
        return false
      }),
    ),
  )
  return answers.every(Boolean)
}

/** Those of the mined transactions of which every node says that their block is final, and how they ended. */
export const agreedFinal = async (
  ctx: Pick<WorkerCtx, 'log'>,
  { chain, rows }: { readonly chain: Asked; readonly rows: readonly FinalCandidate[] },
): Promise<readonly FinalCandidate[]> => {
  const agreed = new Set(rows)
  const disagree = (row: FinalCandidate, status: HashStatus | undefined): void => {
    agreed.delete(row)
    const { transactionId, blockHash } = row
    ctx.log.warn(
      { network: chain.network, transactionId, blockHash, status: status?.kind },
      'the nodes disagree about a transaction that seems final',
    )
  }
  const ask = async (opinion: Opinion): Promise<boolean> => {
    const finalNumber = finalNumberOf(chain, await opinion.head())
    const statuses = await opinion.statuses(
      rows.map(({ hash, blockHash }) => ({ hash: hash as Hex, blockHash: blockHash as Hex })),
    )
    for (const [index, row] of rows.entries()) {
      const status = statuses[index]
      if (status?.kind !== 'mined' || status.blockHash !== row.blockHash) disagree(row, status)
      // A cancel has no result yet.
      else if (row.status !== 'pending' && hasSucceeded(row, status) !== (row.status === 'success'))
        disagree(row, status)
      // This node only needs more time.
      else if (status.blockNumber > finalNumber) agreed.delete(row)
    }
    return true
  }
  if (rows.length === 0 || !(await doAllAgree(ctx, { chain, agrees: ask }))) return []
  return rows.filter((row) => agreed.has(row))
}

/** Whether the block at this height is final for every node. */
export const isFinalForAll = (ctx: Pick<WorkerCtx, 'log'>, chain: Asked, blockNumber: bigint): Promise<boolean> =>
  doAllAgree(ctx, { chain, agrees: async (opinion) => finalNumberOf(chain, await opinion.head()) >= blockNumber })

/** Whether every node counts more transactions of the signer than the nonce, as of a block. */
export const isNonceUsedForAll = (
  ctx: Pick<WorkerCtx, 'log'>,
  chain: Asked,
  at: { readonly address: string; readonly nonce: number; readonly blockNumber: bigint },
): Promise<boolean> =>
  doAllAgree(ctx, { chain, agrees: async (opinion) => ((await opinion.transactionCountAt(at)) ?? 0) > at.nonce })

/** Whether no node has any of these transactions, in a block or in its pool. */
export const isUnknownToAll = (ctx: Pick<WorkerCtx, 'log'>, chain: Asked, hashes: readonly Hex[]): Promise<boolean> =>
  doAllAgree(ctx, {
    chain,
    agrees: async (opinion) =>
      (await opinion.statuses(hashes.map((hash) => ({ hash, blockHash: null })))).every(
        ({ kind }) => kind === 'unknown',
      ),
  })
