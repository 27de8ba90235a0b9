// Calls to our endpoints: same origin, tokens in headers, nothing cached.

export type Claims = {
  /** The user's id. */
  readonly sub: string
  readonly email?: string
  readonly siwe_wallet_address?: string
  readonly has_passkey_credentials?: boolean
}

/** An error answer of the service. */
export class Refused extends Error {
  readonly code: string
  readonly retryAfterSeconds: number | null

  constructor(code: string, sentence: string, retryAfterSeconds: number | null) {
    super(sentence)
    this.name = 'Refused'
    this.code = code
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The service was not reached, or something else answered. */
export class Unreachable extends Error {}

export type Call = {
  readonly method?: 'GET' | 'POST'
  readonly body?: object
  readonly token?: string
  /** For a call that must be done only once. */
  readonly idempotencyKey?: string
  /** The answer sets a cookie. */
  readonly takesCookie?: boolean
  readonly signal?: AbortSignal
}

export type Wire = <Answer>(path: string, call?: Call) => Promise<Answer>

/** The error of a failed answer. Its form tells whether the service or a gateway wrote it, as gateways answer with JSON too. */
const failureOf = (response: Response, answer: unknown): Refused | Unreachable => {
  const { code, error } = Object(answer)
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retryAfterSeconds = Number.isFinite(seconds) ? seconds : null
  if (typeof code === 'string' && typeof error === 'string') return new Refused(code, error, retryAfterSeconds)
  // It means the same of a gateway.
  if (response.status === 429) return new Refused('rate_limited', 'Too many requests.', retryAfterSeconds)
  return new Unreachable()
}

const PASSING = ['rate_limited', 'busy', 'unavailable', 'internal']

/** Whether the same may work in a moment. */
export const isPassing = (error: unknown): error is Refused | Unreachable =>
  error instanceof Unreachable || (error instanceof Refused && PASSING.includes(error.code))

export const createWire =
  ({ root, projectId }: { readonly root: string; readonly projectId: string }): Wire =>
  async (path, { method = 'POST', body, token, idempotencyKey, takesCookie = false, signal } = {}) => {
    const headers = new Headers({ 'x-walletkit-project-id': projectId })
    if (body !== undefined) headers.set('content-type', 'application/json')
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
    if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey)
    let response: Response
    let answer: unknown
    try {
      response = await fetch(root + path, {
        method,
        headers,
        credentials: takesCookie ? 'same-origin' : 'omit',
        cache: 'no-store',
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      })
      answer = await response.json()
    } catch (error) {
      if (signal?.aborted) throw error
      throw new Unreachable()
    }
    if (!response.ok) throw failureOf(response, answer)
    return answer as never
  }

/** Reads an access token's claims without verifying it; only the service verifies tokens. */
export const claimsOf = (token: string): Claims => {
  const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}
