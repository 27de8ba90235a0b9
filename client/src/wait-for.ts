import { delay, isPassing, TIMER_MAX_MS, untilAnswered } from './answer.ts'
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
  /**
   * Is given what keeps the status from being read for now, for instance that the service is away. The wait goes on.
   */
  readonly onInterruption?: (error: StrongroomError) => void
}

const TIMEOUT_MS = 300_000
const FIRST_POLL_MS = 200
const LONGEST_POLL_MS = 2_000
/** A status that is being read when the time is over may still come for so long. */
const LAST_LOOK_MS = 2_000

/** What a call answered, or the transaction's id. */
export type Submitted = string | { readonly transaction_id: string }

/**
 * Asks for a transaction's status until it is in a block. What passes by itself is waited out: a service that is away,
 * an answer that is lost.
 * @throws TransactionFailedError if it failed
 * @throws StrongroomError with the code `wait_timed_out` at the end of its time; its cause is why the status was not
 * read
 */
export const waitFor = async (
  operations: Pick<Operations, 'transactions'>,
  submitted: Submitted,
  { timeoutMs = TIMEOUT_MS, until = 'success', signal, onStatus, onInterruption }: WaitOptions = {},
): Promise<TransactionStatus> => {
  const id = typeof submitted === 'string' ? submitted : submitted.transaction_id
  const deadline = Date.now() + timeoutMs
  const end = AbortSignal.timeout(Math.min(timeoutMs + LAST_LOOK_MS, TIMER_MAX_MS))
  const either = signal === undefined ? end : AbortSignal.any([signal, end])
  const read = () => operations.transactions.statusById({ id }, { signal: either })
  try {
    for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 1.5, LONGEST_POLL_MS)) {
      const transaction = await untilAnswered(read, { deadline, signal: either, onFailure: onInterruption })
      onStatus?.(transaction)
      if (transaction.status === 'failed') throw new TransactionFailedError(transaction)
      if (transaction.status === 'success') return transaction
      if (until === 'broadcast' && transaction.transaction_hash !== null) return transaction
      if (Date.now() + pollMs > deadline)
        throw new StrongroomError('wait_timed_out', `The transaction ${id} is still ${transaction.status}.`)
      await delay(pollMs, either)
    }
  } catch (error) {
    signal?.throwIfAborted()
    if (!isPassing(error) && error !== end.reason) throw error
    const message = `The status of the transaction ${id} could not be read in time.`
    throw new StrongroomError('wait_timed_out', message, { cause: error })
  }
}
