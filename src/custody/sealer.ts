// The root secrets that open no wallet: no key of the hierarchy is derived from one of them or sealed under it.
//
// SERVICE_KEY, which every process has: mails on their way, and the MACs of the audit.
// IDENTITY_KEY, which the API alone has: everything that decides who somebody is. It seals the keys that sign access
// tokens, and it is the key of refresh tokens, of login codes, of users' ids and of throttles. So the worker, which has
// SERVICE_KEY, can neither make a token nor find out a code.

import { fingerprintOf, readKey } from './root/key-source.ts'
import { encodeFields, HeldKeys } from './sealing/bytes.ts'
import { NO_KEY_ID, open, seal } from './sealing/envelope.ts'
import { deriveKey, hmac } from './sealing/kdf.ts'

export type Sealer = {
  /** Names the key, not the place where it lies. */
  readonly id: string
  /** HKDF(key, purpose): 32 bytes, always the same. */
  derive(purpose: string): Uint8Array
  /** HMAC-SHA-256 under `derive(purpose)`, 32 bytes: no two different lists of fields have the same. */
  authenticator(purpose: string): (fields: readonly (string | Uint8Array)[]) => Uint8Array
  seal(input: { readonly purpose: string; readonly rowId: string; readonly plaintext: Uint8Array }): Uint8Array
  /** @throws EnvelopeError for what was sealed for another purpose or row, or by another key. */
  open(input: { readonly purpose: string; readonly rowId: string; readonly sealed: Uint8Array }): Uint8Array
}

/** The variable that says where the secret is, and what names it in what it seals. */
const KINDS = { SERVICE_KEY: 'service', IDENTITY_KEY: 'identity' } as const

type SealerName = keyof typeof KINDS

const identityOf = (name: SealerName, of: { readonly purpose: string; readonly rowId: string }) => ({
  purpose: `${KINDS[name]} ${of.purpose}`,
  projectId: '',
  keyringId: '',
  walletId: '',
  rowId: of.rowId,
})

/**
 * Opens the service key or the identity key.
 * @param input.spec `file:/path` or `fd:N`: 32 bytes, raw or in hex or base64.
 * @throws Error with a sentence that says what is wrong, never with anything of the key.
 */
export const openSealer = async (input: { readonly name: SealerName; readonly spec: string }): Promise<Sealer> => {
  const { name } = input
  const secret = readKey(input)
  // One label more than `derive` takes, so that no purpose can ask for the key under which another one's values lie.
  const sealingKey = (purpose: string) => deriveKey(secret, ['seal', purpose])
  return {
    id: fingerprintOf(secret),
    derive: (purpose) => deriveKey(secret, [purpose]),
    authenticator: (purpose) => {
      const key = deriveKey(secret, [purpose])
      return (fields) => hmac({ key, message: encodeFields(fields) })
    },
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
