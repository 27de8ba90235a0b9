import type { Db } from '../../../db/client.ts'
import { readWalletKeys, type WalletKeyRow } from '../../../db/queries/custody/keyrings.ts'
import type { ControlMode, Network } from '../../../db/words.ts'
import { createBatcher } from '../../queue.ts'
import type { CredentialKeys } from '../credentials/credential-keys.ts'
import { type Credentials, type Proof, refuseFrozen, requireCredentials } from '../credentials/credentials.ts'
import type { ProjectKeys } from '../root/project-keys.ts'
import { HeldKeys } from '../sealing/bytes.ts'
import { openWalletKey } from '../sealing/hierarchy.ts'
import { openByAllLocks, openOwnerLock } from './keyring.ts'
import { findPolicyLock, openByPolicyLock } from './policy-locks.ts'

const READ_TOGETHER_MAX = 500

export type WalletRef = {
  readonly id: string
  readonly projectId: string
  readonly ownerId: string
  readonly network: Network
  readonly keyringId: string
  readonly controlMode: ControlMode
  /** 65 bytes uncompressed secp256k1, or 32 bytes sr25519. */
  readonly publicKey: Uint8Array
}

export type KeyRequest = {
  readonly wallet: WalletRef
  readonly credentials: Credentials
  /** `api_key:<id>`, `session:<id>`, `operator` or `system`. */
  readonly actor: string
}

/** A use of a wallet's key. */
export type KeyUse = KeyRequest & {
  /** By whose lock the developer's secret opens a user-controlled wallet, where it is judged to allow the use. */
  readonly policyId?: string | undefined
}

type Parts = { readonly db: Db; readonly projectKeys: ProjectKeys; readonly credentialKeys: CredentialKeys }

type Opening = {
  readonly wallet: WalletRef
  readonly actor: string
  readonly proof: Proof
  readonly row: WalletKeyRow
}

/** From the credential down to the wallet's private key. */
const openHierarchy = async (parts: Parts, opening: Opening): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const { wallet, actor, proof, row } = opening
  const { id: walletId, projectId, ownerId, keyringId } = wallet
  const opened = await parts.credentialKeys.open({ projectId, ownerId, actor, proof, rows: row, keys })
  const credentialKey = opened[wallet.controlMode]
  if (credentialKey === null) throw new Error("a wallet's own credential is always the required one")
  const { lock } = row
  const keyringKey = keys.hold(await openOwnerLock(parts.projectKeys, { projectId, keyringId, lock, credentialKey }))
  return openWalletKey({ projectId, keyringId, walletId, keyringKey, sealed: row.sealed })
}

/**
 * Opens wallets' private keys. A key costs one read, which concurrent requests share; what the credential opens is
 * never remembered, so that each request proves it anew.
 * @returns a function from a request to 32 bytes that the caller zeroes.
 */
export const createKeyOpener = (parts: Parts): ((use: KeyUse) => Promise<Uint8Array>) => {
  const readTogether = createBatcher({
    sizeMax: READ_TOGETHER_MAX,
    run: async (ids: readonly string[]) =>
      new Map((await readWalletKeys(parts.db, ids)).map((row) => [row.walletId, row])),
  })
  return async ({ wallet, credentials, actor, policyId }) => {
    const byPolicy = policyId !== undefined
    const proof = requireCredentials({ modes: [byPolicy ? 'developer' : wallet.controlMode], credentials })
    const lock = byPolicy ? await findPolicyLock(parts.db, { policyId, wallet }) : null
    const row = (await readTogether(wallet.id)).get(wallet.id)
    if (row === undefined) throw new Error('a wallet has no sealed key, or no lock of its control mode')
    refuseFrozen(row.frozen)
    const { developerSecret: secret } = proof
    if (lock === null || secret === null) return openHierarchy(parts, { wallet, actor, proof, row })
    return openByPolicyLock(parts, { wallet, actor, secret, row, lock })
  }
}

/** A wallet's private key, with the credentials of all locks of its keyring: 32 bytes that the caller zeroes. */
export const openKeyByAllLocks = async (parts: Parts, request: KeyRequest): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const { row, keyringKey } = await openByAllLocks(parts, request)
  keys.hold(keyringKey)
  const { id: walletId, projectId, keyringId } = request.wallet
  return openWalletKey({ projectId, keyringId, walletId, keyringKey, sealed: row.walletKey })
}
