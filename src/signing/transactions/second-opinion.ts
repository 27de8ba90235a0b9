// What cannot be taken back must be said by every node that can judge it: that a transaction is final, that its nonce
// was used elsewhere, that its era ended. A network with one node has no other opinions, so that node's word is enough.
//
// A result before that can still be corrected. It is recorded unless another node reports a different one for the same
// block. A node that does not know the block yet, or does not answer soon, does not delay it.

import { setTimeout as sleep } from 'node:timers/promises'
import type { FinalCandidate } from '../../../db/queries/mined.ts'
import { finalNumberOf } from '../../blocks/cursor.ts'
import type { Chain, HashStatus, Hex, Opinion } from '../../chains/chain.ts'
import type { HasLog } from '../../platform/process/log.ts'

/** A network with its nodes, each of which is asked. */
type AskedChain = Pick<Chain, 'network' | 'depth' | 'opinions'>

/** Whether a mined transaction did what it was meant to do. A contract wallet's own event says so for its execution. */
export const hasSucceeded = (
  { kind, contractWallet }: Pick<FinalCandidate, 'kind' | 'contractWallet'>,
  { success, executedBy }: Extract<HashStatus, { kind: 'mined' }>,
): boolean => success && (contractWallet === null || kind === 'deployment' || executedBy.includes(contractWallet))

/** A node that does not answer does not agree: if it stays away, we stop asking it. */
const doAllAgree = async (
  ctx: HasLog,
  { chain, agrees }: { readonly chain: AskedChain; readonly agrees: (opinion: Opinion) => Promise<boolean> },
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

type Mined = Extract<HashStatus, { kind: 'mined' }>
type Judged = Pick<FinalCandidate, 'hash' | 'blockHash' | 'kind' | 'contractWallet'>

const askStatuses = (opinion: Pick<Opinion, 'statuses'>, rows: readonly Judged[]): Promise<readonly HashStatus[]> =>
  opinion.statuses(rows.map(({ hash, blockHash }) => ({ hash: hash as Hex, blockHash: blockHash as Hex })))

const isMinedIn = ({ blockHash }: Judged, status: HashStatus | undefined): status is Mined =>
  status?.kind === 'mined' && status.blockHash === blockHash

/** A result waits at most this long for what the other nodes say of it. */
const RESULT_WAITS_MS = 2_000

/** What each node but the first says; empty of one that does not answer soon. */
const otherStatuses = (
  ctx: HasLog,
  { chain, rows }: { readonly chain: AskedChain; readonly rows: readonly Judged[] },
): Promise<(readonly HashStatus[])[]> =>
  Promise.all(
    // The first one has answered already: `chain.statuses` goes to it.
    chain
      .opinions()
      .slice(1)
      .map((opinion) =>
        Promise.race([askStatuses(opinion, rows), sleep(RESULT_WAITS_MS, [], { ref: false })]).catch((err: unknown) => {
          ctx.log.warn({ err, network: chain.network }, 'a node gave no second opinion')
          return []
        }),
      ),
  )

/** By row, without those in another block, and those about which the nodes disagree. */
export const agreedResults = async <Row extends Judged & { readonly transactionId: string }>(
  ctx: HasLog,
  input: { readonly chain: AskedChain; readonly rows: readonly Row[]; readonly statuses: readonly HashStatus[] },
): Promise<ReadonlyMap<Row, Mined>> => {
  const { chain, rows, statuses } = input
  const own = rows.flatMap((row, index): readonly (readonly [Row, Mined])[] => {
    const status = statuses[index]
    return isMinedIn(row, status) ? [[row, status]] : []
  })
  if (own.length === 0) return new Map()
  const others = await otherStatuses(ctx, { chain, rows: own.map(([row]) => row) })
  return new Map(
    own.filter(([row, status], index) => {
      const isDoubted = others.some((each) => {
        const other = each[index]
        return isMinedIn(row, other) && hasSucceeded(row, other) !== hasSucceeded(row, status)
      })
      if (isDoubted) {
        const { transactionId, blockHash } = row
        const found = { network: chain.network, transactionId, blockHash }
        ctx.log.warn(found, 'the nodes disagree about the result of a transaction')
      }
      return !isDoubted
    }),
  )
}

/** `agreed`: every node says that the block is final. `doubted`: a node reports another result than is recorded. */
export const judgeFinal = async (
  ctx: HasLog,
  { chain, rows }: { readonly chain: AskedChain; readonly rows: readonly FinalCandidate[] },
): Promise<{ readonly agreed: readonly FinalCandidate[]; readonly doubted: readonly FinalCandidate[] }> => {
  const agreed = new Set(rows)
  const doubted = new Set<FinalCandidate>()
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
    const statuses = await askStatuses(opinion, rows)
    for (const [index, row] of rows.entries()) {
      const status = statuses[index]
      if (!isMinedIn(row, status)) disagree(row, status)
      // A cancel has no result yet.
      else if (row.status !== 'pending' && hasSucceeded(row, status) !== (row.status === 'success')) {
        doubted.add(row)
        disagree(row, status)
      }
      // This node only needs more time.
      else if (status.blockNumber > finalNumber) agreed.delete(row)
    }
    return true
  }
  const haveAllAnswered = rows.length > 0 && (await doAllAgree(ctx, { chain, agrees: ask }))
  return { agreed: haveAllAnswered ? rows.filter((row) => agreed.has(row)) : [], doubted: [...doubted] }
}

export const isFinalForAll = (ctx: HasLog, chain: AskedChain, blockNumber: bigint): Promise<boolean> =>
  doAllAgree(ctx, { chain, agrees: async (opinion) => finalNumberOf(chain, await opinion.head()) >= blockNumber })

export const isNonceUsedForAll = (
  ctx: HasLog,
  chain: AskedChain,
  at: { readonly address: string; readonly nonce: number; readonly blockNumber: bigint },
): Promise<boolean> =>
  doAllAgree(ctx, { chain, agrees: async (opinion) => ((await opinion.transactionCountAt(at)) ?? 0) > at.nonce })

export const isUnknownToAll = (ctx: HasLog, chain: AskedChain, hashes: readonly Hex[]): Promise<boolean> =>
  doAllAgree(ctx, {
    chain,
    agrees: async (opinion) =>
      (await opinion.statuses(hashes.map((hash) => ({ hash, blockHash: null })))).every(
        ({ kind }) => kind === 'unknown',
      ),
  })
