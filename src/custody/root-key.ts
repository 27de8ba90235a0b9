// The root key wraps project keys, and nothing else ever leaves or enters it: a process asks it to wrap and to unwrap.
// A provider binds what it wraps to an identity (additional data, an encryption context), so that a wrapped key moved to
// another project's row does not unwrap. `id` names the key, not the place where it lies, and changes with the key.

import { type Identity, NO_KEY_ID, open, seal } from './envelope.ts'
import { deriveKey } from './kdf.ts'
import { fingerprintOf, readKey } from './key-source.ts'

export type RootKey = {
  readonly id: string
  wrap(input: { readonly key: Uint8Array; readonly identity: Identity }): Promise<Uint8Array>
  /** @returns bytes that the caller zeroes. @throws EnvelopeError for another key's or another identity's. */
  unwrap(input: { readonly wrapped: Uint8Array; readonly identity: Identity }): Promise<Uint8Array>
}

/** The root key from a file or a file descriptor: it lies in this process's memory for as long as the process runs. */
const openLocalKey = (spec: string): RootKey => {
  const secret = readKey({ name: 'ROOT_KEY', spec })
  const key = deriveKey(secret, ['root key'])
  const id = fingerprintOf(secret)
  secret.fill(0)
  return {
    id,
    wrap: async (input) => seal({ key, keyId: NO_KEY_ID, identity: input.identity, plaintext: input.key }),
    unwrap: async (input) => open({ key, keyId: NO_KEY_ID, identity: input.identity, sealed: input.wrapped }),
  }
}

/**
 * Opens the root key.
 * @param spec `file:/path` or `fd:N`: 32 bytes, raw or in hex or base64.
 * @throws Error with a sentence that says what is wrong, never with anything of the key.
 */
export const openRootKey = async (spec: string): Promise<RootKey> => openLocalKey(spec)
