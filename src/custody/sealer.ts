// SERVICE_KEY: what every process may seal and open (login codes, webhook secrets, token-signing keys), and the key of
// the audit rows' MACs. It opens no wallet: no key of the hierarchy is derived from it or sealed under it.

import { encodeFields } from './encoding.ts'
import { NO_KEY_ID, open, seal } from './envelope.ts'
import { HeldKeys } from './held-keys.ts'
import { deriveKey, hmac } from './kdf.ts'
import { fingerprintOf, readKey } from './key-source.ts'

export type Sealer = {
  /** Names the key, not the place where it lies. */
  readonly id: string
  /** HKDF(SERVICE_KEY, purpose): 32 bytes, always the same. */
  derive(purpose: string): Uint8Array
  /** HMAC-SHA-256 under `derive(purpose)`, 32 bytes: no two different lists of fields have the same. */
  authenticator(purpose: string): (fields: readonly (string | Uint8Array)[]) => Uint8Array
  seal(input: { readonly purpose: string; readonly rowId: string; readonly plaintext: Uint8Array }): Uint8Array
  /** @throws EnvelopeError for what was sealed for another purpose or row, or by another key. */
  open(input: { readonly purpose: string; readonly rowId: string; readonly sealed: Uint8Array }): Uint8Array
}

const identityOf = (of: { readonly purpose: string; readonly rowId: string }) => ({
  purpose: `service ${of.purpose}`,
  projectId: '',
  keyringId: '',
  walletId: '',
  rowId: of.rowId,
})

/**
 * Opens the service key.
 * @param spec `file:/path` or `fd:N`: 32 bytes, raw or in hex or base64.
 * @throws Error with a sentence that says what is wrong, never with anything of the key.
 */
export const openSealer = async (spec: string): Promise<Sealer> => {
  const serviceKey = readKey({ name: 'SERVICE_KEY', spec })
  // One label more than `derive` takes, so that no purpose can ask for the key under which another one's values lie.
  const sealingKey = (purpose: string) => deriveKey(serviceKey, ['seal', purpose])
  return {
    id: fingerprintOf(serviceKey),
    derive: (purpose) => deriveKey(serviceKey, [purpose]),
    authenticator: (purpose) => {
      const key = deriveKey(serviceKey, [purpose])
      return (fields) => hmac({ key, message: encodeFields(fields) })
    },
    seal: ({ plaintext, ...of }) => {
      using keys = new HeldKeys()
      const key = keys.hold(sealingKey(of.purpose))
      return seal({ key, keyId: NO_KEY_ID, identity: identityOf(of), plaintext })
    },
    open: ({ sealed, ...of }) => {
      using keys = new HeldKeys()
      const key = keys.hold(sealingKey(of.purpose))
      return open({ key, keyId: NO_KEY_ID, identity: identityOf(of), sealed })
    },
  }
}
