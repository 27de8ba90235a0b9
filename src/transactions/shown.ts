import type { TransactionResult } from '../http/schema.ts'
import type { SpedUp } from './speed-up.ts'
import type { Submitted } from './submit.ts'

/** What sign-and-send, mint, transfer and collections answer. */
export const shownSubmitted = (submitted: Submitted | SpedUp): TransactionResult => ({
  transaction_id: submitted.transactionId,
  network: submitted.network,
  status: submitted.status,
})
