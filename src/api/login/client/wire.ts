// Calls to our endpoints: same origin, tokens in headers, nothing cached. The service's own sentences about errors are
// for developers, so users read other ones.

export type Claims = {
  readonly sub: string
  readonly email?: string
  readonly siwe_wallet_address?: string
  readonly has_passkey_credentials?: boolean
}

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

export const isRefusal = (error: unknown, code: string): error is Refused =>
  error instanceof Refused && error.code === code

/** The service was not reached, or something else answered. */
class Unreachable extends Error {}

export type Call = {
  readonly method?: 'GET' | 'POST'
  readonly body?: object
  readonly token?: string
  /** Marks a call that must be done only once. */
  readonly idempotencyKey?: string
  /** The answer sets a cookie. */
  readonly takesCookie?: boolean
  readonly signal?: AbortSignal
}

export type Wire = <Answer>(path: string, call?: Call) => Promise<Answer>

/** The form of an answer tells whether the service or a gateway wrote it: gateways answer with JSON too. */
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

/** An error whose message is shown to the user as it is. */
export class UserMessage extends Error {
  /** The field that caused it, if it is another one than that of the credential. */
  readonly fieldId: string | null

  constructor(message: string, fieldId: string | null = null) {
    super(message)
    this.fieldId = fieldId
  }
}

const durationText = (seconds: number): string => {
  if (seconds < 90) return seconds === 1 ? 'a second' : `${seconds} seconds`
  if (seconds < 5_400) return `${Math.ceil(seconds / 60)} minutes`
  return `${Math.ceil(seconds / 3_600)} hours`
}

const SENTENCES: Readonly<Record<string, string>> = {
  login_failed: 'That did not work: it was wrong, already used, or expired. Try again.',
  session_ended: 'You are logged out. Log in again.',
  unauthorized: 'You are logged out. Log in again.',
  fresh_login_required: 'This needs a fresh login: log in again, and then repeat it.',
  passkey_exists: 'This passkey was added before.',
  not_implemented: 'This login method is not offered here.',
  origin_not_allowed: 'This page was opened at a wrong address.',
  INVALID_SECRET: 'That PIN is wrong. After five wrong PINs in a row your wallets are locked for a day.',
  credential_changed:
    'Your PIN, recovery code or passkey was changed in the meantime, and nothing was done. Try again with the new one.',
  pin_obvious: 'That PIN is easy to guess. Choose another one.',
  frozen: 'The operator of this service has frozen this wallet. Nothing was changed.',
  node_unavailable: 'The network does not answer at the moment. Try again later.',
  busy: 'The service is busy. Try again in a moment.',
  unavailable: 'The service is not complete at the moment. Try again later.',
  project_unknown: 'The app that sent you here is not known any more.',
}

export const messageFor = (error: unknown): string => {
  if (error instanceof UserMessage) return error.message
  if (error instanceof Unreachable) return 'The service was not reached. Check your connection and try again.'
  if (!(error instanceof Refused)) return 'Something went wrong on this page. Reload it and try again.'
  if (error.code === 'rate_limited') {
    return `This was tried too often. Wait ${durationText(error.retryAfterSeconds ?? 60)}, then try again.`
  }
  if (error.code === 'TOO_MANY_FAILED_ATTEMPTS') {
    const seconds = error.retryAfterSeconds
    const how = seconds === null ? 'until the operator unlocks them' : `for ${durationText(seconds)}`
    return `Too many wrong PINs were typed: your wallets are locked ${how}. A recovery code still opens them.`
  }
  return SENTENCES[error.code] ?? error.message
}
