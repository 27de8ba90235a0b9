// The vault: the only place where a plaintext key, seed or credential exists.
//
// To read all of it, in this order: envelope (how a secret lies in a row), kdf and hierarchy (which key opens which),
// key-source, root-key and project-keys (the outer layer), credentials (which one belongs), guard (how often a PIN may
// be tried), credential-keys (from a credential to its key), key-opener (from there to a wallet's key), derive and
// secp256k1, new-project and new-wallet (how all of it comes to be), audit, deployment, sealer. The small rest
// (encoding, held-keys, slots, batcher) explains itself. This file is the door: whoever is outside comes in here.
//
// What holds everywhere: no database transaction or connection is held while argon2 runs or the root key is asked; key
// bytes are zeroed when the block that holds them ends; no error carries a credential, a key or a sealed value.

import type { Db, Tx } from '../../db/client.ts'
import type { Environment } from '../../db/words.ts'
import { type AuditAct, type AuditEntry, createAudit } from './audit.ts'
import { createCredentialKeys } from './credential-keys.ts'
import { createGuard } from './guard.ts'
import { ARGON2_CONCURRENCY_MAX } from './kdf.ts'
import { createKeyOpener, type KeyRequest } from './key-opener.ts'
import { type NewProject, newProject } from './new-project.ts'
import { type NewWallet, type NewWalletInput, newWallet } from './new-wallet.ts'
import { createProjectKeys } from './project-keys.ts'
import type { RootKey } from './root-key.ts'
import type { Sealer } from './sealer.ts'
import { curve } from './secp256k1.ts'
import { createSlots } from './slots.ts'

export type { AuditAct, AuditEntry } from './audit.ts'
export type { Credentials } from './credentials.ts'
export type { WalletRef } from './key-opener.ts'
export { type NewProject, TESTNET_DEVELOPER_SECRET } from './new-project.ts'
export type { NewWallet } from './new-wallet.ts'

/** A wallet's opened private key; it is zeroed when `withKey` returns, and every use after that throws. */
export type KeyHandle = {
  /** @param digest 32 bytes. @returns 65 bytes: r, s (low), recovery id. */
  sign(digest: Uint8Array): Uint8Array
  /** Writes the audit row in the transaction of the effect. */
  recordUse(tx: Tx, entry: AuditEntry): Promise<void>
  /** Commits an audit row of its own, together with those of concurrent requests, and returns when it is durable. */
  commitUse(entry: AuditEntry): Promise<void>
}

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
   * Opens (or, for a new owner, makes) the owner's seed with the credentials and derives the wallet's key.
   * Nothing is written but the charge of a PIN guess.
   * @throws not_implemented, credential_required, credential_ambiguous, project_not_activated, INVALID_SECRET,
   * TOO_MANY_FAILED_ATTEMPTS, credential_changed, busy.
   */
  newWallet(input: NewWalletInput): Promise<NewWallet>
  /**
   * Opens the wallet's own sealed key with the credential of its control mode, for as long as `use` runs.
   * @throws credential_required, credential_ambiguous, project_not_activated, INVALID_SECRET,
   * TOO_MANY_FAILED_ATTEMPTS, credential_changed, busy, and whatever `use` throws.
   */
  withKey<T>(request: KeyRequest, use: (key: KeyHandle) => Promise<T>): Promise<T>
  /** Writes the audit row of an act that uses no wallet's key (an API key made or revoked), in the act's transaction. */
  recordAct(tx: Tx, act: AuditAct): Promise<void>
}

/** Builds the vault of a process. */
export const createVault = (parts: {
  readonly db: Db
  readonly rootKey: RootKey
  readonly sealer: Sealer
  readonly environment: Environment
  readonly now: () => Date
}): Vault => {
  const { db } = parts
  const audit = createAudit(parts)
  const projectKeys = createProjectKeys(parts)
  const argon2Slots = createSlots({ limit: ARGON2_CONCURRENCY_MAX })
  const guard = createGuard({ db, argon2Slots })
  const credentialKeys = createCredentialKeys({ projectKeys, guard, argon2Slots })
  const openKey = createKeyOpener({ db, projectKeys, credentialKeys })

  return {
    newProject: (input) => newProject({ ...parts, audit }, input),
    newWallet: (input) => newWallet({ db, projectKeys, credentialKeys, audit }, input),
    recordAct: (tx, act) => audit.record(tx, act),
    withKey: async (request, use) => {
      const privateKey = await openKey(request)
      let closed = false
      const checkOpen = () => {
        if (closed) throw new Error('a key was used after it was closed')
      }
      const actOf = (entry: AuditEntry): AuditAct => {
        checkOpen()
        return { ...entry, projectId: request.wallet.projectId, actor: request.actor, subject: request.wallet.id }
      }
      try {
        return await use({
          sign: (digest) => {
            checkOpen()
            return curve.sign({ digest, privateKey })
          },
          recordUse: async (tx, entry) => audit.record(tx, actOf(entry)),
          commitUse: async (entry) => audit.commit(actOf(entry)),
        })
      } finally {
        closed = true
        privateKey.fill(0)
      }
    },
  }
}
