// The two secrets of a deployment that open no wallet: no key of the hierarchy is derived from them or sealed with them.
//
// SERVICE_KEY: APIs and workers have it, and no vault. It seals unsent mails, and makes the MACs of the worker's few audit rows.
// IDENTITY_KEY: only the API has it. It seals the keys that sign access tokens, and makes the MACs of refresh tokens, login
// codes, users' ids, throttles, the rows that decide who a caller is, and its audit rows. So the worker can neither make a
// token nor find out a code.

import { fingerprintOf, readKey } from './root/key-source.ts'
import { encodeFields, HeldKeys } from './sealing/bytes.ts'
import { NO_KEY_ID, open, seal } from './sealing/envelope.ts'
import { deriveKey, hmac } from './sealing/kdf.ts'

/** The uses of a secret other than sealing. */
export type Derived = {
  /** HKDF(key, purpose): 32 bytes, always the same. */
  derive(purpose: string): Uint8Array
  /** HMAC-SHA-256 under `derive(purpose)`, 32 bytes. Different lists of fields have different MACs. */
  authenticator(purpose: string): (fields: readonly (string | Uint8Array)[]) => Uint8Array
}

export type Sealer = Derived & {
  /** Names the key, not the place where it is kept. */
  readonly id: string
  seal(input: { readonly purpose: string; readonly rowId: string; readonly plaintext: Uint8Array }): Uint8Array
  /** @throws EnvelopeError */
  open(input: { readonly purpose: string; readonly rowId: string; readonly sealed: Uint8Array }): Uint8Array
}

/** By the secret's variable: its word in the identities of sealed values. */
const KINDS = { SERVICE_KEY: 'service', IDENTITY_KEY: 'identity' } as const

type SealerName = keyof typeof KINDS

const identityOf = (name: SealerName, of: { readonly purpose: string; readonly rowId: string }) => ({
  purpose: `${KINDS[name]} ${of.purpose}`,
  projectId: '',
  keyringId: '',
  walletId: '',
  rowId: of.rowId,
})

/** @param secret 32 bytes, kept. */
export const derivedFrom = (secret: Uint8Array): Derived => ({
  derive: (purpose) => deriveKey(secret, [purpose]),
  authenticator: (purpose) => {
    const key = deriveKey(secret, [purpose])
    return (fields) => hmac({ key, message: encodeFields(fields) })
  },
})

/**
 * Opens the service key or the identity key.
 * @param input.spec `file:/path` or `fd:N`: 32 bytes, raw or in hex or base64.
 */
export const openSealer = async (input: { readonly name: SealerName; readonly spec: string }): Promise<Sealer> => {
  const { name } = input
  const secret = readKey(input)
  // One label more than in `derive`, so that no purpose gives the key that seals another purpose's values.
  const sealingKey = (purpose: string) => deriveKey(secret, ['seal', purpose])
  return {
    ...derivedFrom(secret),
    id: fingerprintOf(secret),
    seal: ({ plaintext, ...of }) => {
      using keys = new HeldKeys()
      const key = keys.hold(sealingKey(of.purpose))
      return seal({ key, keyId: NO_KEY_ID, identity: identityOf(name, of), plaintext })
    },
    open: ({ sealed, ...of }) => {
      using keys = new HeldKeys()
      const key = keys.hold(sealingKey(of.purpose))
      return open({ key, keyId: NO_KEY_ID, identity: identityOf(name, of), sealed })
    },
  }
}
