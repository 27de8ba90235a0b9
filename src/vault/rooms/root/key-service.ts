// A root key in a service (AWS KMS, Google Cloud KMS, HashiCorp Vault). The service wraps and unwraps each project key
// and the deployment's key; this process never sees the root key. The layout of the result is frozen, like that of
// envelopes:
//
//   version(1) = 1 | service(1) | key version(4, big-endian) | ciphertext(n) | tag(32)
//
// service      An envelope names its algorithm in this byte, so neither can be taken for the other. key version  of the
// service's key, or 0 if the service does not tell it: shows which rows still need an old version. ciphertext   the
// service's own, which it binds to the identity of the row. tag          HMAC-SHA-256 over everything before it and the
// identity, with a key derived from the wrapped key itself: so a
//              key is used only for its row, also if the service does not check that (an old Vault)

import { timingSafeEqual } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../../platform/errors.ts'
import { encodeFields, HeldKeys } from '../../../platform/sealing/bytes.ts'
import { EnvelopeError, type RowIdentity } from '../../../platform/sealing/envelope.ts'
import { deriveKey, hmac } from '../../../platform/sealing/kdf.ts'
import type { RootKey } from './root-key.ts'

const VERSION = 1
const HEADER_BYTES = 6
const TAG_BYTES = 32

/** How long and how often a service is asked before a request fails. */
export type Limits = {
  /** An attempt ends after this time, even if the service's client or its source of credentials hangs. */
  readonly attemptTimeoutMs: number
  readonly attemptsMax: number
  readonly pauseMs: number
}

/** In all less than the ten seconds that other requests of the same owner wait. */
export const LIMITS: Limits = { attemptTimeoutMs: 4_000, attemptsMax: 2, pauseMs: 250 }

type ServiceCall = { readonly identity: RowIdentity; readonly signal: AbortSignal }
type Encrypted = { readonly ciphertext: Uint8Array; readonly keyVersion: number }

export type KeyService = {
  readonly name: string
  /** Names the service and the key, and is the same for all versions of the key. */
  readonly id: string
  /** The second byte of what it wraps. */
  readonly mark: 2 | 3 | 4
  encrypt(input: ServiceCall & { readonly key: Uint8Array }): Promise<Encrypted>
  /** @returns bytes that the caller zeroes. @throws KeyServiceError, and EnvelopeError for what does not decrypt. */
  decrypt(input: ServiceCall & Encrypted): Promise<Uint8Array>
}

/** Why a service failed. All but a refusal may pass by themselves. */
const TROUBLES = {
  silent: 'did not answer in time',
  failing: 'cannot be reached, or fails',
  throttled: 'is asked more often than it allows',
  garbled: 'gave an answer that makes no sense',
  refused: 'does not do what it was asked',
} as const

export type Trouble = keyof typeof TROUBLES

/** A word of a service's answer that may be shown. */
const SHOWN = /^[A-Za-z0-9][A-Za-z0-9 _.()-]{0,79}$/

/** The service does not wrap or unwrap, for a reason that has nothing to do with the value. */
export class KeyServiceError extends AppError {
  readonly trouble: Trouble
  /** @param input.word the service's own word for it; anything longer is not shown. */
  constructor(input: { readonly service: string; readonly trouble: Trouble; readonly word?: string | undefined }) {
    const word = input.word !== undefined && SHOWN.test(input.word) ? ` (${input.word})` : ''
    const sentence = `${input.service}, which holds the root key, ${TROUBLES[input.trouble]}${word}.`
    super('unavailable', sentence, { retryable: input.trouble !== 'refused' })
    this.name = 'KeyServiceError'
    this.trouble = input.trouble
  }
}

/** The identity as bytes, for a service that binds bytes. */
export const bindingOf = ({ projectId, keyringId, walletId, purpose, rowId }: RowIdentity): Uint8Array =>
  encodeFields(['strongroom root key', projectId, keyringId, walletId, purpose, rowId])

type LimitedService = { readonly service: KeyService; readonly limits: Limits }
type Work<Answer> = (signal: AbortSignal) => Promise<Answer>

const attempt = async <Answer>(input: LimitedService, work: Work<Answer>): Promise<Answer> => {
  const abort = new AbortController()
  const expired = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    expired.reject(new KeyServiceError({ service: input.service.name, trouble: 'silent' }))
    abort.abort()
  }, input.limits.attemptTimeoutMs)
  try {
    return await Promise.race([work(abort.signal), expired.promise])
  } finally {
    clearTimeout(timer)
  }
}

const ask = async <Answer>(input: LimitedService, work: Work<Answer>): Promise<Answer> => {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt(input, work)
    } catch (error) {
      if (!(error instanceof KeyServiceError && error.retryable) || attempts >= input.limits.attemptsMax) throw error
      await sleep(input.limits.pauseMs)
    }
  }
}

type Tagged = { readonly key: Uint8Array; readonly body: Uint8Array; readonly identity: RowIdentity }

const tagOf = (tagged: Tagged): Uint8Array => {
  using keys = new HeldKeys()
  const key = keys.hold(deriveKey(tagged.key, ['wrapped key']))
  return hmac({ key, message: encodeFields([tagged.body, bindingOf(tagged.identity)]) })
}

const parse = (service: KeyService, wrapped: Uint8Array) => {
  const tagOffset = wrapped.length - TAG_BYTES
  if (tagOffset <= HEADER_BYTES) throw new EnvelopeError('truncated')
  if (wrapped[0] !== VERSION) throw new EnvelopeError('unknown version')
  if (wrapped[1] !== service.mark) throw new EnvelopeError('unknown algorithm')
  const keyVersion = new DataView(wrapped.buffer, wrapped.byteOffset).getUint32(2)
  return { body: wrapped.subarray(0, tagOffset), tag: wrapped.subarray(tagOffset), keyVersion }
}

export const rootKeyOf = (service: KeyService, limits: Limits): RootKey => {
  const asked = { service, limits }
  return {
    id: service.id,
    wrap: async ({ key, identity }) => {
      const made = await ask(asked, (signal) => service.encrypt({ key, identity, signal }))
      const header = Buffer.from([VERSION, service.mark, 0, 0, 0, 0])
      header.writeUInt32BE(made.keyVersion, 2)
      const body = Buffer.concat([header, made.ciphertext])
      return Buffer.concat([body, tagOf({ key, body, identity })])
    },
    unwrap: async ({ wrapped, identity }) => {
      const { body, tag, keyVersion } = parse(service, wrapped)
      const ciphertext = body.subarray(HEADER_BYTES)
      const key = await ask(asked, (signal) => service.decrypt({ ciphertext, keyVersion, identity, signal }))
      if (timingSafeEqual(tagOf({ key, body, identity }), tag)) return key
      key.fill(0)
      throw new EnvelopeError('authentication failed')
    },
  }
}
