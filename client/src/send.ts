// Sending for a dapp that gets one answer and can only press again: what it asked for once is done once.
//
// A request whose answer is lost is sent again with the same key. If it fails in the end, the key is kept: the same transaction,
// asked for again, is then the same one, and not a second payment. Under a key nothing
// is done twice, and a key under which nothing was done can be used again.

import { isLost, untilAnswered } from './answer.ts'
import { TransactionFailedError } from './errors.ts'
import { type EvmTransaction, type EvmWallet, signerFields, unsignedOf } from './evm-wallet.ts'
import { asRpcError } from './provider-error.ts'

/** For so long a request is sent again whose answer is lost. */
const SEND_MS = 60_000
/** The oldest ones are forgotten. */
const FAILED_MAX = 100

/**
 * @returns what sends a transaction and answers its hash. An error's `data` has the transaction's id, with which the app can wait
 * on; or, if it is not known whether there is one, the Idempotency-Key, with which the app can ask again.
 */
export const createSender = ({
  sendMs = SEND_MS,
  waitMs,
}: {
  readonly sendMs?: number
  readonly waitMs?: number
} = {}) => {
  /** The keys of requests that failed, which may have been done all the same. */
  const failed = new Map<string, string>()
  const keep = (same: string, key: string): void => {
    failed.set(same, key)
    const [oldest] = failed.keys()
    if (failed.size > FAILED_MAX && oldest !== undefined) failed.delete(oldest)
  }

  return async (wallet: EvmWallet, transaction: EvmTransaction): Promise<string | null> => {
    const { client, network, address } = wallet
    const unsigned_transaction = unsignedOf(transaction)
    const body = { ...(await signerFields(wallet)), unsigned_transaction }
    const same = JSON.stringify([network, address.toLowerCase(), unsigned_transaction])
    const idempotencyKey = failed.get(same) ?? crypto.randomUUID()
    // Two of the same at a time are two.
    failed.delete(same)
    let facts: Readonly<Record<string, string>> = { idempotency_key: idempotencyKey }
    try {
      const send = () => client.transactions.signAndSend(body, { idempotencyKey })
      const patience = { deadline: Date.now() + sendMs, isWaitedOut: isLost }
      const { transaction_id } = await untilAnswered(send, patience)
      facts = { transaction_id }
      const options = { until: 'broadcast', ...(waitMs === undefined ? {} : { timeoutMs: waitMs }) } as const
      return (await client.waitFor(transaction_id, options)).transaction_hash
    } catch (error) {
      if (!(error instanceof TransactionFailedError)) keep(same, idempotencyKey)
      throw asRpcError(error, facts)
    }
  }
}
