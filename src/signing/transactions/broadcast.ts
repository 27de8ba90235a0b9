import type { HasDb } from '../../../db/client.ts'
import { type AttemptRow, recordAttemptError, writeRefusal } from '../../../db/queries/attempts.ts'
import { areDeploymentsOver } from '../../../db/queries/contract-wallets.ts'
import { readCursor } from '../../../db/queries/cursors.ts'
import { transactionsWithAttempts, type WithAttempts } from '../../../db/queries/transactions.ts'
import { NONCE_USED } from '../../../db/words.ts'
import type { Chain, Hex } from '../../chains/chain.ts'
import { isHex } from '../../chains/intent.ts'
import { unreachable } from '../../platform/errors.ts'
import { createBatcher } from '../../platform/queue.ts'
import { traceBroadcast } from '../../platform/tracing/transactions.ts'
import type { TrackingCtx } from '../ctx.ts'
import { coinAmount } from '../token.ts'
import type { Observation } from './record-observation.ts'

export type HasTransactionReader = { readonly readTransaction: (id: string) => Promise<WithAttempts | null> }

const READ_TOGETHER_MAX = 100

/** Reads what is asked for at the same time together. */
export const createTransactionReader = ({ db }: HasDb): HasTransactionReader['readTransaction'] => {
  const run = (ids: readonly string[]) => transactionsWithAttempts(db, ids)
  const read = createBatcher({ sizeMax: READ_TOGETHER_MAX, run })
  return async (id) => (await read(id)).get(id) ?? null
}

/** `try_again`: nothing certain is known, so the job should run again later. */
type BroadcastResult = 'done' | 'try_again'

/** Takes no lock, as sending is idempotent. An ambiguous answer neither frees the nonce nor fails the transaction. */
export const broadcastTransaction = async (ctx: TrackingCtx, transactionId: string): Promise<BroadcastResult> => {
  const found = await ctx.readTransaction(transactionId)
  if (found === null || found.transaction.minedBlockHash !== null || found.transaction.final) return 'done'
  const attempt = found.attempts[found.transaction.chosen]
  if (attempt === undefined || !isHex(attempt.raw)) return 'done'
  const { raw } = attempt
  return traceBroadcast(ctx.tracer, found.transaction, () => sendChosen(ctx, { found, attempt, raw }))
}

const sendChosen = async (
  ctx: TrackingCtx,
  { found, attempt, raw }: Pick<Broadcast, 'found' | 'attempt'> & { readonly raw: Hex },
): Promise<BroadcastResult> => {
  const chain = ctx.chains.withNode(found.transaction.network)
  if (await waitsForDeployment(ctx, { chain, found, attempt })) return 'try_again'
  if (await resumeWithRung(ctx, { chain, found, attempt })) return 'done'
  return handleOutcome(ctx, { chain, found, attempt, outcome: await chain.broadcast(raw) })
}

/**
 * A cancel that was sent may be in no pool: the signer could not pay it, or the pool dropped it. So the highest rung
 * that the signer can pay is tried first, which a pool with the cancel refuses. What an operator gave up stays given
 * up.
 */
const resumeWithRung = async (ctx: TrackingCtx, { chain, found, attempt }: Chosen): Promise<boolean> => {
  const { signerAddress, givenUp, rungs, worstCost: recordedCost } = found.transaction
  if (attempt.kind !== 'cancel' || givenUp !== 'expired') return false
  if (attempt.broadcastAt === null && attempt.lastError === null) return false
  const accountState = await chain.accountState(signerAddress).catch(() => null)
  if (accountState === null) return false
  const { balance, nextBaseFeePerGas } = accountState
  const rung = found.attempts.slice(0, rungs).findLast(({ raw }) => {
    if (!isHex(raw)) return false
    const { maxFeePerGas, worstCost } = chain.offerOf({ raw, recordedCost })
    return worstCost <= balance && (maxFeePerGas ?? 0n) >= (nextBaseFeePerGas ?? 0n)
  })
  if (rung === undefined || !isHex(rung.raw)) return false
  if ((await chain.broadcast(rung.raw)).kind !== 'accepted') return false
  await record(ctx, { found }, { kind: 'resumed', hash: rung.hash, cancelHash: attempt.hash })
  return true
}

/**
 * An execution waits until its contract wallet has code: without code it would be mined and do nothing. If the
 * deployment failed for good, the execution is given up. The cancel calls no code and never waits.
 */
const waitsForDeployment = async (ctx: TrackingCtx, { chain, found, attempt }: Chosen): Promise<boolean> => {
  const { id: transactionId, kind, contractWallet } = found.transaction
  if (contractWallet === null || kind === 'deployment' || attempt.kind === 'cancel') return false
  if (await chain.contractWallets?.isDeployed({ address: contractWallet })) return false
  await recordAttemptError(ctx.db, { ...attempt, error: 'waits for its contract wallet to be deployed' })
  if (await willNeverBeDeployed(ctx, { chain, contractWallet, nonce: found.transaction.nonce })) {
    await ctx.recordObservation({ transactionId, observation: { kind: 'wallet_not_deployed' } })
  }
  return true
}

