import { areDeploymentsOver } from '../../db/queries/contract-wallets.ts'
import { readCursor } from '../../db/queries/cursors.ts'
import {
  type AttemptRow,
  noteAttemptError,
  transactionWithAttempts,
  type WithAttempts,
} from '../../db/queries/transactions.ts'
import { NONCE_USED } from '../../db/words.ts'
import type { Chain, Hex } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { unreachable } from '../errors.ts'
import { displayAmount, nativeToken } from '../tokens/token.ts'
import type { News } from './learn.ts'

/** Whether the job is done, or should be tried again after a while because nothing certain is known. */
type BroadcastResult = 'done' | 'try_again'

const isRaw = (text: string | null): text is Hex => text?.startsWith('0x') === true

/**
 * Sends the chosen attempt's recorded bytes. Sending is idempotent, so no lock is held; an ambiguous answer leaves
 * everything as it is, and neither frees a nonce nor fails an intent.
 */
export const broadcastTransaction = async (ctx: WorkerCtx, transactionId: string): Promise<BroadcastResult> => {
  const found = await transactionWithAttempts(ctx.db, transactionId)
  if (found === null || found.transaction.minedBlockHash !== null || found.transaction.final) return 'done'
  const attempt = found.attempts[found.transaction.chosen]
  if (attempt === undefined || !isRaw(attempt.raw)) return 'done'
  const chain = ctx.chains.withNode(found.transaction.network)
  if (await isHeldBack(ctx, { chain, found, attempt })) return 'try_again'
  if (await isRevived(ctx, { chain, found, attempt })) return 'done'
  return heed(ctx, { chain, found, attempt, outcome: await chain.broadcast(attempt.raw) })
}

/**
 * A cancel that was offered before and is in no block may be in no pool either: it could not be paid, or was forgotten. Then
 * a rung that the signer can pay, at what blocks ask for now, is offered first: where a node takes it, the transaction is
 * given up no longer. A pool that has the cancel refuses it. What an operator gave up stays given up.
 */
const isRevived = async (
  ctx: WorkerCtx,
  { chain, found, attempt }: Pick<Heard, 'chain' | 'found' | 'attempt'>,
): Promise<boolean> => {
  const { signerAddress, givenUp, rungs, worstCost: recordedCost } = found.transaction
  if (attempt.kind !== 'cancel' || givenUp !== 'expired') return false
  if (attempt.broadcastAt === null && attempt.lastError === null) return false
  const standing = await chain.standing(signerAddress).catch(() => null)
  if (standing === null) return false
  const { balance, nextBaseFeePerGas } = standing
  const rung = found.attempts.slice(0, rungs).findLast(({ raw }) => {
    if (!isRaw(raw)) return false
    const { maxFeePerGas, worstCost } = chain.offerOf({ raw, recordedCost })
    return worstCost <= balance && (maxFeePerGas ?? 0n) >= (nextBaseFeePerGas ?? 0n)
  })
  if (rung === undefined || !isRaw(rung.raw)) return false
  if ((await chain.broadcast(rung.raw)).kind !== 'accepted') return false
  await tell(ctx, { found }, { kind: 'revived', hash: rung.hash, cancelHash: attempt.hash })
  return true
}

/**
 * What a contract wallet is to execute waits until there is code at its address, whoever put it there: before, it would be
 * mined and do nothing. Where the deployment failed for good it is given up. The cancel goes to nobody's code.
 */
const isHeldBack = async (
  ctx: WorkerCtx,
  { chain, found, attempt }: Pick<Heard, 'chain' | 'found' | 'attempt'>,
): Promise<boolean> => {
  const { id: transactionId, network, kind, contractWallet } = found.transaction
  if (contractWallet === null || kind === 'deployment' || attempt.kind === 'cancel') return false
  if (await chain.contractWallets?.isDeployed({ address: contractWallet })) return false
  await noteAttemptError(ctx.db, { network, hash: attempt.hash, error: 'waits for its contract wallet to be deployed' })
  if (await isNeverDeployed(ctx, { chain, contractWallet, nonce: found.transaction.nonce })) {
    await ctx.learn({ transactionId, news: { kind: 'undeployed' } })
  }
  return true
}

