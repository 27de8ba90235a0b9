// The two secrets of a deployment that open no wallet: no key of the hierarchy is derived from them or sealed with
// them.
//
//   SERVICE_KEY    APIs and workers have it. It seals unsent mails, and makes the MACs of the worker's audit rows.
//   IDENTITY_KEY   Only APIs have it. It seals the keys that sign access tokens, and makes the MACs of refresh tokens,
//                  login codes, users' ids, throttles, rows that decide who a caller is, and the API's audit rows. So a
//                  worker can neither make a token nor find out a code.
//
// During a change, a process has two keys: it seals with its own, and also accepts the other, until the database says
// that this one was retired (src/operators/keys/rotate.ts).

import { timingSafeEqual } from 'node:crypto'
import type { Secret } from '../../../db/words.ts'
import { AppError } from '../errors.ts'
import { encodeFields, HeldKeys } from './bytes.ts'
import { EnvelopeError, NO_KEY_ID, open, seal } from './envelope.ts'
import { deriveKey, hmac } from './kdf.ts'
import { fingerprintOf, readKey } from './key-source.ts'

export type Verifier = (fields: readonly (string | Uint8Array)[], mac: Uint8Array | null) => boolean

/** The uses of a secret other than sealing. */
export type Derived = {
  /** HKDF(key, purpose): 32 bytes, always the same. */
  derive(purpose: string): Uint8Array
  /** HMAC-SHA-256 under `derive(purpose)`, 32 bytes. Different lists of fields have different MACs. */
  authenticator(purpose: string): (fields: readonly (string | Uint8Array)[]) => Uint8Array
  verifier(purpose: string): Verifier
}

export type SealingKey = Derived & {
  /** Names the key, not the place where it is kept. */
  readonly id: string
  seal(input: { readonly purpose: string; readonly rowId: string; readonly plaintext: Uint8Array }): Uint8Array
  /** @throws EnvelopeError */
  open(input: { readonly purpose: string; readonly rowId: string; readonly sealed: Uint8Array }): Uint8Array
}

export type Sealer = SealingKey & {
  /** Its own key alone. */
  readonly own: SealingKey
  /** The key that is accepted too; null if there is none, or if it was retired. */
  other(): SealingKey | null
  /** Accepts these keys no more. If its own is among them, everything but this is refused with `unavailable`. */
  retire(ids: readonly string[]): void
  /** @throws unavailable if its own key was retired. */
  requirePresent(): void
}

/** Sealed with `SERVICE_KEY`, which opens no wallet. */
export type HasSealer = { readonly sealer: Sealer }

/** Sealed with `IDENTITY_KEY`, which protects identities. The worker does not have it. */
export type HasIdentity = { readonly identity: Sealer }

/** The purpose of the keys with which MACs of audit rows are made. */
export const AUDIT_PURPOSE = 'audit'

/** By the secret's variable: its word in the identities of sealed values. */
const KINDS = { SERVICE_KEY: 'service', IDENTITY_KEY: 'identity' } as const satisfies Record<Secret, string>

const identityOf = (name: Secret, value: { readonly purpose: string; readonly rowId: string }) => ({
  purpose: `${KINDS[name]} ${value.purpose}`,
  projectId: '',
  keyringId: '',
  walletId: '',
  rowId: value.rowId,
})

/** @param key what `derive` gave, 32 bytes, kept. */
export const verifierWith =
  (key: Uint8Array): Verifier =>
  (fields, mac) => {
    const expected = hmac({ key, message: encodeFields(fields) })
    return mac?.length === expected.length && timingSafeEqual(mac, expected)
  }

/** @param secret 32 bytes, kept. */
export const derivedFrom = (secret: Uint8Array): Derived => ({
  derive: (purpose) => deriveKey(secret, [purpose]),
  authenticator: (purpose) => {
    const key = deriveKey(secret, [purpose])
    return (fields) => hmac({ key, message: encodeFields(fields) })
  },
  verifier: (purpose) => verifierWith(deriveKey(secret, [purpose])),
})

const keyFrom = (name: Secret, secret: Uint8Array): SealingKey => {
  // One label more than in `derive`, so that no purpose gives the key that seals another purpose's values.
  const sealingKey = (purpose: string) => deriveKey(secret, ['seal', purpose])
  return {
    ...derivedFrom(secret),
    id: fingerprintOf(secret),
    seal: ({ plaintext, ...value }) => {
      using keys = new HeldKeys()
      const key = keys.hold(sealingKey(value.purpose))
      return seal({ key, keyId: NO_KEY_ID, identity: identityOf(name, value), plaintext })
    },
    open: ({ sealed, ...value }) => {
      using keys = new HeldKeys()
      const key = keys.hold(sealingKey(value.purpose))
      return open({ key, keyId: NO_KEY_ID, identity: identityOf(name, value), sealed })
    },
  }
}

/** @param input.spec `file:/path` or `fd:N`: 32 bytes, raw, hex or base64. @param input.otherSpec likewise. */
export const openSealer = async (input: {
  readonly name: Secret
  readonly spec: string
  readonly otherSpec?: string | null
}): Promise<Sealer> => {
  const { name, spec, otherSpec = null } = input
  const own = keyFrom(name, readKey({ name, spec }))
  let other = otherSpec === null ? null : keyFrom(name, readKey({ name: `${name}_OTHER`, spec: otherSpec }))
  if (other?.id === own.id) throw new Error(`${name} and ${name}_OTHER must be two different keys.`)
  let isRetired = false
  const requirePresent = (): void => {
    if (!isRetired) return
    throw new AppError('unavailable', `${name} was changed: this process must be restarted with the present one.`)
  }
  return {
    id: own.id,
    own,
    other: () => other,
    requirePresent,
    retire: (ids) => {
      if (ids.includes(own.id)) isRetired = true
      if (other !== null && ids.includes(other.id)) other = null
    },
    derive: own.derive,
    authenticator: (purpose) => {
      const authenticate = own.authenticator(purpose)
      return (fields) => {
        requirePresent()
        return authenticate(fields)
      }
    },
    verifier: (purpose) => {
      const [isOwn, isOther] = [own.verifier(purpose), other?.verifier(purpose) ?? null]
      return (fields, mac) => {
        requirePresent()
        return isOwn(fields, mac) || (other !== null && isOther?.(fields, mac) === true)
      }
    },
    seal: (value) => {
      requirePresent()
      return own.seal(value)
    },
    open: (value) => {
      requirePresent()
      try {
        return own.open(value)
      } catch (error) {
        if (other === null || !(error instanceof EnvelopeError)) throw error
        return other.open(value)
      }
    },
  }
}
