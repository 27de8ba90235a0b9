// All requests to URLs that callers write, or that servers name which the service does not trust: receivers of webhooks
// and identity providers. Such a URL could lead into the operator's own network (SSRF). So this file
// - looks a name up once, checks its addresses, and connects to one of them: a later answer of DNS leads nowhere else;
// - follows no redirect: its status is the answer;
// - accepts only `https` to addresses of the public Internet, unless the operator has listed the host or its address. A
//   listed one may also be asked by `http`; on mainnet only if it is this machine;
// - uses each connection once, so that a connection to one host serves no other;
// - bounds time and bytes.

import { lookup } from 'node:dns/promises'
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import { isLocal, isPrivate, isPublicAddress } from '../environment/hosts.ts'

/** Why a request got no answer, as the end of a sentence that begins with the server. */
const NO_ANSWER = {
  address_not_allowed:
    'leads to an address that is not of the public Internet, and OUTGOING_ALLOWED_HOSTS does not list it',
  name_not_found: 'was not found',
  connection_failed: 'could not be reached',
  certificate_refused: 'has a certificate that is not valid for its name',
  timed_out: 'did not answer in time',
} as const

type OutgoingFailure = keyof typeof NO_ANSWER

/** No answer, or an unexpected one. The message is one sentence for operators, and has nothing of the answer. */
export class OutgoingError extends Error {
  /** null if there is an answer. */
  readonly failure: OutgoingFailure | null
  constructor(message: string, { failure = null, cause }: { failure?: OutgoingFailure | null; cause?: unknown } = {}) {
    super(message, { cause })
    this.failure = failure
  }
}

const noAnswer = (failure: OutgoingFailure, cause?: unknown): OutgoingError =>
  new OutgoingError(`The server ${NO_ANSWER[failure]}.`, { failure, cause })

type Rules = Pick<Config, 'environment' | 'outgoingHosts'>

type Resolve = (hostname: string) => Promise<readonly { readonly address: string }[]>

const resolveBySystem: Resolve = (hostname) => lookup(hostname, { all: true })

export type Outgoing = {
  readonly config: Rules
  /** Where a name leads; by default as the operating system says. */
  readonly resolve?: Resolve
  /** Authorities in PEM, in place of those that the runtime knows. */
  readonly ca?: string
}

const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, '')

/** Where a name leads is judged when it is looked up: it may be an address that is listed. */
const mayBeHttp = ({ environment, outgoingHosts }: Rules, { hostname }: URL): boolean => {
  const isAllowed = isIP(bare(hostname)) === 0 ? !outgoingHosts.isEmpty : outgoingHosts.has(bare(hostname))
  return isAllowed && (environment !== 'mainnet' || isLocal(hostname))
}

/** What a URL must be, as the end of "must be …"; null if requests may go to it, as far as its text shows. */
export const refusalOfUrl = (config: Rules, text: string): string | null => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null) return 'an absolute URL'
  if (url.username !== '' || url.password !== '') return 'a URL without user and password'
  if (url.hash !== '') return 'a URL without #'
  const isHttp = url.protocol === 'http:' && mayBeHttp(config, url)
  if (url.protocol !== 'https:' && !isHttp) return 'a URL that begins with https://'
  const host = bare(url.hostname)
  const mayBe =
    isIP(host) === 0
      ? !config.outgoingHosts.isEmpty || !isPrivate(host)
      : mayReach(config, { protocol: url.protocol, host, address: host })
  return mayBe ? null : 'a URL of a host on the public Internet, or of one that OUTGOING_ALLOWED_HOSTS lists'
}

/** Whether a request may go to an address, to which a host has led. Pure. */
const mayReach = (
  { outgoingHosts }: Rules,
  { protocol, host, address }: { readonly protocol: string; readonly host: string; readonly address: string },
): boolean =>
  outgoingHosts.has(host) || outgoingHosts.has(address) || (protocol === 'https:' && isPublicAddress(address))

type Answer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The body, or its beginning. */
  readonly text: string
  /** Why this is not the whole body, as the end of a sentence that begins with the server; null if it is. */
  readonly missing: string | null
}

type OutgoingRequest = {
  readonly url: string
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The rest of a longer answer is not read. */
  readonly maxBytes: number
  /** For all of it: to look the name up, to send, and to read the answer. */
  readonly timeoutMs: number
}

const unlessAborted = async <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> => {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort))
}

