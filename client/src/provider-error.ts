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

/** EIP-1193 §provider errors and EIP-1474 for what the service refuses; its own code is in `data`. */
const NUMBERS: Readonly<Record<string, number>> = {
  unauthorized: 4100,
  wallet_forbidden: 4100,
  policy_denied: 4100,
  execution_reverted: 3,
  balance_insufficient: -32000,
  invalid_input: -32602,
  not_implemented: 4200,
  connection_failed: 4900,
  answer_unreadable: 4900,
}

/** The service's errors in the form of a provider, with its code and further facts as `data`; others as they are. */
export const asRpcError = (error: unknown, facts: Readonly<Record<string, string>> = {}): unknown =>
  error instanceof StrongroomError
    ? Object.assign(new ProviderError(NUMBERS[error.code] ?? -32603, error.message, { code: error.code, ...facts }), {
        cause: error,
      })
    : error
