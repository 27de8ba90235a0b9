// The signing keys of issuers: found by OpenID Connect Discovery 1.0, kept in memory, and read again when an issuer
// changes them.
//
//   younger than 10 minutes       used as they are
//   up to an hour                 used, while they are read again
//   older, or never read          read first; if the issuer does not answer: 503
//   a token with an unknown key   read again, at most every 30 seconds for each issuer
//
// So a short failure of an issuer stops no caller, and an issuer's revocation of a key takes effect within the hour.
// Keys belong to the issuer under whose URL they were found; those of another are never tried.

import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose'
import { LRUCache } from 'lru-cache'
import type { HasClock } from '../../platform/clock.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasLog } from '../../platform/process/log.ts'
import { OutgoingError, readJsonFrom } from '../../platform/process/outgoing.ts'

const FRESH_MS = 600_000
const KEPT_MS = 3_600_000
const PAUSE_MS = 30_000
const ISSUERS_MAX = 1_000
const LIMITS = { maxBytes: 65_536, timeoutMs: 5_000 }
const KEYS_MAX = 100
/** An RSA modulus of 8192 bits in base64url. Larger ones take long to verify with. */
const MEMBER_CHARACTERS_MAX = 1_366

/** Printable, and not long: it comes from a foreign server, and operators read it. */
const SHOWN = /^[\x21-\x7e]{1,200}$/

const Discovery = Type.Object({ issuer: Type.String(), jwks_uri: Type.String({ maxLength: 2_048 }) })

const Member = Type.Optional(Type.String({ maxLength: MEMBER_CHARACTERS_MAX }))
const KeySet = Type.Object({ keys: Type.Array(Type.Unknown()) })
const Key = Type.Object({
  kty: Type.String(),
  kid: Member,
  alg: Member,
  use: Member,
  crv: Member,
  x: Member,
  y: Member,
  n: Member,
  e: Member,
})
type Key = Static<typeof Key>

/** What a public key of each type must have (RFC 7518 §6.2.1 and §6.3.1, RFC 8037 §2). */
const MEMBERS = new Map<string, readonly (keyof Key)[]>([
  ['RSA', ['n', 'e']],
  ['EC', ['crv', 'x', 'y']],
  ['OKP', ['crv', 'x']],
])

/** By OpenID Connect Discovery 1.0 §4. */
const discoveryUrlOf = (issuer: string): string => `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`

/** RFC 7517 §5: leaves out keys for encryption, and keys that are unknown, incomplete or out of range. */
const usableKeys = (keys: readonly unknown[]): readonly Key[] =>
  keys
    .filter((key) => Value.Check(Key, key))
    .filter(({ use }) => use === undefined || use === 'sig')
    .filter((key) => MEMBERS.get(key.kty)?.every((member) => key[member] !== undefined) ?? false)
    .map((key) => {
      // Its curve says it: the token may have either of the two names of this algorithm.
      const { alg, ...unnamed } = key
      return key.crv === 'Ed25519' ? unnamed : key
    })

const shown = (text: string): string => (SHOWN.test(text) ? `: "${text}"` : '')

/** Reads an issuer's keys. @throws OutgoingError with a sentence for operators. */
export const readKeys = async (ctx: HasConfig, issuer: string): Promise<{ keys: Key[] }> => {
  const found = await readJsonFrom(ctx, { url: discoveryUrlOf(issuer), ...LIMITS })
  if (!Value.Check(Discovery, found)) throw new OutgoingError('The discovery document has no issuer or no jwks_uri.')
  if (found.issuer !== issuer) {
    throw new OutgoingError(`The discovery document is of another issuer${shown(found.issuer)}.`)
  }
  const read = await readJsonFrom(ctx, { url: found.jwks_uri, ...LIMITS })
  if (!Value.Check(KeySet, read)) throw new OutgoingError('The document at jwks_uri has no list "keys".')
  const keys = usableKeys(read.keys)
  const count = `Of the ${read.keys.length} keys at jwks_uri`
  if (keys.length === 0) throw new OutgoingError(`${count} none is a whole key for signatures.`)
  if (keys.length > KEYS_MAX) {
    throw new OutgoingError(`${count} ${keys.length} are for signatures; at most ${KEYS_MAX} are taken.`)
  }
  return { keys: [...keys] }
}

type Entry = {
  keySet: { readonly find: JWTVerifyGetKey; readonly readAtMs: number } | null
  triedAtMs: number
  isDown: boolean
  reading: Promise<void> | null
}

const away = (): AppError =>
  new AppError('unavailable', 'The issuer of the token does not give its keys at the moment: try again.', {
    retryAfterSeconds: PAUSE_MS / 1_000,
  })

export type KeySets = ReturnType<typeof createKeySets>

export const createKeySets = (ctx: HasConfig & HasClock & HasLog) => {
  const entries = new LRUCache<string, Entry>({ max: ISSUERS_MAX })

  const entryOf = (issuer: string): Entry => {
    const known = entries.get(issuer)
    if (known !== undefined) return known
    const entry: Entry = { keySet: null, triedAtMs: Number.NEGATIVE_INFINITY, isDown: false, reading: null }
    entries.set(issuer, entry)
    return entry
  }

  const read = async (issuer: string, entry: Entry): Promise<void> => {
    try {
      const keys = await readKeys(ctx, issuer)
      entry.keySet = { find: createLocalJWKSet(keys), readAtMs: ctx.now().getTime() }
      entry.isDown = false
    } catch (err) {
      entry.isDown = true
      ctx.log.warn({ err, issuer }, 'could not read the keys of an issuer')
    }
  }

  /** Requests at the same time share one reading. It never rejects. */
  const readAgain = (issuer: string, entry: Entry): Promise<void> => {
    if (entry.reading !== null) return entry.reading
    const nowMs = ctx.now().getTime()
    if (nowMs - entry.triedAtMs < PAUSE_MS) return Promise.resolve()
    entry.triedAtMs = nowMs
    entry.reading = read(issuer, entry).finally(() => {
      entry.reading = null
    })
    return entry.reading
  }

  const keySetWithin = ({ keySet }: Entry, maxAgeMs: number) =>
    keySet !== null && ctx.now().getTime() - keySet.readAtMs < maxAgeMs ? keySet : null

  const current = async (issuer: string, entry: Entry): Promise<JWTVerifyGetKey> => {
    const fresh = keySetWithin(entry, FRESH_MS)
    if (fresh !== null) return fresh.find
    const reading = readAgain(issuer, entry)
    if (keySetWithin(entry, KEPT_MS) === null) await reading
    const keySet = keySetWithin(entry, KEPT_MS)
    if (keySet === null) throw away()
    return keySet.find
  }

  return {
    /** @throws unavailable if the issuer does not answer and the key in the token's header is unknown. */
    of:
      (issuer: string): JWTVerifyGetKey =>
      async (header, token) => {
        const entry = entryOf(issuer)
        const find = await current(issuer, entry)
        try {
          return await find(header, token)
        } catch (error) {
          if (!(error instanceof errors.JWKSNoMatchingKey)) throw error
        }
        await readAgain(issuer, entry)
        if (entry.isDown) throw away()
        return (await current(issuer, entry))(header, token)
      },
  }
}
