// Which answer is the service's own, and what follows where it is not.
//
// Between a client and the service are gateways, which answer in the service's place: with a page, with JSON of their
// own, or by ending the connection. So an answer counts as the service's by its form alone: `{ error, code }`, or what
// the operation gives. Every other one is a lost answer, whatever its status says: the service may have done what it
// was asked for.

import type { components } from './document.generated.ts'
import { ApprovalRequiredError, type Code, StrongroomError } from './errors.ts'
import type { Operation } from './operation.ts'
import { isObject } from './provider-error.ts'

const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
/** The longest time that a timer knows. A longer one is over at once. */
export const TIMER_MAX_MS = 2 ** 31 - 1

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** An error as the service words it: one sentence, and a word for programs. */
const isRefusal = (body: unknown): body is { readonly error: string; readonly code: string } =>
  isObject(body) && typeof body.error === 'string' && typeof body.code === 'string' && /^[a-z_]+$/i.test(body.code)

const isWaiting = (body: unknown): body is components['schemas']['WaitingApproval'] =>
  isObject(body) && typeof body.approval_id === 'string'

const isGiven = (body: unknown, gives: Operation['gives']): boolean => {
  if (gives === undefined) return body !== undefined
  if (gives === 'text') return typeof body === 'string'
  if (gives === 'list') return Array.isArray(body)
  return isObject(body) && gives.field in body
}

/**
 * The answer of an operation, or throws what the service refuses.
 * @throws StrongroomError with the code `answer_unreadable` for a lost answer; what `fetch` throws if the answer breaks
 * off
 */
export const readAnswer = async (response: Response, { gives }: Operation): Promise<unknown> => {
  const { status, headers } = response
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN)
  const facts = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: Number.isNaN(retryAfter) ? undefined : retryAfter,
  }
  const body = parsed(await response.text())
  if (status === 200 && isGiven(body, gives)) return body
  if (status === 202 && isWaiting(body)) throw new ApprovalRequiredError(body, facts)
  if (status >= 400 && isRefusal(body)) throw new StrongroomError(body.code, body.error, facts)
  throw new StrongroomError('answer_unreadable', `The service answered ${status} in another form.`, facts)
}

/** Whether the service itself refuses a token, which an answer does not tell by its status alone. */
export const refusesToken = async (response: Response): Promise<boolean> => {
  if (response.status !== 401) return false
  const body = parsed(await response.clone().text())
  return isRefusal(body) && ['unauthorized', 'session_ended'].includes(body.code)
}

/** What docs/errors.md calls "later, with the same key", and answers that did not arrive. */
const LOST: readonly Code[] = ['connection_failed', 'answer_unreadable', 'internal', 'unavailable']

/** Whether it is unknown what the service did. */
export const isLost = (error: unknown): error is StrongroomError =>
  error instanceof StrongroomError && LOST.includes(error.code)

/** Whether the same may work later. */
export const isPassing = (error: unknown): error is StrongroomError =>
  isLost(error) || (error instanceof StrongroomError && (error.status === 429 || error.status === 503))

/** How long to wait before asking again: as long as the service says, and longer each time. */
export const pauseMs = ({ retryAfterSeconds = 0 }: StrongroomError, failures: number): number => {
  const ownMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS)
  // Half of it at random, so that many clients do not come back at once.
  return Math.max(ownMs * (0.5 + Math.random() / 2), retryAfterSeconds * 1000)
}

/** Resolves after a time; rejects if the signal is aborted before. */
export const delay = (timeMs: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      },
      Math.min(timeMs, TIMER_MAX_MS),
    )
    signal?.addEventListener('abort', abort, { once: true })
  })

type Patience = {
  /** When it is asked for the last time (ms since 1970). */
  readonly deadline: number
  /** Which failures are waited out; by default all that pass by themselves. */
  readonly isWaitedOut?: (error: unknown) => error is StrongroomError
  readonly signal?: AbortSignal | undefined
  readonly onFailure?: ((error: StrongroomError) => void) | undefined
}

/** Asks until there is an answer of the service. What is asked must be the same each time, so that it is done once. */
export const untilAnswered = async <Answer>(
  ask: () => Promise<Answer>,
  { deadline, isWaitedOut = isPassing, signal, onFailure }: Patience,
): Promise<Answer> => {
  for (let failures = 0; ; failures += 1) {
    try {
      return await ask()
    } catch (error) {
      const leftMs = deadline - Date.now()
      if (!isWaitedOut(error) || leftMs <= 0) throw error
      onFailure?.(error)
      await delay(Math.min(pauseMs(error, failures), leftMs), signal)
    }
  }
}
