import type { SecurityEventKind } from '../../db/words.ts'

/**
 * All error codes that callers can see, with their HTTP status. Codes are part of the API: clients compare them, so
 * they are never renamed. src/api/openapi/error-words.json says what each means and what to do about it.
 */
export const ERROR_STATUS = {
  invalid_input: 400,
  invalid_key: 400,
  address_invalid: 400,
  network_mismatch: 400,
  network_required: 400,
  page_too_deep: 400,
  project_required: 400,
  credential_required: 400,
  credential_ambiguous: 400,
  token_source_unsupported: 400,
  passkey_domain_required: 400,
  pin_obvious: 400,
  execution_reverted: 400,
  balance_insufficient: 400,
  nonce_too_low: 400,
  nonce_gap: 400,
  fee_too_low: 400,
  mint_unsupported: 400,
  mint_unauthorized: 400,
  mint_requires_value: 400,
  batch_unsupported: 400,
  unauthorized: 401,
  project_unknown: 401,
  login_failed: 401,
  session_ended: 401,
  project_mismatch: 403,
  scope_required: 403,
  user_session_required: 403,
  fresh_login_required: 403,
  anonymous_login_off: 403,
  origin_not_allowed: 403,
  project_not_activated: 403,
  wallet_forbidden: 403,
  INVALID_SECRET: 403,
  TOO_MANY_FAILED_ATTEMPTS: 403,
  frozen: 403,
  policy_denied: 403,
  under_policies: 403,
  delegate_not_allowed: 403,
  not_found: 404,
  transaction_not_found: 404,
  method_not_allowed: 405,
  wallet_exists: 409,
  nonce_conflict: 409,
  transaction_not_waiting: 409,
  credential_changed: 409,
  approval_mismatch: 409,
  approval_ended: 409,
  contract_wallet_changed: 409,
  repeat_refused: 409,
  passkey_exists: 409,
  email_exists: 409,
  email_taken: 409,
  challenge_expired: 409,
  challenge_completed: 409,
  idempotency_mismatch: 409,
  events_gone: 410,
  body_too_large: 413,
  content_type_unsupported: 415,
  content_encoding_unsupported: 415,
  rate_limited: 429,
  // No client receives it. It appears in logs and metrics, as nginx's 499.
  body_incomplete: 499,
  internal: 500,
  not_implemented: 501,
  node_unavailable: 503,
  wrong_chain: 503,
  fee_ceiling_reached: 503,
  metadata_untrusted: 503,
  busy: 503,
  unavailable: 503,
} as const satisfies Record<string, number>

export type ErrorCode = keyof typeof ERROR_STATUS

/** What an operator learns about a possible attack: ids and words, never a credential or an e-mail address. */
export type SecurityEvent = {
  readonly kind: SecurityEventKind
  /** An existing project, or null. */
  readonly projectId: string | null
  /** The caller as the audit names them; absent for an unknown caller. */
  readonly actor?: string
  /** The target of the attack; absent if only the address is known. */
  readonly subject?: string
  readonly details?: Readonly<Record<string, string>>
}

type AppErrorOptions = {
  /** The same request may succeed later. */
  readonly retryable?: boolean
  /** The header `Retry-After`, in whole seconds. */
  readonly retryAfterSeconds?: number
  /** Only for the log, never sent to a caller. */
  readonly cause?: unknown
  /** Reported to the operator when the error is answered (src/identity/security-events.ts). */
  readonly event?: SecurityEvent | undefined
}

/**
 * An error with a stable code and one sentence that is safe to show. It names the field and the right form, but never a
 * value of the caller, which could be a secret.
 */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly retryable: boolean
  readonly retryAfterSeconds: number | null
  readonly event: SecurityEvent | null

  constructor(code: ErrorCode, sentence: string, options: AppErrorOptions = {}) {
    super(sentence, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.retryable = options.retryable ?? ERROR_STATUS[code] === 503
    this.retryAfterSeconds = options.retryAfterSeconds ?? null
    this.event = options.event ?? null
  }

  get status(): number {
    return ERROR_STATUS[this.code]
  }
}

/** The request must wait for approvers. Thrown like an error; the answer is 202. */
export class NotYet extends Error {
  constructor(
    readonly body: { readonly approval_id: string; readonly status: 'waiting'; readonly expires_at: string },
  ) {
    super('waits for approval')
    this.name = 'NotYet'
  }
}

/** A process started too early: what it needs is still to be done by an operator or by another process. */
export class NotReadyYet extends Error {}

/** The answer for something that does not exist or belongs to another project; it is exactly the same in both cases. */
export const notFound = (thing: string): AppError => new AppError('not_found', `This project has no such ${thing}.`)

/** @param sentence the field, and what would be right. */
export const invalidInput = (sentence: string): AppError => new AppError('invalid_input', sentence)

/** For operators, who see all projects. */
export const noSuchProject = (): AppError => new AppError('not_found', 'There is no such project.')

/** A name that is safe to repeat. The name of an unknown field is the caller's own text, so it could be anything. */
const SAFE_NAME = /^[A-Za-z_][A-Za-z0-9_.]{0,63}$/

/** A field's name for an error sentence, or null if it must not be repeated. */
export const shownName = (path: string): string | null => (SAFE_NAME.test(path) ? `"${path}"` : null)

/** The beginning of an error sentence about a field. */
export const shownField = (path: string): string => {
  const name = shownName(path)
  return name === null ? 'A field' : `Field ${name}`
}

/** The default of an exhaustive switch; reaching it is our own mistake. */
export const unreachable = (value: never): never => {
  throw new Error(`unreachable: ${String(value)}`)
}
