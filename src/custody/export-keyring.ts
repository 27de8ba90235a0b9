// Export: the one act that lets a secret out of the vault, in the answer to whoever proved control. It takes the
// credential of every lock of the keyring: where control is shared, neither side takes it away from the other alone.

import type { Db } from '../../db/client.ts'
import { readKeyring } from '../../db/queries/keyrings.ts'
import { CONTROL_MODES, type KeyringKind } from '../../db/words.ts'
import { unreachable } from '../errors.ts'
import type { Audit } from './audit.ts'
import type { CredentialKeys } from './credential-keys.ts'
import { requireCredentials } from './credentials.ts'
import { refuseFrozen } from './frozen.ts'
import { HeldKeys } from './held-keys.ts'
import { openKeyring } from './hierarchy.ts'
import type { KeyRequest } from './key-opener.ts'
import { openOwnerLock } from './owner-locks.ts'
import { phraseOf } from './phrase.ts'
import type { ProjectKeys } from './project-keys.ts'

/** Exactly one of them; strings, which the caller shows and forgets. */
export type ExportedKeyring = {
  readonly mnemonicPhrase: string | null
  /** 0x and 64 hex digits in lower case. */
  readonly privateKey: string | null
}

const textOf = (kind: KeyringKind, secret: Uint8Array): ExportedKeyring => {
  switch (kind) {
    case 'seed':
    case 'phrase':
      return { mnemonicPhrase: phraseOf(secret), privateKey: null }
    case 'key':
      return { mnemonicPhrase: null, privateKey: `0x${Buffer.from(secret).toString('hex')}` }
    default:
      return unreachable(kind)
  }
}

/** Opens the secret of a wallet's keyring, as `Vault.exportKeyring` says. */
export const exportKeyring = async (
  parts: {
    readonly db: Db
    readonly projectKeys: ProjectKeys
    readonly credentialKeys: CredentialKeys
    readonly audit: Audit
  },
  { wallet, credentials, actor }: KeyRequest,
): Promise<ExportedKeyring> => {
  using keys = new HeldKeys()
  const { projectId, ownerId, keyringId, controlMode } = wallet
  const row = await readKeyring(parts.db, wallet)
  const lock = row?.locks[controlMode]
  if (!row || !lock) throw new Error('a wallet has no keyring, or no lock of its control mode')
  const { kind, locks, sealed } = row
  const modes = CONTROL_MODES.filter((mode) => locks[mode] !== null)
  const proof = requireCredentials({ modes, credentials })
  refuseFrozen(row.frozen)
  const opened = await parts.credentialKeys.open({ projectId, ownerId, actor, proof, rows: row, keys })
  const credentialKey = opened[controlMode]
  if (credentialKey === null) throw new Error("a wallet's own credential is always among the required ones")
  const keyringKey = keys.hold(await openOwnerLock(parts.projectKeys, { projectId, keyringId, lock, credentialKey }))
  const secret = keys.hold(openKeyring({ projectId, keyringId, kind, keyringKey, sealed }))
  // Durable before the secret goes: there is no export without its row.
  const details = { keyring_id: keyringId, keyring_kind: kind }
  await parts.audit.commit({ projectId, actor, action: 'wallet_exported', subject: wallet.id, details })
  return textOf(kind, secret)
}
