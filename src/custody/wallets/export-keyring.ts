// Export: the one act that lets a secret out of the vault, in the answer to whoever proved the whole control.

import type { Db } from '../../../db/client.ts'
import type { KeyringKind } from '../../../db/words.ts'
import { unreachable } from '../../errors.ts'
import type { Audit } from '../audit.ts'
import type { CredentialKeys } from '../credentials/credential-keys.ts'
import { phraseOf } from '../keys/phrase.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { HeldKeys } from '../sealing/held-keys.ts'
import { openKeyring } from '../sealing/hierarchy.ts'
import type { KeyRequest } from './key-opener.ts'
import { openByAllLocks } from './whole-control.ts'

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
  request: KeyRequest,
): Promise<ExportedKeyring> => {
  using keys = new HeldKeys()
  const { wallet, actor } = request
  const { projectId, keyringId } = wallet
  const { row, keyringKey } = await openByAllLocks(parts, request)
  keys.hold(keyringKey)
  const { kind, sealed } = row
  const secret = keys.hold(openKeyring({ projectId, keyringId, kind, keyringKey, sealed }))
  // Durable before the secret goes: there is no export without its row.
  const details = { keyring_id: keyringId, keyring_kind: kind }
  await parts.audit.commit({ projectId, actor, action: 'wallet_exported', subject: wallet.id, details })
  return textOf(kind, secret)
}
