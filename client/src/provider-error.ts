import { StrongroomError } from './errors.ts'

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** An error with a number, as EIP-1193 and JSON-RPC have it. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** JSON-RPC 2.0 §5.1. */
export const INVALID_PARAMS = -32602
export const INTERNAL = -32603

/** EIP-1193 §provider errors and EIP-1474 §error codes, by the service's own code. */
const BY_CODE: Readonly<Record<string, number>> = {
  execution_reverted: 3,
  balance_insufficient: -32000,
  // The client itself says these too, without a status.
  invalid_input: INVALID_PARAMS,
  network_mismatch: INVALID_PARAMS,
  credential_required: 4100,
  approval_required: 4100,
  connection_failed: 4900,
  answer_unreadable: 4900,
  transaction_failed: -32003,
}

/** For all other codes, also those of later versions of the service. */
const BY_STATUS: Readonly<Record<number, number>> = {
  400: INVALID_PARAMS,
  401: 4100,
  403: 4100,
  404: -32001,
  409: -32003,
  413: INVALID_PARAMS,
  429: -32005,
  501: 4200,
}

/** A number that a dapp can compare. The `code` of a DOMException is a number too, but of another list. */
const hasNumber = (error: unknown): boolean =>
  isObject(error) && Number.isInteger(error.code) && !(error instanceof DOMException)

/** Every error in the form of a provider. For the service's own, `data` has its code and further facts. */
export const asRpcError = (cause: unknown, facts: Readonly<Record<string, string>> = {}): unknown => {
  if (hasNumber(cause)) return cause
  const message = cause instanceof Error ? cause.message : String(cause)
  if (!(cause instanceof StrongroomError)) return Object.assign(new ProviderError(INTERNAL, message), { cause })
  const { code, status = 0 } = cause
  const number = BY_CODE[code] ?? BY_STATUS[status] ?? INTERNAL
  return Object.assign(new ProviderError(number, message, { code, ...facts }), { cause })
}
