import type { components } from './document.generated.ts'

/** A stable word for programs: one of the service's, or what happened before an answer could be read. */
export type Code =
  | components['schemas']['ErrorCode']
  /** The service could not be reached, or the connection ended before the answer. */
  | 'connection_failed'
  /** Something else than the service answered, for instance a proxy. */
  | 'answer_unreadable'
  /** People must approve it first (`ApprovalRequiredError`). */
  | 'approval_required'
  /** A transaction failed (`TransactionFailedError`). */
  | 'transaction_failed'
  /** `waitFor` ended before the transaction did. */
  | 'wait_timed_out'
  /** The user came back from the login page without a login (`strongroom-client/session`). */
  | 'login_cancelled'
  /** The page was opened with a login that it did not begin: an attacker may have. */
  | 'login_unexpected'
  /** The browser keeps nothing for this page, which a login needs. */
  | 'storage_unavailable'

type Facts = {
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}

/** Every failure of a call. Programs compare `code`; the message is for people. */
export class StrongroomError extends Error {
  override readonly name: string = 'StrongroomError'
  readonly code: Code
  /** The HTTP status; undefined without an answer. */
  readonly status: number | undefined
  /** Tell it to the operator of the service: its log names it too. */
  readonly requestId: string | undefined
  /** After how many seconds to try again, if the service says so. */
  readonly retryAfterSeconds: number | undefined

  constructor(code: Code, message: string, facts: Facts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause })
    this.code = code
    this.status = facts.status
    this.requestId = facts.requestId
    this.retryAfterSeconds = facts.retryAfterSeconds
  }
}

/** Nothing was done yet: once people have approved it, make the same call with `approval_id`. */
export class ApprovalRequiredError extends StrongroomError {
  override readonly name = 'ApprovalRequiredError'
  readonly approvalId: string
  /** ISO 8601: it must be granted and used before. */
  readonly expiresAt: string

  constructor(waiting: components['schemas']['WaitingApproval'], facts: Facts = {}) {
    super('approval_required', `The approval ${waiting.approval_id} must be granted first.`, facts)
    this.approvalId = waiting.approval_id
    this.expiresAt = waiting.expires_at
  }
}

/** A transaction that was sent and failed; its `code` and `error` say why. */
export class TransactionFailedError extends StrongroomError {
  override readonly name = 'TransactionFailedError'
  readonly transaction: components['schemas']['TransactionStatusById']

  constructor(transaction: components['schemas']['TransactionStatusById']) {
    super('transaction_failed', transaction.error ?? `The transaction ${transaction.transaction_id} failed.`)
    this.transaction = transaction
  }
}
