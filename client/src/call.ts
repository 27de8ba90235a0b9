// One call of the service over HTTP, and its repetitions.
//
// A call is sent again only where that cannot do something twice: one that reads, or one with an `Idempotency-Key`,
// after every failure that passes by itself; any other one after 429 alone, because then the service has not begun.

import { delay, isPassing, pauseMs, readAnswer } from './answer.ts'
import { StrongroomError } from './errors.ts'
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

/** The longest `Retry-After` that is obeyed. The caller decides about a longer one. */
const LONGEST_DELAY_MS = 30_000

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

/**
 * Refuses before sending what HTTP cannot carry: `fetch` would fail as if the service were away. The value can be a
 * secret.
 */
const headersOf = (values: Readonly<Record<string, string | undefined>>): Headers => {
  const headers = new Headers()
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) continue
    try {
      headers.set(name, value)
    } catch (cause) {
      const why = 'it has a line break or a character outside of Latin-1, perhaps an invisible one'
      throw new StrongroomError('invalid_input', `The header ${name} cannot be sent: ${why}.`, { cause })
    }
  }
  return headers
}

/** Whether `fetch` can ask at this address. A page's may be relative to the page. */
const isAddress = (url: string): boolean => {
  try {
    return /^https?:$/.test(new URL(url, globalThis.location?.href).protocol)
  } catch {
    return false
  }
}

type Request = { readonly operation: Operation; readonly url: string; readonly init: RequestInit }

const once = async (connection: Connection, { operation, url, init }: Request): Promise<unknown> => {
  const { signal } = init
  const timeout = AbortSignal.timeout(connection.timeoutMs)
  try {
    const either = signal == null ? timeout : AbortSignal.any([signal, timeout])
    return await readAnswer(await connection.fetch(url, { ...init, signal: either }), operation)
  } catch (cause) {
    if (cause instanceof StrongroomError) throw cause
    // What the caller aborts is no failure of the service.
    signal?.throwIfAborted()
    const { baseUrl } = connection
    if (!isAddress(url))
      throw new StrongroomError('invalid_input', `The baseUrl "${baseUrl}" must begin with https:// or http://.`, {
        cause,
      })
    const within = timeout.aborted ? ` within ${connection.timeoutMs / 1000} seconds` : ''
    const at = baseUrl === '' ? '' : ` at ${baseUrl}`
    throw new StrongroomError('connection_failed', `The service${at} did not answer${within}.`, { cause })
  }
}

/** How long to wait before the same call is sent again; null if it is not. */
const delayMsOf = (
  error: unknown,
  call: { readonly isRepeatable: boolean; readonly attempt: number },
): number | null => {
  if (!isPassing(error) || !(call.isRepeatable || error.status === 429)) return null
  const delayMs = pauseMs(error, call.attempt)
  return delayMs > LONGEST_DELAY_MS ? null : delayMs
}

const formOf = (input: Input): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(input)) form.append(name, value instanceof Blob ? value : String(value))
  return form
}

/** What a POST sends. `fetch` itself declares a form, with the boundary of its parts. */
const contentOf = ({ method, takesForm }: Operation, input: Input) => {
  if (method === 'GET') return { type: undefined, body: undefined }
  if (takesForm === true) return { type: undefined, body: formOf(input) }
  return { type: 'application/json', body: JSON.stringify(input) }
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
  const { method, takesKey, reads } = operation
  const key = takesKey === true ? (options.idempotencyKey ?? crypto.randomUUID()) : undefined
  const token = await connection.token()
  const { type, body } = contentOf(operation, input)
  const init: RequestInit = {
    method,
    headers: headersOf({
      accept: 'application/json',
      'x-walletkit-project-id': connection.projectId,
      authorization: token === undefined ? undefined : `Bearer ${token}`,
      'x-walletkit-token-source': connection.tokenSource,
      'idempotency-key': key,
      'content-type': type,
    }),
    ...(body === undefined ? {} : { body }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  }
  const request = { operation, url: urlOf(connection.baseUrl, operation, input), init }
  const isRepeatable = method === 'GET' || reads === true || key !== undefined
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
