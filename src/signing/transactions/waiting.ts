import type { HasDb, Tx } from '../../../db/client.ts'
import {
  findTransaction,
  type Locked,
  lockTransaction,
  lockTransactions,
  type TransactionRow,
  type WithAttempts,
} from '../../../db/queries/transactions.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network, TransactionStatus } from '../../../db/words.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasMetrics } from '../../platform/metrics/metrics.ts'
import type { HasTracer } from '../../platform/tracing/tracer.ts'
import { invalidInput } from '../schema.ts'
import { addBroadcastJob, recordObservation } from './record-observation.ts'

export const noSuchTransaction = (): AppError =>
  new AppError('transaction_not_found', 'There is no transaction with this id.')

/** @throws transaction_not_waiting if it is in a block. */
const notWaiting = (sentence: string): AppError => new AppError('transaction_not_waiting', sentence)

const requireWaiting = ({ status, errorCode, final, minedBlockNumber, minedBlockHash }: TransactionRow): void => {
  if (final) {
    const how = errorCode === null ? status : `${status} (${errorCode})`
    throw notWaiting(`The transaction is final: ${how}. Nothing can be done about it any more.`)
  }
  if (minedBlockHash !== null) {
    throw notWaiting(`The transaction is mined in block ${minedBlockNumber}: there is nothing to send.`)
  }
}

export const lockWaiting = async (tx: Tx, id: string): Promise<WithAttempts> => {
  const found = await lockTransaction(tx, id)
  if (found === null) throw noSuchTransaction()
  requireWaiting(found.transaction)
  return found
}

type Act = {
  readonly id: string
  readonly actor: string
  /** null: of any project, for operators. */
  readonly reach: Reach | null
  readonly remember?: Remember<ActedOn> | undefined
}

export type ActedOn = {
  readonly transactionId: string
  readonly network: Network
  readonly status: TransactionStatus
}

const actedOn = ({ id: transactionId, network, status }: TransactionRow): ActedOn => ({
  transactionId,
  network,
  status,
})

/** No caller locks what is beyond their reach. It reads no signed bytes: the console may not. */
const lockWithin = async (tx: Tx, { id, reach }: Act): Promise<Locked> => {
  if (reach !== null && (await findTransaction(tx, { ...reach, id })) === null) throw noSuchTransaction()
  // The caller may have written the id in capitals.
  const [found] = (await lockTransactions(tx, [id])).values()
  if (found === undefined) throw noSuchTransaction()
  requireWaiting(found.transaction)
  return found
}

/**
 * Chooses the cancel; nothing else is sent from then on. A rung that a node has may still be mined, and then counts.
 * @returns `isNew`: false if it was given up before.
 * @throws transaction_not_found, transaction_not_waiting, invalid_input for a mortal extrinsic.
 */
export const cancelTransaction = (
  ctx: HasDb & HasAudit & HasMetrics & HasTracer,
  input: Act,
): Promise<ActedOn & { readonly isNew: boolean }> =>
  ctx.db.transaction(async (tx) => {
    const { transaction, hashes } = await lockWithin(tx, input)
    const { id, projectId, network, rungs, chosen, validUntilBlock } = transaction
    const isNew = chosen !== rungs
    if (isNew && hashes[rungs] === undefined) {
      throw invalidInput(`It is mortal: it ends by itself after block ${validUntilBlock}.`)
    }
    if (isNew) {
      await recordObservation(ctx, tx, { transactionId: id, observation: { kind: 'cancel_requested' } })
      const { actor } = input
      const details = { network, transaction: id, hash: hashes[rungs] ?? '' }
      await ctx.audit.record(tx, { projectId, actor, action: 'transaction_cancelled', subject: id, details })
    }
    await input.remember?.(tx, actedOn(transaction))
    return { ...actedOn(transaction), isNew }
  })

/** Adds a job that sends the chosen attempt now. @throws transaction_not_found, transaction_not_waiting */
export const retryTransaction = (ctx: HasDb & HasAudit, input: Act): Promise<ActedOn> =>
  ctx.db.transaction(async (tx) => {
    const { transaction } = await lockWithin(tx, input)
    await addBroadcastJob(tx, transaction)
    const { id, projectId, network, chosen } = transaction
    const details = { network, transaction: id, attempt: String(chosen + 1) }
    await ctx.audit.record(tx, { projectId, actor: input.actor, action: 'transaction_retried', subject: id, details })
    await input.remember?.(tx, actedOn(transaction))
    return actedOn(transaction)
  })
