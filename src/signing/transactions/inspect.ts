import { setTimeout as sleep } from 'node:timers/promises'
import type { HasDb } from '../../../db/client.ts'
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
} from '../../../db/queries/overview.ts'
import { transactionWithAttempts } from '../../../db/queries/transactions.ts'
import type { AccountState, Chain, Hex, Offer } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import { noSuchTransaction } from './waiting.ts'

const JOBS_SHOWN = 10

/** `offer`: null if the bytes of the attempt were not read. */
export type InspectedAttempt = AttemptOverview & { readonly offer: Offer | null }

export type NodeView =
  | { readonly kind: 'unavailable'; readonly sentence: string }
  | {
      readonly kind: 'answered'
      readonly accountState: AccountState
      /** Base units that the signer lacks for the chosen attempt; null if its bytes were not read. */
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

type InspectCtx = HasDb & HasChains

/** What the attempts offer by their signed bytes, by their hashes: for a process that may read the bytes. */
export const offersInBytes = async ({ db, chains }: InspectCtx, id: string): Promise<ReadonlyMap<string, Offer>> => {
  const found = await transactionWithAttempts(db, id)
  const chain = chains.all.find(({ network }) => network === found?.transaction.network)
  if (found === null || chain === undefined) return new Map()
  const { worstCost: recordedCost } = found.transaction
  return new Map(
    found.attempts.flatMap(({ hash, raw }) =>
      raw === null ? [] : [[hash, chain.offerOf({ raw: raw as Hex, recordedCost })] as const],
    ),
  )
}

/**
 * @param options.nodeMaxMs how long to wait for the node; by default as long as it may take.
 * @param options.readOffers `offersInBytes`, for a process that may read bytes.
 */
export const inspectTransaction = async (
  ctx: InspectCtx,
  key: { readonly id: string } | { readonly hash: string },
  options: { readonly nodeMaxMs?: number; readonly readOffers?: typeof offersInBytes } = {},
): Promise<Inspection> => {
  const transaction = await findTransactionOverview(ctx.db, key)
  if (transaction === null) throw noSuchTransaction()
  const { id: transactionId, network, signerAddress: address } = transaction
  const [overviews, offers, signer, jobs, acts] = await Promise.all([
    listAttempts(ctx.db, transactionId),
    options.readOffers?.(ctx, transactionId),
    findSigner(ctx.db, { network, address }),
    listJobs(ctx.db, { transactionId, limit: JOBS_SHOWN }),
    listActs(ctx.db, transactionId),
  ])
  const chain = ctx.chains.all.find((each) => each.network === network) ?? null
  const attempts = overviews.map((overview) => ({ ...overview, offer: offers?.get(overview.hash) ?? null }))
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
    const { offer = null, maxFeePerGas = null } = attempts.find((attempt) => attempt.chosen) ?? {}
    const { balance, nextBaseFeePerGas } = accountState
    const lacks = offer && (offer.worstCost > balance ? offer.worstCost - balance : 0n)
    const feeBelowBaseFee =
      maxFeePerGas === null || nextBaseFeePerGas === null ? null : maxFeePerGas < nextBaseFeePerGas
    return { kind: 'answered', accountState, lacks, feeBelowBaseFee }
  } catch (error) {
    return { kind: 'unavailable', sentence: error instanceof Error ? error.message : 'The node did not answer.' }
  }
}