/** As of a block that the tracker took in, which is above that of the deployment: a node that lags behind proves nothing. */
const isNeverDeployed = async (
  ctx: WorkerCtx,
  { chain, contractWallet, nonce }: { readonly chain: Chain; readonly contractWallet: string; readonly nonce: number },
): Promise<boolean> => {
  const { network, contractWallets } = chain
  if (!(await areDeploymentsOver(ctx.db, { network, contractWallet, nonce }))) return false
  const cursor = await readCursor(ctx.db, { network, purpose: 'track' })
  if (cursor === null || contractWallets === null) return false
  return !(await contractWallets.isDeployed({ address: contractWallet, blockNumber: cursor.number }))
}

type Heard = {
  readonly chain: Chain
  readonly found: WithAttempts
  readonly attempt: AttemptRow
  readonly outcome: Awaited<ReturnType<Chain['broadcast']>>
}

const tell = (ctx: WorkerCtx, { found }: Pick<Heard, 'found'>, news: News): Promise<void> =>
  ctx.learn({ transactionId: found.transaction.id, news })

const heed = async (ctx: WorkerCtx, heard: Heard): Promise<BroadcastResult> => {
  const { found, attempt, outcome } = heard
  const { network, id: transactionId } = found.transaction
  switch (outcome.kind) {
    case 'accepted':
      await tell(ctx, heard, { kind: 'accepted', hash: attempt.hash })
      return 'done'
    case 'nonce_too_low':
      return heedUsedNonce(ctx, heard)
    case 'nonce_too_high':
      await noteAttemptError(ctx.db, { network, hash: attempt.hash, error: 'waits for a lower nonce' })
      return 'try_again'
    case 'underpriced':
    case 'insufficient_funds':
    case 'rejected':
    case 'unknown':
      ctx.log.warn({ network, transactionId, outcome: outcome.kind }, 'the node did not take a transaction')
      await noteAttemptError(ctx.db, {
        network,
        hash: attempt.hash,
        error: `${outcome.kind}: ${outcome.kind === 'insufficient_funds' ? await lackOf(heard, outcome) : outcome.reason}`,
      })
      // By the clock only what a node took climbs.
      if (outcome.kind === 'underpriced') await tell(ctx, heard, { kind: 'climb_due' })
      if (outcome.kind === 'insufficient_funds') await offerLower(ctx, heard)
      return 'try_again'
    default:
      return unreachable(outcome)
  }
}

/** Who lacks how much: go-ethereum says it itself, others are asked what there is. */
const lackOf = async ({ chain, found, attempt }: Heard, { reason }: { readonly reason: string }): Promise<string> => {
  const { signerAddress, worstCost: recordedCost } = found.transaction
  if (!isRaw(attempt.raw) || /overshot [0-9]/.test(reason)) return reason
  const standing = await chain.standing(signerAddress).catch(() => null)
  const { worstCost } = chain.offerOf({ raw: attempt.raw, recordedCost })
  const missing = standing === null ? 0n : worstCost - standing.balance
  if (missing <= 0n) return reason
  const { decimals, symbol } = nativeToken(chain)
  return `${signerAddress} lacks ${displayAmount(missing, decimals)} ${symbol} (${reason})`
}

/**
 * A rung that cannot be paid is skipped: until it can, the highest one below it that can is kept in the node's pool, which
 * may have lost it. Nothing is sent beside the cancel.
 */
const offerLower = async (ctx: WorkerCtx, heard: Heard): Promise<void> => {
  const { chain, found } = heard
  const { chosen, rungs } = found.transaction
  if (chosen === rungs) return
  for (const { hash, raw } of found.attempts.slice(0, chosen).toReversed()) {
    if (!isRaw(raw)) return
    const outcome = await chain.broadcast(raw)
    if (outcome.kind === 'accepted') await tell(ctx, heard, { kind: 'accepted', hash })
    if (outcome.kind !== 'insufficient_funds') return
  }
}

/** The nonce is mined: by our own bytes (the tracker tells), or by a stranger's (the reconciler decides when that is final). */
const heedUsedNonce = async (ctx: WorkerCtx, heard: Heard): Promise<BroadcastResult> => {
  const { chain, found, attempt } = heard
  for (const { hash } of found.attempts) {
    const status = await chain.status(hash as Hex)
    if (status.kind === 'unknown') continue
    await tell(ctx, heard, { kind: 'accepted', hash })
    return 'done'
  }
  const { network } = found.transaction
  await noteAttemptError(ctx.db, { network, hash: attempt.hash, error: NONCE_USED })
  return 'done'
}
