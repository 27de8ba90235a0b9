import { setTimeout as sleep } from 'node:timers/promises'
import {
  type AttemptOverview,
  findSigner,
  findTransactionOverview,
  type JobOverview,
  listActs,
  listAttempts,
  listJobs,
  type SignerOverview,
  type TransactionOverview,
} from '../../db/queries/overview.ts'
import { transactionWithAttempts } from '../../db/queries/transactions.ts'
import type { AccountState, Chain, Hex, Offer } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { noSuchTransaction } from './waiting.ts'

const JOBS_SHOWN = 10

/** An attempt, and its fees as long as its bytes are kept. */
export type InspectedAttempt = AttemptOverview & {
  readonly offer: Offer | null
}

/** The signer's state on the node, and what it means for the chosen attempt. */
export type NodeView =
  | { readonly kind: 'unavailable'; readonly sentence: string }
  | {
      readonly kind: 'answered'
      readonly accountState: AccountState
      /** Base units that the signer lacks for the chosen attempt; null if its bytes are erased. */
      readonly lacks: bigint | null
      /** null on networks without a base fee. */
      readonly feeBelowBaseFee: boolean | null
    }

export type Inspection = {
  readonly transaction: TransactionOverview
  readonly attempts: readonly InspectedAttempt[]
  readonly signer: SignerOverview | null
  readonly jobs: readonly JobOverview[]
  readonly acts: Awaited<ReturnType<typeof listActs>>
  /** null for a final transaction. */
  readonly node: NodeView | null
}

type InspectCtx = Pick<WorkerCtx, 'db' | 'chains'>

/**
 * For operators: all about a transaction of any project but its signed bytes.
 * @param options.nodeMaxMs how long to wait for the node; by default as long as it may take.
 */
export const inspectTransaction = async (
  ctx: InspectCtx,
  key: { readonly id: string } | { readonly hash: string },
  options: { readonly nodeMaxMs?: number } = {},
): Promise<Inspection> => {
  const transaction = await findTransactionOverview(ctx.db, key)
  if (transaction === null) throw noSuchTransaction()
  const { id: transactionId, network, signerAddress: address } = transaction
  const [overviews, raws, signer, jobs, acts] = await Promise.all([
    listAttempts(ctx.db, transactionId),
    transactionWithAttempts(ctx.db, transactionId),
    findSigner(ctx.db, { network, address }),
    listJobs(ctx.db, { transactionId, limit: JOBS_SHOWN }),
    listActs(ctx.db, transactionId),
  ])
  const chain = ctx.chains.all.find((each) => each.network === network) ?? null
  const attempts = overviews.map((overview) => {
    const raw = raws?.attempts.find(({ hash }) => hash === overview.hash)?.raw ?? null
    const recordedCost = raws?.transaction.worstCost ?? 0n
    return {
      ...overview,
      offer: chain === null || raw === null ? null : chain.offerOf({ raw: raw as Hex, recordedCost }),
    }
  })
  const node = transaction.final ? null : await inTime(askNode({ chain, transaction, attempts }), options.nodeMaxMs)
  return { transaction, attempts, signer, jobs, acts, node }
}

const inTime = (answer: Promise<NodeView>, nodeMaxMs: number | undefined): Promise<NodeView> => {
  if (nodeMaxMs === undefined) return answer
  const late = { kind: 'unavailable', sentence: `The node did not answer within ${nodeMaxMs} ms.` } as const
  return Promise.race([answer, sleep(nodeMaxMs, late, { ref: false })])
}

const askNode = async (input: {
  readonly chain: Chain | null
  readonly transaction: TransactionOverview
  readonly attempts: readonly InspectedAttempt[]
}): Promise<NodeView> => {
  const { chain, transaction, attempts } = input
  if (chain === null) return { kind: 'unavailable', sentence: `No node of ${transaction.network} is configured here.` }
  try {
    const accountState = await chain.accountState(transaction.signerAddress)
    const offer = attempts.find((attempt) => attempt.chosen)?.offer ?? null
    if (offer === null) return { kind: 'answered', accountState, lacks: null, feeBelowBaseFee: null }
    const { maxFeePerGas, worstCost } = offer
    const { nextBaseFeePerGas } = accountState
    const lacks = worstCost > accountState.balance ? worstCost - accountState.balance : 0n
    const feeBelowBaseFee =
      maxFeePerGas === null || nextBaseFeePerGas === null ? null : maxFeePerGas < nextBaseFeePerGas
    return { kind: 'answered', accountState, lacks, feeBelowBaseFee }
  } catch (error) {
    return { kind: 'unavailable', sentence: error instanceof Error ? error.message : 'The node did not answer.' }
  }
}
