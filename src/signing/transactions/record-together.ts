// Requests of one signer that wait for their turn at the same time share one: one lock, one question to the vault, one
// commit. They must be of the same caller with the same developer secret for the same wallet: the vault has opened that
// wallet's key for each of them, and the first one's key signs for all. Each is refused by itself where its own coins
// or nonce do not suffice. If another process has answered one of them meanwhile, nothing is recorded, and each is
// done alone.

import { isDeepStrictEqual } from 'node:util'
import type { Tx } from '../../../db/client.ts'
import { transactionWithAttempts } from '../../../db/queries/transactions.ts'
import type { Chain } from '../../chains/chain.ts'
import { AnsweredMeanwhile } from '../../identity/idempotency/once.ts'
import { AppError } from '../../platform/errors.ts'
import type { OrderedTurn } from '../../platform/queue.ts'
import type { SigningCtx } from '../ctx.ts'
import { type Planned, planTogether, type Recording, type Submitted } from './plan.ts'
import { recordSubmitted, type SignedAttempt } from './recorded.ts'
import { signAndRecord } from './sign-and-record.ts'
import { dearestGasFee, signLadders } from './sign-ladder.ts'

/** The lock is held for all of them. */
const TOGETHER_MAX = 16

type Waiting = { readonly recording: Recording; readonly result: PromiseWithResolvers<Submitted> }

/** Signs and records a prepared request after the signer's earlier ones, with those behind it that are ready too. */
export const recordInTurn = async (ctx: SigningCtx, turn: OrderedTurn, recording: Recording): Promise<Submitted> => {
  const own: Waiting = { recording, result: Promise.withResolvers<Submitted>() }
  // It may be refused before it is waited for.
  own.result.promise.catch(() => {})
  const all = await turn.share({ work: own, belongs: isAlike, most: TOGETHER_MAX })
  if (all !== null) await recordAll(ctx, all)
  return own.result.promise
}

const isAlike = ({ recording: one }: Waiting, { recording: other }: Waiting): boolean =>
  one.wallet.id === other.wallet.id &&
  one.chain === other.chain &&
  one.actor === other.actor &&
  [one, other].every(
    ({ key, credentials: { developerSecret, userPin, userSecret }, sending, approvalId }) =>
      !key.byPolicy &&
      developerSecret !== undefined &&
      userPin === undefined &&
      userSecret === undefined &&
      sending.deployment === null &&
      approvalId === undefined,
  ) &&
  isDeepStrictEqual(one.credentials, other.credentials)

/** Nothing was recorded, because one was answered meanwhile; alone the others may be. */
class Apart extends Error {
  constructor(readonly reason: AnsweredMeanwhile) {
    super(reason.message)
  }
}

/** Settles each of them. */
const recordAll = async (ctx: SigningCtx, all: readonly Waiting[]): Promise<void> => {
  try {
    const outcomes = await recordTogether(
      ctx,
      all.map(({ recording }) => recording),
    )
    for (const [index, { result }] of all.entries()) {
      const outcome = outcomes[index]
      if (outcome instanceof AppError || outcome === undefined) result.reject(outcome)
      else result.resolve(outcome)
    }
  } catch (error) {
    if (error instanceof Apart && all.length > 1) for (const each of all) await recordAll(ctx, [each])
    else for (const { result } of all) result.reject(error instanceof Apart ? error.reason : error)
  }
}

type Plan = Awaited<ReturnType<typeof planTogether>>

/** @throws AppError if one alone is refused. */
const planOf = async (tx: Tx, recordings: readonly Recording[]): Promise<Plan> => {
  const plan = await planTogether(tx, recordings)
  const [sole, ...others] = plan
  if (sole instanceof AppError && others.length === 0) throw sole
  return plan
}

/** The transactions of each request that is not refused. */
const plannedOf = (plan: Plan): readonly (readonly Planned[])[] =>
  plan.map((each) => (each instanceof AppError ? [] : each))

const recordTogether = (
  ctx: SigningCtx,
  recordings: readonly Recording[],
): Promise<readonly (Submitted | AppError)[]> =>
  signAndRecord(ctx, {
    plan: (tx) => planOf(tx, recordings),
    sign: (plan) => signTogether(recordings, plan),
    write: async (tx, plan, signed) => {
      await writeTogether(ctx, tx, { recordings, plan, signed })
      return recordings.map(({ submitted }, index) => {
        const refusal = plan[index]
        return refusal instanceof AppError ? refusal : submitted
      })
    },
    recorded: async (tx) => {
      for (const { submitted } of recordings)
        if ((await transactionWithAttempts(tx, submitted.transactionId)) === null) return null
      return recordings.map(({ submitted }) => submitted)
    },
  })

const worstFee = (chain: Chain, planned: readonly Planned[]): bigint =>
  planned.reduce(
    (sum, { transaction, ladder }) => sum + transaction.prepared.surcharge + dearestGasFee(chain, ladder),
    0n,
  )

/** The credential is not available later, so everything that may ever be sent is signed now, by the first one's key. */
const signTogether = async (
  recordings: readonly Recording[],
  plan: Plan,
): Promise<readonly (readonly SignedAttempt[])[]> => {
  const [first] = recordings
  if (first === undefined) throw new Error('nothing to sign')
  const planned = plannedOf(plan)
  const { chain, key } = first
  const uses = recordings.flatMap(({ submitted, remember }, index) =>
    (planned[index] ?? []).map(({ id, ladder, rows, transaction: { kind } }) => ({
      action: 'transaction_submitted' as const,
      details: { transaction: id, kind },
      ladder,
      firstRung: 0,
      rows,
      answer: id === submitted.transactionId ? (remember?.answerOf?.(submitted) ?? null) : null,
    })),
  )
  if (uses.length === 0) return []
  return signLadders({ chain, key, fee: worstFee(chain, planned.flat()), uses })
}

const writeTogether = async (
  { metrics }: SigningCtx,
  tx: Tx,
  input: {
    readonly recordings: readonly Recording[]
    readonly plan: Plan
    readonly signed: readonly (readonly SignedAttempt[])[]
  },
): Promise<void> => {
  const { recordings, plan, signed } = input
  const planned = plannedOf(plan).flat()
  await recordSubmitted(
    tx,
    planned.map(({ rows }, index) => ({ rows, attempts: signed[index] ?? [] })),
  )
  tx.afterCommit(() => {
    for (const { transaction, rows } of planned)
      metrics.transactions.accepted.inc({ network: rows.row.network, kind: transaction.kind })
  })
  const done = recordings.filter((_, index) => !(plan[index] instanceof AppError))
  try {
    await Promise.all(done.map(({ remember, submitted }) => remember?.(tx, submitted)))
  } catch (error) {
    throw error instanceof AnsweredMeanwhile && recordings.length > 1 ? new Apart(error) : error
  }
}
