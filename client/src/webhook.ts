// Verifies what a webhook gets (Standard Webhooks 1.0): an HMAC-SHA-256 over id, time and body, by one of the secrets.

import type { components } from './document.generated.ts'

/** An event, or a test message: `type` says which. A later version of the service may send further types. */
export type WebhookEvent = components['schemas']['ProjectEvent'] | components['schemas']['WebhookTestMessage']

/** The request is not one that the service has sent just now. */
export class WebhookVerificationError extends Error {
  constructor(reason: string) {
    super(`The request is not a webhook of the service: ${reason}.`)
    this.name = 'WebhookVerificationError'
  }
}

type HeaderValue = string | readonly string[] | undefined

/** The headers of a request, in any case and as any server or library has them. */
type WebhookHeaders =
  | Headers
  /** A Map, or pairs. */
  | Iterable<readonly [string, HeaderValue]>
  | Readonly<Record<string, HeaderValue>>
  /** Node's `rawHeaders`, in which names and values take turns. */
  | readonly string[]

const PREFIX = 'whsec_'
/** Clocks differ, and a request takes a while. An attacker who has read an older request may repeat it. */
const TOLERANCE_SECONDS = 300

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> | null => {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}

const keyOf = (secret: string): Promise<CryptoKey> => {
  const bytes = secret.startsWith(PREFIX) ? bytesOf(secret.slice(PREFIX.length)) : null
  if (bytes === null || bytes.length === 0) throw new TypeError('The secret of a webhook begins with whsec_.')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

const isPair = (value: unknown): value is readonly [unknown, unknown] => Array.isArray(value) && value.length === 2

const isIterable = (value: unknown): value is Iterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.iterator in value

/** Reads them by their form: `Headers` of another realm or library are of another class. */
const pairsIn = (headers: WebhookHeaders): readonly (readonly [unknown, unknown])[] => {
  if (!isIterable(headers)) return Object.entries(headers)
  const items: readonly unknown[] = [...headers]
  if (items.every(isPair)) return items
  return items.flatMap((name, index) => (index % 2 === 0 ? [[name, items[index + 1]] as const] : []))
}

const headersByName = (headers: WebhookHeaders): ReadonlyMap<string, string> =>
  new Map(
    pairsIn(headers).map(([name, value]) => [
      String(name).toLowerCase(),
      Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : '',
    ]),
  )

const isBuffer = (value: unknown): value is ArrayBuffer =>
  Object.prototype.toString.call(value) === '[object ArrayBuffer]'

/** The body as it came. What a framework has parsed cannot be made the same bytes again. */
const textOf = (body: unknown): string => {
  if (typeof body === 'string') return body
  if (ArrayBuffer.isView(body) || isBuffer(body)) return new TextDecoder().decode(body)
  throw new WebhookVerificationError(
    'its body must be given as text or bytes, exactly as it came: read it before something parses it, for instance with express.raw()',
  )
}

/**
 * Verifies a request and returns its event. WebCrypto compares the signatures in constant time.
 * @param input.body exactly as it came. @param input.headers of the request. @param input.secret or several, while it
 * is rotated.
 * @throws WebhookVerificationError if the body was parsed, a header is missing, the time is more than
 * `toleranceSeconds` (300) off, or no signature is right.
 */
export const verifyWebhook = async (input: {
  readonly body: string | ArrayBuffer | ArrayBufferView
  readonly headers: WebhookHeaders
  readonly secret: string | readonly string[]
  readonly toleranceSeconds?: number
  readonly now?: Date
}): Promise<WebhookEvent> => {
  const { body, headers, secret, toleranceSeconds = TOLERANCE_SECONDS, now = new Date() } = input
  const text = textOf(body)
  const byName = headersByName(headers)
  const header = (name: string): string => {
    const value = byName.get(name) ?? ''
    if (value === '') throw new WebhookVerificationError(`it has no header ${name}`)
    return value
  }
  const [id, timestamp] = [header('webhook-id'), header('webhook-timestamp')]
  const seconds = /^[0-9]{1,15}$/.test(timestamp) ? Number(timestamp) : Number.NaN
  if (!(Math.abs(now.getTime() / 1000 - seconds) <= toleranceSeconds)) {
    throw new WebhookVerificationError('it is too old, or of the future')
  }
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`)
  const signatures = header('webhook-signature')
    // Several headers of this name are joined with commas.
    .split(/,?\s+/)
    .flatMap((each) => (each.startsWith('v1,') ? [bytesOf(each.slice('v1,'.length))] : []))
  for (const each of typeof secret === 'string' ? [secret] : secret) {
    const key = await keyOf(each)
    for (const signature of signatures) {
      if (signature !== null && (await crypto.subtle.verify('HMAC', key, signature, signed))) {
        return JSON.parse(text) as WebhookEvent
      }
    }
  }
  throw new WebhookVerificationError(
    'no signature is right: the secret is another one, or the body is not exactly what came',
  )
}
