// The vault: the only place where a plaintext key, seed or credential exists.
//
// Read the rooms in this order: sealing (how a secret lies in a row, and which key opens which), root (the root key and the
// project keys that it wraps), credentials (checks, limits and changes of PINs and developer secrets), keys (derivation and
// signing), wallets (making and opening them), rotation. Others import the files beside this one, never a room.
//
// Three rules hold everywhere. No database transaction or connection is held while argon2 runs or the root key is used. Key
// bytes are zeroed when the block that holds them ends. No error contains a credential, a key or a sealed value.

import type { ChainFamily } from '../../db/words.ts'
import type { Load } from '../queue.ts'
import {
  changeDeveloperSecret,
  changeUserPin,
  type PinChange,
  type SecretChange,
} from './credentials/change-credential.ts'
import { type OwnerAct, unlockOwner } from './credentials/guard.ts'
import {
  type ActivationInput,
  activateProject,
  type NewProject,
  type NewProjectInput,
  newProject,
} from './credentials/new-project.ts'
import { type CustodySettings, createCustodyCtx } from './ctx.ts'
import { type ImportedText, publicKeyOfImported } from './keys/imported.ts'
import { type ProjectRotation, type ProjectRotationInput, rotateProjectKey } from './rotation/rotate-project.ts'
import { type RootRotation, type RootRotationInput, rotateRootKey } from './rotation/rotate-root.ts'
import { type ExportedKeyring, exportKeyring } from './wallets/keyring.ts'
import { type NewWallet, type NewWalletInput, newWallet } from './wallets/new-wallet.ts'
import { newPolicyLock, type PolicyChange, type PolicyRequest, revokePolicy } from './wallets/policy-locks.ts'
import { type KeyHandle, type KeyRequest, type KeyUse, withKey, withKeyForMessage } from './wallets/wallet-key.ts'

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
   * Makes a new project's key, and its developer key where a secret is given (always on testnet). `write` writes them, in a
   * second step: the root key may be kept by a service, and no transaction waits for it.
   */
  newProject(input: NewProjectInput): Promise<NewProject>
  /** Makes the developer key of a mainnet project under the developer's secret; `write` writes it. */
  activateProject(input: ActivationInput): Promise<NewProject>
  /** The public key that an import would have. It takes no credential. */
  publicKeyOf(input: { readonly family: ChainFamily; readonly imported: ImportedText }): Uint8Array
  /**
   * Opens the owner's seed with the credentials, or makes it for a new owner, and derives the wallet's key from it. An import
   * becomes a keyring of its own instead. Nothing is written but the charge of a PIN guess; `write` writes the rest.
   */
  newWallet(input: NewWalletInput): Promise<NewWallet>
  /**
   * Opens the wallet's key for as long as `use` runs: with the credential of its control mode, or with the developer secret
   * by the lock of a policy.
   */
  withKey<T>(request: KeyUse, use: (key: KeyHandle) => Promise<T>): Promise<T>
  /**
   * The same for a message. It takes the credentials of all locks of the wallet's keyring, as an export does, and no policy
   * allows it: a message can mean anything.
   */
  withKeyForMessage<T>(request: KeyRequest, use: (key: KeyHandle) => Promise<T>): Promise<T>
  /**
   * Makes the lock by which the developer secret opens the key of a user-controlled wallet. It takes both credentials. Call
   * `write` after the policy's row is written.
   * @throws ProjectKeyRotated
   */
  newPolicyLock(request: PolicyRequest): Promise<PolicyChange>
  /** Checks the PIN or the secret, either of which may revoke a policy; `write` deletes its lock. */
  revokePolicy(request: PolicyRequest): Promise<PolicyChange>
  /**
   * The phrase or the imported key of a wallet's keyring. It takes the credentials of all its locks, and is audited.
   */
  exportKeyring(request: KeyRequest): Promise<ExportedKeyring>
  /** Changes the PIN of a user-controlled wallet's owner. An owner has one PIN for all wallets. */
  changeUserPin(input: PinChange): Promise<void>
  changeDeveloperSecret(input: SecretChange): Promise<void>
  /** Forgets all wrong PINs of an owner. */
  unlockOwner(input: OwnerAct): Promise<void>
  /**
   * Wraps every project key by the next root key; from then on the database belongs to that key. All changes are committed
   * together: it can be killed at any point, and run again.
   */
  rotateRootKey(input: RootRotationInput): Promise<RootRotation>
  /**
   * Makes a new version of a project's key, and re-seals under it what is sealed under older ones, while requests go on. It
   * can be killed at any point; `resume` finishes such a run without making one more version.
   */
  rotateProjectKey(input: ProjectRotationInput): Promise<ProjectRotation>
  /** How many PINs are being verified, and how many wait. */
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
