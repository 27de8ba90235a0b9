// The deployment's key: 32 random bytes, wrapped with the root key, which only a vault has. The first vault makes it, and it
// stays the same when the root key is changed. What belongs to no single project is under keys that are derived from it: the
// vault's rows and chains of the audit, and the names under which wrong PINs are counted by caller. It opens no wallet.

import { randomBytes } from 'node:crypto'
import type { RowIdentity } from '../../../platform/sealing/envelope.ts'
import { KEY_BYTES } from '../../../platform/sealing/kdf.ts'
import { type Derived, derivedFrom } from '../../../platform/sealing/sealer.ts'
import type { RootKey } from './root-key.ts'

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
