// One call of the service over HTTP, and its repetitions.
//
// A call is sent again only where that cannot do something twice: a GET, or a POST with an `Idempotency-Key`, after a lost
// connection, 429 or 503; any other POST after 429 alone, because then the service has not begun.

import { ApprovalRequiredError, type Code, StrongroomError } from './errors.ts'
import type { CallOptions, Operation } from './operation.ts'

/** As much of the platform's `fetch` as is needed. */
export type Fetch = (input: string, init: RequestInit) => Promise<Response>

export type Connection = {
  readonly baseUrl: string
  readonly projectId: string
  /** The bearer token for a call. */
  readonly token: () => Promise<string | undefined>
  /** Whose token it is; undefined: the service's own. */
  readonly tokenSource?: string | undefined
  readonly fetch: Fetch
  /** How often a call is sent again. */
  readonly retries: number
  /** For each attempt. */
  readonly timeoutMs: number
}

type Input = Readonly<Record<string, unknown>>

const FIRST_DELAY_MS = 250
/** The longest `Retry-After` that is obeyed. The caller decides about a longer one. */
const LONGEST_DELAY_MS = 30_000

const isObject = (value: unknown): value is Input => typeof value === 'object' && value !== null

/** The address with path and query; names in the path are taken out of the query. */
const urlOf = (baseUrl: string, { method, path }: Operation, input: Input): string => {
  const inPath = new Set<string>()
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    inPath.add(name)
    return encodeURIComponent(String(input[name]))
  })
  const query = Object.entries(input).flatMap(([name, value]) =>
    method === 'POST' || value === undefined || inPath.has(name) ? [] : [[name, String(value)]],
  )
  return baseUrl.replace(/\/+$/, '') + filled + (query.length === 0 ? '' : `?${new URLSearchParams(query)}`)
}

const jsonOf = async (response: Response): Promise<unknown> => {
  try {
    return await response.json()
  } catch {
    return undefined
  }
}

const isWaiting = (body: unknown): body is ConstructorParameters<typeof ApprovalRequiredError>[0] =>
  isObject(body) && typeof body.approval_id === 'string'

/** The answer with status 200, or throws what it says. */
const answerOf = async (response: Response): Promise<unknown> => {
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const facts = {
    status: response.status,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: Number.isNaN(retryAfter) ? undefined : retryAfter,
  }
  const body = await jsonOf(response)
  if (response.status === 200 && body !== undefined) return body
  if (response.status === 202 && isWaiting(body)) throw new ApprovalRequiredError(body, facts)
  if (isObject(body) && typeof body.error === 'string' && typeof body.code === 'string')
    throw new StrongroomError(body.code, body.error, facts)
  throw new StrongroomError('answer_unreadable', `The service answered ${response.status} in another form.`, facts)
}

const once = async (connection: Connection, request: { readonly url: string; readonly init: RequestInit }) => {
  const { signal } = request.init
  const timeout = AbortSignal.timeout(connection.timeoutMs)
  let response: Response
  try {
    const either = signal == null ? timeout : AbortSignal.any([signal, timeout])
    response = await connection.fetch(request.url, { ...request.init, signal: either })
    return await answerOf(response)
  } catch (cause) {
    if (cause instanceof StrongroomError) throw cause
    // What the caller aborts is no failure of the service.
    signal?.throwIfAborted()
    const within = timeout.aborted ? ` within ${connection.timeoutMs / 1000} seconds` : ''
    const at = connection.baseUrl === '' ? '' : ` at ${connection.baseUrl}`
    throw new StrongroomError('connection_failed', `The service${at} did not answer${within}.`, { cause })
  }
}

/** Resolves after a time; rejects if the signal is aborted before. */
export const delay = (timeMs: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, timeMs)
    signal?.addEventListener('abort', abort, { once: true })
  })

/** How long to wait before the same call is sent again; null if it is not. */
const delayMsOf = (
  error: unknown,
  call: { readonly isRepeatable: boolean; readonly attempt: number },
): number | null => {
  if (!(error instanceof StrongroomError)) return null
  const codes: readonly Code[] = ['connection_failed']
  const isOver = error.status === 429 || (call.isRepeatable && (error.status === 503 || codes.includes(error.code)))
  if (!isOver) return null
  // Half of it at random, so that many clients do not come back at once.
  const ownMs = FIRST_DELAY_MS * 2 ** call.attempt * (0.5 + Math.random() / 2)
  const delayMs = Math.max(ownMs, (error.retryAfterSeconds ?? 0) * 1000)
  return delayMs > LONGEST_DELAY_MS ? null : delayMs
}

/** Calls an operation. @throws StrongroomError */
export const call = async (
  connection: Connection,
  {
    operation,
    input = {},
    options = {},
  }: {
    readonly operation: Operation
    readonly input?: Input | undefined
    readonly options?: CallOptions | undefined
  },
): Promise<unknown> => {
  const { method, takesKey } = operation
  const key = takesKey === true ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined
  const token = await connection.token()
  const init: RequestInit = {
    method,
    headers: {
      accept: 'application/json',
      'x-walletkit-project-id': connection.projectId,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(connection.tokenSource === undefined ? {} : { 'x-walletkit-token-source': connection.tokenSource }),
      ...(key === undefined ? {} : { 'idempotency-key': key }),
      ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
    },
    ...(method === 'POST' ? { body: JSON.stringify(input) } : {}),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  }
  const request = { url: urlOf(connection.baseUrl, operation, input), init }
  const isRepeatable = method === 'GET' || key !== undefined
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await once(connection, request)
    } catch (error) {
      const delayMs = attempt < connection.retries ? delayMsOf(error, { isRepeatable, attempt }) : null
      if (delayMs === null) throw error
      await delay(delayMs, options.signal)
    }
  }
}
