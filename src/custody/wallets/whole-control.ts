// Whole control: what a keyring can do that goes beyond transactions takes the credential of every lock of it. Where control
// is shared, neither side does it alone, and no policy's lock leads here.

import type { Db } from '../../../db/client.ts'
import { type KeyringRow, readKeyring } from '../../../db/queries/custody/keyrings.ts'
import { CONTROL_MODES } from '../../../db/words.ts'
import type { CredentialKeys } from '../credentials/credential-keys.ts'
import { requireCredentials } from '../credentials/credentials.ts'
import { refuseFrozen } from '../credentials/frozen.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { HeldKeys } from '../sealing/held-keys.ts'
import { openWalletKey } from '../sealing/hierarchy.ts'
import type { KeyRequest } from './key-opener.ts'
import { openOwnerLock } from './owner-locks.ts'

type Parts = { readonly db: Db; readonly projectKeys: ProjectKeys; readonly credentialKeys: CredentialKeys }

type OpenedKeyring = { readonly row: KeyringRow; readonly keyringKey: Uint8Array }

/** Opens a wallet's keyring with the credentials of all its locks; whoever gets its key zeroes it. */
export const openByAllLocks = async (
  parts: Parts,
  { wallet, credentials, actor }: KeyRequest,
): Promise<OpenedKeyring> => {
  using keys = new HeldKeys()
  const { projectId, ownerId, keyringId, controlMode } = wallet
  const row = await readKeyring(parts.db, wallet)
  const lock = row?.locks[controlMode]
  if (!row || !lock) throw new Error('a wallet has no keyring, or no lock of its control mode')
  const modes = CONTROL_MODES.filter((mode) => row.locks[mode] !== null)
  const proof = requireCredentials({ modes, credentials })
  refuseFrozen(row.frozen)
  const opened = await parts.credentialKeys.open({ projectId, ownerId, actor, proof, rows: row, keys })
  const credentialKey = opened[controlMode]
  if (credentialKey === null) throw new Error("a wallet's own credential is always among the required ones")
  return { row, keyringKey: await openOwnerLock(parts.projectKeys, { projectId, keyringId, lock, credentialKey }) }
}

/** A wallet's private key, likewise: 32 bytes that the caller zeroes. */
export const openKeyByAllLocks = async (parts: Parts, request: KeyRequest): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const { row, keyringKey } = await openByAllLocks(parts, request)
  keys.hold(keyringKey)
  const { id: walletId, projectId, keyringId } = request.wallet
  return openWalletKey({ projectId, keyringId, walletId, keyringKey, sealed: row.walletKey })
}