/** Asks as of the tracker's block, which is above the deployment: a node that lags behind proves nothing. */
const willNeverBeDeployed = async (
  ctx: TrackingCtx,
  { chain, contractWallet, nonce }: { readonly chain: Chain; readonly contractWallet: string; readonly nonce: number },
): Promise<boolean> => {
  const { network, contractWallets } = chain
  if (!(await areDeploymentsOver(ctx.db, { network, contractWallet, nonce }))) return false
  const cursor = await readCursor(ctx.db, { network, purpose: 'track' })
  if (cursor === null || contractWallets === null) return false
  return !(await contractWallets.isDeployed({ address: contractWallet, blockNumber: cursor.number }))
}

type Chosen = { readonly chain: Chain; readonly found: WithAttempts; readonly attempt: AttemptRow }

type Broadcast = Chosen & { readonly outcome: Awaited<ReturnType<Chain['broadcast']>> }

const record = (ctx: TrackingCtx, { found }: Pick<Broadcast, 'found'>, observation: Observation): Promise<void> =>
  ctx.recordObservation({ transactionId: found.transaction.id, observation })

const handleOutcome = async (ctx: TrackingCtx, broadcast: Broadcast): Promise<BroadcastResult> => {
  const { found, attempt, outcome } = broadcast
  const { network, id: transactionId } = found.transaction
  switch (outcome.kind) {
    case 'accepted':
      await record(ctx, broadcast, { kind: 'accepted', hash: attempt.hash })
      return 'done'
    case 'nonce_too_low':
      return handleUsedNonce(ctx, broadcast)
    case 'nonce_too_high':
      await recordAttemptError(ctx.db, { ...attempt, error: 'waits for a lower nonce' })
      return 'try_again'
    case 'underpriced':
    case 'insufficient_funds':
    case 'rejected':
    case 'unknown':
      ctx.log.warn({ network, transactionId, outcome: outcome.kind }, 'the node did not take a transaction')
      await recordAttemptError(ctx.db, { ...attempt, error: await describeError(broadcast, outcome) })
      // The clock raises only the fee of what a node has accepted.
      if (outcome.kind === 'underpriced') await record(ctx, broadcast, { kind: 'underpriced' })
      if (outcome.kind === 'insufficient_funds') await sendLowerRung(ctx, broadcast)
      return 'try_again'
    default:
      return unreachable(outcome)
  }
}

const describeError = async (
  broadcast: Broadcast,
  outcome: Extract<Broadcast['outcome'], { readonly reason: string }>,
) => {
  if (outcome.kind === 'rejected') return writeRefusal(outcome)
  const reason = outcome.kind === 'insufficient_funds' ? await describeLack(broadcast, outcome) : outcome.reason
  return `${outcome.kind}: ${reason}`
}

/** Which account lacks how much. go-ethereum says it; for other nodes it is computed from the balance. */
const describeLack = async ({ chain, found, attempt }: Broadcast, { reason }: { readonly reason: string }) => {
  const { signerAddress, worstCost: recordedCost } = found.transaction
  if (!isHex(attempt.raw) || /overshot [0-9]/.test(reason)) return reason
  const accountState = await chain.accountState(signerAddress).catch(() => null)
  const { worstCost } = chain.offerOf({ raw: attempt.raw, recordedCost })
  const missing = accountState === null ? 0n : worstCost - accountState.balance
  if (missing <= 0n) return reason
  return `${signerAddress} lacks ${coinAmount(chain, missing)} (${reason})`
}

/** Keeps in the pool the highest rung below the chosen one that the signer can pay. Nothing goes beside the cancel. */
const sendLowerRung = async (ctx: TrackingCtx, broadcast: Broadcast): Promise<void> => {
  const { chain, found } = broadcast
  const { chosen, rungs } = found.transaction
  if (chosen === rungs) return
  for (const { hash, raw } of found.attempts.slice(0, chosen).toReversed()) {
    if (!isHex(raw)) return
    const outcome = await chain.broadcast(raw)
    if (outcome.kind === 'accepted') await record(ctx, broadcast, { kind: 'accepted', hash })
    if (outcome.kind !== 'insufficient_funds') return
  }
}

/** One of our attempts used the nonce (the tracker finds it), or another transaction (the reconciler decides). */
const handleUsedNonce = async (ctx: TrackingCtx, broadcast: Broadcast): Promise<BroadcastResult> => {
  const { chain, found, attempt } = broadcast
  for (const { hash } of found.attempts) {
    const status = await chain.status(hash as Hex)
    if (status.kind === 'unknown') continue
    await record(ctx, broadcast, { kind: 'accepted', hash })
    return 'done'
  }
  await recordAttemptError(ctx.db, { ...attempt, error: NONCE_USED })
  return 'done'
}
