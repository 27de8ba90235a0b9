// Sending for a dapp that gets one answer and can only press again: what it asked for once is done once.
//
// A request whose answer is lost is sent again with the same key. If it fails in the end, it is kept with its key: the
// same transaction, asked for again, is then the same request, and not a second payment. Under a key nothing is done
// twice, and a key under which nothing was done can be used again.

import { isLost, untilAnswered } from './answer.ts'
import { StrongroomError, TransactionFailedError } from './errors.ts'
import { type EvmTransaction, type EvmWallet, signerFields, unsignedOf } from './evm-wallet.ts'
import { asRpcError } from './provider-error.ts'

/** For so long a request is sent again whose answer is lost. */
const SEND_MS = 60_000
const FAILED_MAX = 100

/**
 * Nothing was done: the service judges a transaction after it has looked its key up. Another gas limit may be accepted.
 */
const isJudged = (error: unknown): boolean =>
  error instanceof TransactionFailedError ||
  (error instanceof StrongroomError && (error.status === 400 || error.code === 'policy_denied'))

/**
 * Requests that failed, which may have been done all the same: asked for again, each is the same request. The oldest
 * are forgotten.
 */
export const createFailedRequests = <Request>() => {
  const failed = new Map<string, Request>()
  return {
    /** Two of the same at a time are two. */
    take: (same: string): Request | undefined => {
      const request = failed.get(same)
      failed.delete(same)
      return request
    },
    keep: (same: string, { request, error }: { readonly request: Request; readonly error: unknown }): void => {
      if (isJudged(error)) return
      failed.set(same, request)
      const [oldest] = failed.keys()
      if (failed.size > FAILED_MAX && oldest !== undefined) failed.delete(oldest)
    },
  }
}

/** Sends until the answer is there; what is sent must be the same each time. */
export const sendOnce = <Sent>(
  send: (options: { readonly idempotencyKey: string }) => Promise<Sent>,
  {
    key = crypto.randomUUID(),
    sendMs = SEND_MS,
  }: { readonly key?: string | undefined; readonly sendMs?: number | undefined } = {},
): Promise<Sent> =>
  untilAnswered(() => send({ idempotencyKey: key }), { deadline: Date.now() + sendMs, isWaitedOut: isLost })

type Request = { readonly unsigned_transaction: ReturnType<typeof unsignedOf>; readonly idempotencyKey: string }

/**
 * @returns what sends a transaction and answers its hash. An error's `data` has the transaction's id, with which the
 * app can wait on; or, if it is not known whether there is one, the Idempotency-Key, with which the app can ask again.
 */
export const createSender = ({
  sendMs = SEND_MS,
  waitMs,
}: {
  readonly sendMs?: number
  readonly waitMs?: number
} = {}) => {
  const failed = createFailedRequests<Request>()

  return async (wallet: EvmWallet, transaction: EvmTransaction): Promise<string | null> => {
    const { client, network, address } = wallet
    const asked = unsignedOf(transaction)
    const fields = await signerFields(wallet)
    // A library may estimate other gas the next time.
    const same = JSON.stringify([network, address, asked.to, asked.value, asked.input, asked.nonce]).toLowerCase()
    const request = failed.take(same) ?? { unsigned_transaction: asked, idempotencyKey: crypto.randomUUID() }
    const { unsigned_transaction, idempotencyKey } = request
    let sent: { readonly transaction_id: string } | null = null
    try {
      const body = { ...fields, unsigned_transaction }
      const { transaction_id } = await sendOnce((options) => client.transactions.signAndSend(body, options), {
        key: idempotencyKey,
        sendMs,
      })
      sent = { transaction_id }
      const options = { until: 'broadcast', ...(waitMs === undefined ? {} : { timeoutMs: waitMs }) } as const
      return (await client.waitFor(transaction_id, options)).transaction_hash
    } catch (error) {
      failed.keep(same, { request, error })
      if (sent === null && !isLost(error)) throw error
      throw asRpcError(error, sent ?? { idempotency_key: idempotencyKey })
    }
  }
}
