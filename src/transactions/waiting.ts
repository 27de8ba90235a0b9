import type { Tx } from '../../db/client.ts'
import { lockTransaction, type WithAttempts } from '../../db/queries/transactions.ts'
import { AppError } from '../errors.ts'

export const noSuchTransaction = (): AppError =>
  new AppError('transaction_not_found', 'There is no transaction with this id.')

/**
 * A transaction of any project that is in no block, and stays as it is until the database transaction
 * ends. @throws transaction_not_found, transaction_not_waiting for one that nothing can be done about any more.
 */
export const lockWaiting = async (tx: Tx, id: string): Promise<WithAttempts> => {
  const found = await lockTransaction(tx, id)
  if (found === null) throw noSuchTransaction()
  const { status, errorCode, final, minedBlockNumber, minedBlockHash } = found.transaction
  if (final) {
    const how = errorCode === null ? status : `${status} (${errorCode})`
    throw new AppError(
      'transaction_not_waiting',
      `The transaction is final: ${how}. Nothing can be done about it any more.`,
    )
  }
  if (minedBlockHash !== null) {
    throw new AppError(
      'transaction_not_waiting',
      `The transaction is mined in block ${minedBlockNumber}: nothing of it is to be sent.`,
    )
  }
  return found
}
