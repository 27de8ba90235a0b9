import type { Db } from '../../db/client.ts'
import { readWalletKeys, type WalletKeyRow } from '../../db/queries/keyrings.ts'
import type { ControlMode } from '../../db/words.ts'
import { createBatcher } from '../batcher.ts'
import type { CredentialKeys } from './credential-keys.ts'
import { type Credentials, type Proof, requireCredentials } from './credentials.ts'
import { HeldKeys } from './held-keys.ts'
import { identityOf, openLock, openWalletKey } from './hierarchy.ts'
import type { ProjectKeys } from './project-keys.ts'

const READ_TOGETHER_MAX = 500

export type WalletRef = {
  readonly id: string
  readonly projectId: string
  readonly ownerId: string
  readonly keyringId: string
  readonly controlMode: ControlMode
}

export type KeyRequest = {
  readonly wallet: WalletRef
  readonly credentials: Credentials
  /** `api_key:<id>`, `session:<id>`, `operator` or `system`. */
  readonly actor: string
}

type Parts = { readonly db: Db; readonly projectKeys: ProjectKeys; readonly credentialKeys: CredentialKeys }

type Opening = { readonly wallet: WalletRef; readonly proof: Proof; readonly row: WalletKeyRow }

/** The key of the credential of the wallet's control mode: the developer key, or the user key. */
const openCredential = (parts: Parts, { wallet, proof, row }: Opening): Promise<Uint8Array> => {
  const { projectId, ownerId } = wallet
  const { developerSecret: secret, userPin: pin } = proof
  if (secret !== null) return parts.credentialKeys.openDeveloper({ projectId, sealed: row.developerKey, secret })
  if (pin === null || row.userKey === null) throw new Error('a user-controlled wallet has an owner without a user key')
  return parts.credentialKeys.openUser({ projectId, ownerId, row: row.userKey, pin })
}

/** From the credential down to the wallet's private key. */
const openHierarchy = async (parts: Parts, opening: Opening): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const { wallet, row } = opening
  const { id: walletId, projectId, keyringId } = wallet
  const credentialKey = keys.hold(await openCredential(parts, opening))
  const lock = { projectId, keyringId, lockId: row.lock.id }
  const inner = await parts.projectKeys.peel({ identity: identityOf.ownerLock(lock), sealed: row.lock.sealed })
  const keyringKey = keys.hold(openLock({ ...lock, credentialKey, sealed: inner }))
  return openWalletKey({ projectId, keyringId, walletId, keyringKey, sealed: row.sealed })
}

/**
 * Opens wallets' private keys. A key costs one read, which concurrent requests share; what the credential opens is
 * never remembered, so that each request proves it anew.
 * @returns a function from a request to 32 bytes that the caller zeroes.
 */
export const createKeyOpener = (parts: Parts): ((request: KeyRequest) => Promise<Uint8Array>) => {
  const readTogether = createBatcher({
    sizeMax: READ_TOGETHER_MAX,
    run: async (ids: readonly string[]) =>
      new Map((await readWalletKeys(parts.db, ids)).map((row) => [row.walletId, row])),
  })
  return async ({ wallet, credentials }) => {
    const proof = requireCredentials({ modes: [wallet.controlMode], credentials })
    const row = (await readTogether(wallet.id)).get(wallet.id)
    if (row === undefined) throw new Error('a wallet has no sealed key, or no lock of its control mode')
    return openHierarchy(parts, { wallet, proof, row })
  }
}
