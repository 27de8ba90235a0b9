// The root key wraps project keys, and nothing else ever leaves or enters it: a process asks it to wrap and to unwrap.
// A provider binds what it wraps to an identity (additional data, an encryption context), so that a wrapped key moved to
// another project's row does not unwrap. `id` names the key, not the place where it lies, and changes with the key; a
// service that rotates its key keeps the old versions, and the id.
//
// A key from a file lies in this process's memory. One that a service keeps (aws-kms.ts, gcp-kms.ts, vault-transit.ts) never comes here.

import type { Db, Tx } from '../../../db/client.ts'
import { lockRootKeyId, readDeployment } from '../../../db/queries/custody/deployment.ts'
import { AppError } from '../../errors.ts'
import { type Identity, NO_KEY_ID, open, seal } from '../sealing/envelope.ts'
import { deriveKey } from '../sealing/kdf.ts'
import { openAwsKmsKey } from './aws-kms.ts'
import { openGcpKmsKey } from './gcp-kms.ts'
import { fingerprintOf, readKey } from './key-source.ts'
import { openVaultTransitKey, type VaultAccess } from './vault-transit.ts'

export type RootKey = {
  readonly id: string
  /** @throws unavailable, where a service that keeps the key does not do it. */
  wrap(input: { readonly key: Uint8Array; readonly identity: Identity }): Promise<Uint8Array>
  /**
   * @returns bytes that the caller zeroes.
   * @throws EnvelopeError for another key's or another identity's; unavailable, where a service does not do it.
   */
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

/** Where the root key is, and what it takes to ask for it. */
export type RootKeySetting = {
  readonly spec: string
  /** null where another than HashiCorp Vault keeps the key. */
  readonly vault: VaultAccess | null
}

/**
 * Opens the root key.
 * @param setting `file:/path` or `fd:N` (32 bytes, raw or in hex or base64), `aws-kms:<key id or ARN>`,
 * `gcp-kms:projects/…/cryptoKeys/…` or `vault-transit:https://host/mount/key`; a bare text where it takes no more.
 * @throws Error with a sentence that says what is wrong, never with anything of the key.
 */
export const openRootKey = async (setting: string | RootKeySetting): Promise<RootKey> => {
  const { spec, vault } = typeof setting === 'string' ? { spec: setting, vault: null } : setting
  const [, scheme, rest = ''] = /^([a-z-]+):(.*)$/s.exec(spec) ?? []
  switch (scheme) {
    case 'file':
    case 'fd':
      return openLocalKey(spec)
    case 'aws-kms':
      return openAwsKmsKey({ key: rest })
    case 'gcp-kms':
      return openGcpKmsKey({ keyName: rest })
    case 'vault-transit':
      return openVaultTransitKey({ place: rest, access: vault })
    default:
      throw new Error('ROOT_KEY must begin with file:, fd:, aws-kms:, gcp-kms: or vault-transit:.')
  }
}

// The root keys that a process holds: the one that the database belongs to, and, for as long as that is being changed,
// the one that comes after it. A process with both needs no pause: each project key says which one wrapped it.

export type WrappedKey = { readonly rootKeyId: string; readonly wrapped: Uint8Array }

export type RootKeys = {
  readonly rootKey: RootKey
  /** The one that comes after it; null where no change is prepared. */
  readonly nextRootKey: RootKey | null
  /** Wraps a new key by the root key that the database belongs to. @throws unavailable */
  wrap(input: { readonly key: Uint8Array; readonly identity: Identity }): Promise<WrappedKey>
  /** @returns bytes that the caller zeroes. @throws EnvelopeError, unavailable. */
  unwrap(input: WrappedKey & { readonly identity: Identity }): Promise<Uint8Array>
  /**
   * For the transaction that writes what `wrap` gave: the database keeps belonging to that root key until it ends, so
   * that a rotation misses no key. @throws busy where it belongs to another one since: begin again.
   */
  keepPresent(tx: Tx, rootKeyId: string): Promise<void>
}

export const createRootKeys = (parts: {
  readonly db: Db
  readonly rootKey: RootKey
  readonly nextRootKey?: RootKey | null | undefined
}): RootKeys => {
  const byId = (id: string): RootKey => {
    const held = [parts.rootKey, parts.nextRootKey].find((each) => each?.id === id)
    if (held) return held
    // A process that was running while the root key was changed, and has only the earlier one.
    throw new AppError(
      'unavailable',
      'A project key is wrapped by another root key than this process has: it must be restarted with the present one.',
    )
  }
  return {
    rootKey: parts.rootKey,
    nextRootKey: parts.nextRootKey ?? null,
    wrap: async (input) => {
      const row = await readDeployment(parts.db)
      const rootKey = byId(row?.rootKeyId ?? parts.rootKey.id)
      return { rootKeyId: rootKey.id, wrapped: await rootKey.wrap(input) }
    },
    unwrap: async ({ rootKeyId, wrapped, identity }) => byId(rootKeyId).unwrap({ wrapped, identity }),
    keepPresent: async (tx, rootKeyId) => {
      const present = await lockRootKeyId(tx, 'share')
      if (present === null || present === rootKeyId) return
      throw new AppError('busy', 'The root key was changed meanwhile: try again.')
    },
  }
}
