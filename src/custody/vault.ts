// The vault: the only place where a plaintext key, seed or credential exists.
//
// Read the rooms in this order: sealing (how a secret lies in a row, and which key opens which), root (the root key and the
// project keys that it wraps), credentials (checks, limits and changes of PINs and developer secrets), keys (derivation and
// signing), wallets (making and opening them), rotation. Files beside this one are doors: others import these, never a room.
//
// What holds everywhere: no database transaction or connection is held while argon2 runs or the root key is asked; key
// bytes are zeroed when the block that holds them ends; no error carries a credential, a key or a sealed value.

import type { Tx } from '../../db/client.ts'
import type { ChainFamily } from '../../db/words.ts'
import type { Load } from '../queue.ts'
import { changeDeveloperSecret, changeUserPin } from './credentials/change-credential.ts'
import { unlockOwner } from './credentials/guard.ts'
import { activateProject, type NewProject, newProject } from './credentials/new-project.ts'
import { type CustodySettings, createCustodyCtx } from './ctx.ts'
import { type ImportedText, publicKeyOfImported } from './keys/imported.ts'
import { type ProjectRotation, rotateProjectKey } from './rotation/rotate-project.ts'
import { type Progress, type RootRotation, rotateRootKey } from './rotation/rotate-root.ts'
import { type ExportedKeyring, exportKeyring } from './wallets/keyring.ts'
import { type NewWallet, type NewWalletInput, newWallet } from './wallets/new-wallet.ts'
import { newPolicyLock, type PolicyChange, revokePolicy } from './wallets/policy-locks.ts'
import {
  type KeyHandle,
  type KeyRequest,
  type KeyUse,
  type WalletRef,
  withKey,
  withKeyForMessage,
} from './wallets/wallet-key.ts'

export type { Audit, AuditAct, AuditEntry } from './audit.ts'
export type { Credentials } from './credentials/credentials.ts'
export { TESTNET_DEVELOPER_SECRET } from './credentials/developer-secret.ts'
export type { NewProject } from './credentials/new-project.ts'
export type { ImportedText } from './keys/imported.ts'
export { ProjectKeyRotated } from './root/project-keys.ts'
export { openRootKey } from './root/root-key.ts'
export type { ProjectRotation } from './rotation/rotate-project.ts'
export type { Progress, RootRotation } from './rotation/rotate-root.ts'
export type { ExportedKeyring } from './wallets/keyring.ts'
export type { NewWallet } from './wallets/new-wallet.ts'
export { PolicyClosed } from './wallets/policy-locks.ts'
export type { KeyHandle, WalletRef } from './wallets/wallet-key.ts'

