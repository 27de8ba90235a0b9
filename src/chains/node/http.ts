// JSON-RPC over HTTP: each batch is one POST request.

import type { Network } from '../../../db/words.ts'
import { NodeUnavailable } from './wire.ts'

/** Longer answers are not read. The traces of a block on a busy network take about 20 MB. */
export const RPC_ANSWER_LIMIT_BYTES = 134_217_728

/** Sends one JSON-RPC request or batch. @returns the decoded JSON of the answer. */
export type Transport = (request: {
  readonly body: string
  readonly ids: readonly number[]
  readonly timeoutMs: number
}) => Promise<unknown>

/** A node that asks for a longer pause (`Retry-After`) gets this one. */
const RETRY_AFTER_MAX_MS = 30_000

type Wire = { readonly rpcUrl: string; readonly network: Network }

/** Errors of fetch have the URL in a property and often in the message, so only the safe parts are kept. */
const causeWithoutUrl = (error: unknown, rpcUrl: string): Error => {
  if (!(error instanceof Error)) return new Error('fetch failed')
  const message = error.message.replaceAll(rpcUrl, '[node]')
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  return new Error(`${error.name}: ${message}${code}`)
}

/** Whether an answer says that it is short enough. An encoded one may grow. */
const isBounded = ({ headers }: Response): boolean =>
  !headers.has('content-encoding') &&
  headers.has('content-length') &&
  Number(headers.get('content-length')) <= RPC_ANSWER_LIMIT_BYTES

const readText = async (wire: Wire, response: Response): Promise<string> => {
  if (isBounded(response)) return response.text()
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength
    if (length > RPC_ANSWER_LIMIT_BYTES) {
      throw new NodeUnavailable('too_large', `The ${wire.network} node answered more than this service reads at once.`)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

type HttpAnswer = { readonly status: number; readonly retryAfter: string | null; readonly text: string }

const post = async (wire: Wire, body: string, timeoutMs: number): Promise<HttpAnswer> => {
  try {
    const response = await fetch(wire.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: AbortSignal.timeout(timeoutMs),
    })
    const { status, headers } = response
    return { status, retryAfter: headers.get('retry-after'), text: await readText(wire, response) }
  } catch (error) {
    if (error instanceof NodeUnavailable) throw error
    const cause = causeWithoutUrl(error, wire.rpcUrl)
    if (error instanceof Error && error.name === 'TimeoutError') {
      throw new NodeUnavailable('timeout', `The ${wire.network} node did not answer within ${timeoutMs} ms.`, cause)
    }
    throw new NodeUnavailable('unreachable', `The ${wire.network} node cannot be reached.`, cause)
  }
}

/** RFC 9110 §10.2.3: seconds or a date. @returns null if the header is missing or has another form. */
const parseRetryAfterMs = (retryAfter: string | null): number | null => {
  const text = retryAfter?.trim() ?? ''
  const waitMs = /^[0-9]{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now()
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), RETRY_AFTER_MAX_MS)
}

const statusTrouble = (wire: Wire, { status, retryAfter }: Omit<HttpAnswer, 'text'>): NodeUnavailable => {
  if (status === 413) {
    return new NodeUnavailable('too_large', `The ${wire.network} node refused the question as too large.`)
  }
  const sentence = `The ${wire.network} node answered with HTTP status ${status}.`
  const retryAfterMs = status === 429 || status === 503 ? parseRetryAfterMs(retryAfter) : null
  return new NodeUnavailable('http', sentence, undefined, retryAfterMs)
}

/** Some nodes send JSON-RPC errors with a 4xx status. 429 and 5xx are failures of the node, and refuse no question. */
const decode = (wire: Wire, answer: HttpAnswer): unknown => {
  const { status } = answer
  if (status >= 500 || status === 413 || status === 429) throw statusTrouble(wire, answer)
  try {
    return JSON.parse(answer.text)
  } catch {
    if (status >= 400) throw statusTrouble(wire, answer)
    throw new NodeUnavailable('unreadable', `The ${wire.network} node answered something other than JSON.`)
  }
}

export const httpTransport =
  (wire: Wire): Transport =>
  async ({ body, timeoutMs }) =>
    decode(wire, await post(wire, body, timeoutMs))