/** Reads an answer up to its bounds. Once there is a status it is the answer, even if the rest is lost. */
const answerFrom = (response: IncomingMessage, maxBytes: number, signal: AbortSignal): Promise<Answer> =>
  new Promise((resolve) => {
    const { statusCode: status = 0, headers } = response
    const chunks: Uint8Array[] = []
    let bytes = 0
    const end = (missing: string | null) =>
      resolve({ status, headers, text: Buffer.concat(chunks).toString('utf8'), missing })
    if (!['identity', undefined].includes(headers['content-encoding'])) return end('compressed its answer')
    signal.addEventListener('abort', () => end('did not end its answer in time'))
    response.on('data', (chunk: Uint8Array) => {
      chunks.push(chunk.subarray(0, maxBytes - bytes))
      bytes += chunk.length
      if (bytes > maxBytes) end(`answered with more than ${maxBytes} bytes`)
    })
    response.on('end', () => end(null))
    for (const event of ['aborted', 'error', 'close']) response.on(event, () => end('broke off its answer'))
  })

type Sent = {
  readonly maxBytes: number
  readonly body: string | undefined
  readonly url: URL
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly ca: string | undefined
}

/** Sends to exactly this address. */
const sendTo = (address: string, { url, method, headers, body, maxBytes, signal, ca }: Sent): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const isTls = url.protocol === 'https:'
    const name = bare(url.hostname)
    const request = (isTls ? requestHttps : requestHttp)({
      host: address,
      port: url.port || (isTls ? 443 : 80),
      path: `${url.pathname}${url.search}`,
      method,
      headers: {
        'accept-encoding': 'identity',
        ...headers,
        host: url.host,
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        connection: 'close',
      },
      agent: false,
      // RFC 6066 §3: no addresses. The certificate is then checked against the address to which the request goes.
      ...(isTls && isIP(name) === 0 && { servername: name }),
      ...(isTls && ca !== undefined && { ca }),
    })
    const abort = () => {
      reject(signal.reason)
      request.destroy()
    }
    signal.addEventListener('abort', abort)
    request.on('error', reject)
    request.on('response', async (response) => {
      signal.removeEventListener('abort', abort)
      resolve(await answerFrom(response, maxBytes, signal))
      request.destroy()
    })
    request.end(body)
  })

/** OpenSSL's and Node's words for certificates that do not prove the host. */
const ABOUT_CERTIFICATES = /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|^ERR_TLS/
/** No server got anything, so another address of the host may be tried. */
const NOT_CONNECTED = /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')

const failureOf = (error: unknown): OutgoingFailure => {
  if (!(error instanceof Error)) return 'connection_failed'
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'timed_out'
  if ('syscall' in error && /^(?:getaddrinfo|query)/.test(String(error.syscall))) return 'name_not_found'
  return ABOUT_CERTIFICATES.test(codeOf(error)) ? 'certificate_refused' : 'connection_failed'
}

/** Tries the addresses one after the other, until one of them takes the connection. */
const sendToFirst = async ([address = '', ...others]: readonly string[], sent: Sent): Promise<Answer> => {
  try {
    return await sendTo(address, sent)
  } catch (error) {
    if (others.length === 0 || !NOT_CONNECTED.test(codeOf(error))) throw error
    return await sendToFirst(others, sent)
  }
}

/** Any status is an answer. @throws OutgoingError if the URL is refused or there is no answer. */
export const sendOutgoing = async (
  { config, resolve = resolveBySystem, ca }: Outgoing,
  { url: text, method = 'GET', headers = {}, body, maxBytes, timeoutMs }: OutgoingRequest,
): Promise<Answer> => {
  const refusal = refusalOfUrl(config, text)
  if (refusal !== null) throw new OutgoingError(`The server must have ${refusal}.`, { failure: 'address_not_allowed' })
  const url = new URL(text)
  const { protocol } = url
  const host = bare(url.hostname)
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const found = isIP(host) === 0 ? await unlessAborted(resolve(host), signal) : [{ address: host }]
    if (found.length === 0) throw noAnswer('name_not_found')
    const allowed = found
      .map(({ address }) => address)
      .filter((address) => mayReach(config, { protocol, host, address }))
    if (allowed.length === 0) throw noAnswer('address_not_allowed')
    return await sendToFirst(allowed, { url, method, headers, body, maxBytes, signal, ca })
  } catch (error) {
    throw error instanceof OutgoingError ? error : noAnswer(failureOf(error), error)
  }
}

/** @throws OutgoingError if the URL is refused, or if there is no JSON document within the limits. */
export const readJsonFrom = async (
  outgoing: Outgoing,
  request: Pick<OutgoingRequest, 'url' | 'maxBytes' | 'timeoutMs'>,
): Promise<unknown> => {
  const { status, text, missing } = await sendOutgoing(outgoing, {
    ...request,
    headers: { accept: 'application/json' },
  })
  if (status !== 200) throw new OutgoingError(`The server answered with status ${status}.`)
  if (missing !== null) throw new OutgoingError(`The server ${missing}.`)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new OutgoingError('The answer is not JSON.', { cause })
  }
}
