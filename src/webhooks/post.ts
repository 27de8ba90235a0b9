// The only requests of the service to URLs that its callers write. Such a URL could lead into the operator's own network (SSRF), so:
// - a name is resolved once, the address is checked, and the connection goes to that address: an answer of DNS that changes, or
//   another address in the same answer, leads nowhere else;
// - redirects are not followed: they are failures;
// - only `https`, and only addresses of the public Internet, unless the operator lists the address;
// - each connection is used once, so that none that was opened to one host serves another one;
// - time and bytes have bounds, and of the answer only its status and a short excerpt are kept.

import { lookup } from 'node:dns/promises'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP } from 'node:net'
import { isPublicAddress, type ListedAddresses } from '../environment/hosts.ts'

export const ANSWER_TIMEOUT_MS = 15_000
/** The rest of a longer answer is not read. */
const ANSWER_BYTES_MAX = 4_096
const EXCERPT_LENGTH_MAX = 200

/** Why a request was not taken. */
export type PostFailure =
  | 'address_not_allowed'
  | 'name_not_found'
  | 'connection_failed'
  | 'certificate_refused'
  | 'timed_out'
  | 'redirected'
  | 'status'

/** `status` and `excerpt` are null if there was no answer. The excerpt is for the operator of the receiver. */
export type Posted = {
  readonly failure: PostFailure | null
  readonly status: number | null
  readonly excerpt: string | null
}

type Resolve = (hostname: string) => Promise<readonly { readonly address: string }[]>

const resolveBySystem: Resolve = (hostname) => lookup(hostname, { all: true })

export type Posting = {
  /** Addresses that the operator allows although they are not public. */
  readonly listed: ListedAddresses
  /** Where a name leads; by default as the operating system says. */
  readonly resolve?: Resolve
  readonly timeoutMs?: number
  /** Authorities in PEM, in place of those that the runtime knows. */
  readonly ca?: string
}

const noAnswer = (failure: PostFailure): Posted => ({ failure, status: null, excerpt: null })

/** OpenSSL's and Node's words for certificates that do not prove the host. */
const ABOUT_CERTIFICATES = /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME|^ERR_TLS/

const failureOf = (error: unknown): PostFailure => {
  if (!(error instanceof Error)) return 'connection_failed'
  if (error.name === 'AbortError' || error.name === 'TimeoutError') return 'timed_out'
  const code = 'code' in error ? String(error.code) : ''
  return ABOUT_CERTIFICATES.test(code) ? 'certificate_refused' : 'connection_failed'
}

/** Rejects when the signal is aborted. */
const unlessAborted = async <Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> => {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort))
}

/** Whether a request may go to an address. Pure. */
export const mayReach = (
  listed: ListedAddresses,
  { protocol, address }: { readonly protocol: string; readonly address: string },
): boolean => listed.has(address) || (protocol === 'https:' && isPublicAddress(address))

/** Text that can be shown on a terminal and a page. */
const excerptOf = (chunks: readonly Uint8Array[]): string =>
  Buffer.concat(chunks)
    .toString('utf8')
    .replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim()
    .slice(0, EXCERPT_LENGTH_MAX)

const answerOf = (status: number, chunks: readonly Uint8Array[]): Posted => {
  const isTaken = status >= 200 && status < 300
  const isRedirect = status >= 300 && status < 400
  const failure = isTaken ? null : isRedirect ? 'redirected' : 'status'
  return { failure, status, excerpt: isTaken ? null : excerptOf(chunks) }
}

type Sent = {
  readonly url: URL
  readonly address: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
  readonly ca: string | undefined
}

/** Sends to exactly this address. Once there is a status it is the outcome, whatever becomes of the rest of the answer. */
const postTo = ({ url, address, headers, body, signal, ca }: Sent): Promise<Posted> =>
  new Promise((resolve, reject) => {
    const isTls = url.protocol === 'https:'
    const name = url.hostname.replace(/^\[|\]$/g, '')
    const request = (isTls ? requestHttps : requestHttp)({
      host: address,
      port: url.port || (isTls ? 443 : 80),
      path: `${url.pathname}${url.search}`,
      method: 'POST',
      headers: {
        ...headers,
        host: url.host,
        'content-length': Buffer.byteLength(body),
        connection: 'close',
      },
      agent: false,
      // RFC 6066 §3: no addresses. The certificate is then checked against the address to which the request goes.
      ...(isTls && isIP(name) === 0 && { servername: name }),
      ...(isTls && ca !== undefined && { ca }),
    })
    request.on('error', reject)
    let cut = () => reject(signal.reason)
    signal.addEventListener('abort', () => {
      cut()
      request.destroy()
    })
    request.on('response', (response) => {
      const chunks: Uint8Array[] = []
      let bytes = 0
      const end = () => {
        resolve(answerOf(response.statusCode ?? 0, chunks))
        request.destroy()
      }
      cut = end
      response.on('data', (chunk: Uint8Array) => {
        chunks.push(chunk.subarray(0, ANSWER_BYTES_MAX - bytes))
        bytes += chunk.length
        if (bytes >= ANSWER_BYTES_MAX) end()
      })
      response.on('end', end)
      response.on('close', end)
      response.on('error', end)
    })
    request.end(body)
  })

/** Posts a body to a URL that a caller wrote. Never throws for what the receiver does. */
export const post = async (
  { listed, resolve = resolveBySystem, timeoutMs = ANSWER_TIMEOUT_MS, ca }: Posting,
  input: { readonly url: string; readonly headers: Readonly<Record<string, string>>; readonly body: string },
): Promise<Posted> => {
  const url = new URL(input.url)
  const { protocol } = url
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const signal = AbortSignal.timeout(timeoutMs)
  try {
    const found = isIP(host) === 0 ? await unlessAborted(resolve(host), signal) : [{ address: host }]
    if (found.length === 0) return noAnswer('name_not_found')
    const allowed = found.find(({ address }) => mayReach(listed, { protocol, address }))
    if (allowed === undefined) return noAnswer('address_not_allowed')
    return await postTo({ ...input, url, address: allowed.address, signal, ca })
  } catch (error) {
    if (error instanceof Error && 'syscall' in error && /^(?:getaddrinfo|query)/.test(String(error.syscall))) {
      return noAnswer('name_not_found')
    }
    return noAnswer(failureOf(error))
  }
}