export type Vault = {
  /**
   * Makes a new project's key, and its developer key where a secret is given (always on testnet); `write` writes them.
   * Two steps, as the root key may be a service: no transaction waits for it.
   * @throws invalid_input for a secret that the environment refuses.
   */
  newProject(input: {
    readonly projectId: string
    readonly developerSecret: string | null
    readonly actor: string
  }): Promise<NewProject>
  /**
   * Makes the developer key of a mainnet project under the developer's secret; `write` writes it.
   * @throws invalid_input for a secret that is refused and for an active project, not_found.
   */
  activateProject(input: {
    readonly projectId: string
    readonly developerSecret: string
    readonly actor: string
  }): Promise<NewProject>
  /** The public key that an import would have: it needs no credential. @throws invalid_key. */
  publicKeyOf(input: { readonly family: ChainFamily; readonly imported: ImportedText }): Uint8Array
  /**
   * Opens (or, for a new owner, makes) the owner's seed with the credentials and derives the wallet's key; or takes in
   * what is imported, as a keyring of its own. Nothing is written but the charge of a PIN guess.
   * @throws invalid_key, credential_required, credential_ambiguous, pin_obvious, project_not_activated, frozen,
   * INVALID_SECRET, TOO_MANY_FAILED_ATTEMPTS, credential_changed, rate_limited, busy.
   */
  newWallet(input: NewWalletInput): Promise<NewWallet>
  /**
   * Opens the wallet's own sealed key with the credential of its control mode, or with the developer's secret by the lock
   * of a policy, for as long as `use` runs.
   * @throws credential_required, credential_ambiguous, frozen, project_not_activated, INVALID_SECRET, policy_denied,
   * TOO_MANY_FAILED_ATTEMPTS, credential_changed, rate_limited, busy, and whatever `use` throws.
   */
  withKey<T>(request: KeyUse, use: (key: KeyHandle) => Promise<T>): Promise<T>
  /**
   * The same for a message, with the credentials of all locks of the wallet's keyring, as an export takes them, and by no
   * policy: a message may stand for anything. @throws as `withKey` does.
   */
  withKeyForMessage<T>(request: KeyRequest, use: (key: KeyHandle) => Promise<T>): Promise<T>
  /**
   * Makes the lock by which the developer's secret opens a user-controlled wallet's key, with both credentials; `write`
   * writes it, after the policy's row.
   * @throws as `withKey` does; `write` ProjectKeyRotated: begin again.
   */
  newPolicyLock(request: KeyRequest & { readonly policyId: string }): Promise<PolicyChange>
  /** Proves the PIN, or the secret, that may revoke a policy; `write` erases its lock. @throws as `withKey` does. */
  revokePolicy(request: KeyRequest & { readonly policyId: string }): Promise<PolicyChange>
  /**
   * The phrase or the imported key of a wallet's keyring, with the credentials of all its locks; audited.
   * @throws as `withKey` does.
   */
  exportKeyring(request: KeyRequest): Promise<ExportedKeyring>
  /**
   * Changes the PIN of a user-controlled wallet's owner: for all of the owner's wallets, as there is one.
   * @throws pin_obvious, frozen, INVALID_SECRET, TOO_MANY_FAILED_ATTEMPTS, credential_changed, rate_limited, busy.
   */
  changeUserPin(input: {
    readonly wallet: WalletRef
    readonly oldPin: string
    readonly newPin: string
    readonly actor: string
    /** As in `Credentials`. */
    readonly from?: string | undefined
    /** Done in the transaction of the change. */
    readonly also?: (tx: Tx) => Promise<void>
  }): Promise<void>
  /** @throws not_found, invalid_input, project_not_activated, INVALID_SECRET, credential_changed, rate_limited, busy. */
  changeDeveloperSecret(input: {
    readonly projectId: string
    readonly oldSecret: string
    readonly newSecret: string
    readonly actor: string
  }): Promise<void>
  /** Forgets an owner's wrong PINs, those in a row and those ever. @throws not_found for an owner without a PIN. */
  unlockOwner(input: { readonly projectId: string; readonly ownerId: string; readonly actor: string }): Promise<void>
  /**
   * Wraps every project key by the next root key, to which the database belongs from then on. Nothing is changed before
   * all is: it can be killed at any point, and run again.
   * @throws invalid_input, unavailable, busy.
   */
  rotateRootKey(input: {
    readonly actor: string
    readonly onProgress: (progress: Progress) => void
  }): Promise<RootRotation>
  /**
   * Makes a new version of a project's key and re-seals under it what lies under older ones, while others use it. It can
   * be killed at any point; `resume` then finishes what was begun, without one more version.
   * @throws not_found, unavailable, busy.
   */
  rotateProjectKey(input: {
    readonly projectId: string
    readonly actor: string
    readonly resume: boolean
    readonly onProgress: (progress: Progress) => void
  }): Promise<ProjectRotation>
  /** How many PINs are being verified, and how many wait for it. */
  argon2Load(): Load
}

/** Builds the vault of a process. */
export const createVault = (settings: CustodySettings): Vault => {
  const ctx = createCustodyCtx(settings)
  return {
    newProject: (input) => newProject(ctx, input),
    activateProject: (input) => activateProject(ctx, input),
    publicKeyOf: publicKeyOfImported,
    newWallet: (input) => newWallet(ctx, input),
    withKey: (request, use) => withKey(ctx, request, use),
    withKeyForMessage: (request, use) => withKeyForMessage(ctx, request, use),
    newPolicyLock: (request) => newPolicyLock(ctx, request),
    revokePolicy: (request) => revokePolicy(ctx, request),
    exportKeyring: (request) => exportKeyring(ctx, request),
    changeUserPin: (input) => changeUserPin(ctx, input),
    changeDeveloperSecret: (input) => changeDeveloperSecret(ctx, input),
    unlockOwner: (input) => unlockOwner(ctx, input),
    rotateRootKey: (input) => rotateRootKey(ctx, input),
    rotateProjectKey: (input) => rotateProjectKey(ctx, input),
    argon2Load: ctx.argon2.load,
  }
}
