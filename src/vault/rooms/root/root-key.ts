// The root key only wraps and unwraps project keys and the deployment's key. What it wraps is bound to an identity
// (additional data or an encryption context), so that a wrapped key in another row does not unwrap. A key from a file
// is in this process's memory; a key in a service (aws-kms.ts, gcp-kms.ts, vault-transit.ts) is not.

import { randomBytes } from 'node:crypto'
import type { Db, Tx } from '../../../../db/client.ts'
import { lockRootKeyId, readDeployment } from '../../../../db/queries/vault/deployment.ts'
import { NO_KEY_ID, open, type RowIdentity, seal } from '../../../platform/sealing/envelope.ts'
import { deriveKey, KEY_BYTES } from '../../../platform/sealing/kdf.ts'
import { fingerprintOf, readKey } from '../../../platform/sealing/key-source.ts'
import { type Derived, derivedFrom } from '../../../platform/sealing/sealer.ts'
import { UnfitVault } from '../../contract/contract.ts'
import { KeyRotated } from '../../contract/repeatable.ts'
import { openAwsKmsKey } from './aws-kms.ts'
import { openGcpKmsKey } from './gcp-kms.ts'
import { openVaultTransitKey, type VaultAccess } from './vault-transit.ts'

/**
 * 32 random bytes, wrapped with the root key, which only a vault has. The first vault makes them, and a change of the
 * root key keeps them. From them come the keys for what belongs to no single project: the vault's rows and chains of
 * the audit, and the names under which wrong PINs are counted by caller. They open no wallet.
 */
export type DeploymentKey = Derived

/** Part of the frozen format. */
export const DEPLOYMENT_KEY: RowIdentity = {
  purpose: 'deployment key',
  projectId: '',
  keyringId: '',
  walletId: '',
  rowId: '1',
}

/** @returns a new one, wrapped. */
export const newDeploymentKey = async (rootKey: RootKey): Promise<Uint8Array> => {
  const key = randomBytes(KEY_BYTES)
  try {
    return await rootKey.wrap({ key, identity: DEPLOYMENT_KEY })
  } finally {
    key.fill(0)
  }
}

/** It stays in this process's memory. @throws EnvelopeError */
export const openDeploymentKey = async (rootKey: RootKey, wrapped: Uint8Array): Promise<DeploymentKey> =>
  derivedFrom(await rootKey.unwrap({ wrapped, identity: DEPLOYMENT_KEY }))

export type RootKey = {
  /** Names the key, not its place. It stays the same when a service makes a new version of the key. */
  readonly id: string
  /** @throws unavailable if the key's service does not answer. */
  wrap(input: { readonly key: Uint8Array; readonly identity: RowIdentity }): Promise<Uint8Array>
  /** @returns bytes that the caller zeroes. @throws EnvelopeError */
  unwrap(input: { readonly wrapped: Uint8Array; readonly identity: RowIdentity }): Promise<Uint8Array>
}

/** The root key from a file or a file descriptor. It stays in this process's memory. */
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
 * @param setting `file:/path` or `fd:N` (32 bytes, raw or in hex or base64), `aws-kms:<key id or ARN>`,
 * `gcp-kms:projects/…/cryptoKeys/…` or `vault-transit:https://host/mount/key`; `vault`: null for other keys.
 * A text alone is a `spec` without Vault.
 * @throws Error with a sentence that says what is wrong, and contains nothing of the key.
 */
export const openRootKey = async (
  setting: string | { readonly spec: string; readonly vault: VaultAccess | null },
): Promise<RootKey> => {
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

type WrappedKey = { readonly rootKeyId: string; readonly wrapped: Uint8Array }

/** The root key that the database belongs to and, during a change, the next one. A process with both works on. */
export type RootKeys = ReturnType<typeof createRootKeys>

export const createRootKeys = (parts: {
  readonly db: Db
  readonly rootKey: RootKey
  readonly nextRootKey?: RootKey | null | undefined
}) => {
  const held = [parts.rootKey, parts.nextRootKey ?? null].filter((each) => each !== null)
  const ids = held.map(({ id }) => id)
  const requireKey = (id: string): RootKey => {
    const fitting = held.find((each) => each.id === id)
    if (fitting === undefined) throw new UnfitVault()
    return fitting
  }
  return {
    ids,
    rootKey: parts.rootKey,
    nextRootKey: parts.nextRootKey ?? null,
    /** Wraps a new key with the root key that the database belongs to. */
    wrap: async (input: Parameters<RootKey['wrap']>[0]): Promise<WrappedKey> => {
      const row = await readDeployment(parts.db)
      const rootKey = requireKey(row?.rootKeyId ?? parts.rootKey.id)
      return { rootKeyId: rootKey.id, wrapped: await rootKey.wrap(input) }
    },
    arePresent: async (): Promise<boolean> => {
      const row = await readDeployment(parts.db)
      return ids.some((id) => id === row?.rootKeyId)
    },
    /** @returns bytes that the caller zeroes. @throws EnvelopeError */
    unwrap: async ({ rootKeyId, wrapped, identity }: WrappedKey & { readonly identity: RowIdentity }) =>
      requireKey(rootKeyId).unwrap({ wrapped, identity }),
    /** In the transaction that writes what `wrap` made: until its end no rotation commits. @throws KeyRotated */
    keepPresent: async (tx: Tx, rootKeyId: string) => {
      const present = await lockRootKeyId(tx, 'share')
      if (present === null || present === rootKeyId) return
      throw new KeyRotated('root key')
    },
  }
}
