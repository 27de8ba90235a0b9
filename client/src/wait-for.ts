import { delay } from './call.ts'
import type { components } from './document.generated.ts'
import { StrongroomError, TransactionFailedError } from './errors.ts'
import type { Operations } from './operations.generated.ts'

export type TransactionStatus = components['schemas']['TransactionStatusById']

export type WaitOptions = {
  /** 5 minutes by default. */
  readonly timeoutMs?: number
  /** What to wait for: its block (the default), or only its hash, with which others can look it up. */
  readonly until?: 'success' | 'broadcast'
  readonly signal?: AbortSignal
  /** Is given each status as it is read. */
  readonly onStatus?: (transaction: TransactionStatus) => void
}

const TIMEOUT_MS = 300_000
const FIRST_POLL_MS = 200
const LONGEST_POLL_MS = 2_000

/** What a call answered, or the transaction's id. */
export type Submitted = string | { readonly transaction_id: string }

/**
 * Asks for a transaction's status until it is in a block.
 * @throws TransactionFailedError if it failed
 */
export const waitFor = async (
  operations: Pick<Operations, 'transactions'>,
  submitted: Submitted,
  { timeoutMs = TIMEOUT_MS, until = 'success', signal, onStatus }: WaitOptions = {},
): Promise<TransactionStatus> => {
  const id = typeof submitted === 'string' ? submitted : submitted.transaction_id
  const deadline = Date.now() + timeoutMs
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 1.5, LONGEST_POLL_MS)) {
    const transaction = await operations.transactions.statusById({ id }, signal === undefined ? {} : { signal })
    onStatus?.(transaction)
    if (transaction.status === 'failed') throw new TransactionFailedError(transaction)
    if (transaction.status === 'success') return transaction
    if (until === 'broadcast' && transaction.transaction_hash !== null) return transaction
    if (Date.now() + pollMs > deadline)
      throw new StrongroomError('wait_timed_out', `The transaction ${id} is still ${transaction.status}.`)
    await delay(pollMs, signal)
  }
}
