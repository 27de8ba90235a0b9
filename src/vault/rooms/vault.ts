// The vault: the only place where a plaintext key, seed or credential exists.
//
// Read the rooms in this order: sealing (how a secret lies in a row, and which key opens which), root (the root key and
// the project keys that it wraps), credentials (checks, limits and changes of PINs and developer secrets), keys
// (derivation and signing), wallets (making and opening them), rotation, journal (what survives the loss of the
// database), chain (what makes a change of the audit visible), wire (how other processes reach the vault). Other
// folders import the files beside this one, never a room.
//
// Three rules hold everywhere. No database transaction or connection is held while argon2 runs or the root key is used.
// Key bytes are zeroed when the block that holds them ends. No error contains a credential, a key or a sealed value.

import {
  findWalletOfPolicy,
  listPolicies,
  readPolicyRoom,
  unrevokedPolicies,
} from '../../../db/queries/vault/unrevoked-policies.ts'
import { userSecrets } from '../../../db/queries/vault/user-key-locks.ts'
import { UnfitVault } from '../contract/contract.ts'
import type { OperatorVault } from '../contract/vault.ts'
import { archiveLines, auditCheckpoints, dropArchived, planArchive, signCheckpoint } from './chain/archive.ts'
import { verifyAudit } from './chain/verify.ts'
import { changeDeveloperSecret, changeUserPin } from './credentials/change-credential.ts'
import { addPasskeySecret, newRecoveryCode, removeUserSecret } from './credentials/change-user-secrets.ts'
import { unlockOwner } from './credentials/guard.ts'
import { activateProject, newProject } from './credentials/new-project.ts'
import { createRoomCtx, type RoomCtx, type VaultSettings } from './ctx.ts'
import { rotateProjectKey } from './rotation/rotate-project.ts'
import { rotateRootKey } from './rotation/rotate-root.ts'
import { forgedRows } from './verify-rows.ts'
import { changeDelegates, listDelegates } from './wallets/delegates.ts'
import { changeFreezes } from './wallets/freezes.ts'
import { exportKeyring } from './wallets/keyring.ts'
import { newWallet } from './wallets/new-wallet.ts'
import { openKeyByPolicy, openPolicies } from './wallets/policy-key.ts'
import { newPolicy, revokePolicy } from './wallets/policy-locks.ts'
import { signAuthorization } from './wallets/sign-authorization.ts'
import { putUnderPolicies, releaseFromPolicies } from './wallets/under-policies.ts'
import { openKey, signMessage, signOnce } from './wallets/wallet-key.ts'

export { openJournal, withoutJournal } from './journal/journal.ts'
export { bindDeployment } from './root/bind-deployment.ts'
export { type DeploymentKey, openRootKey } from './root/root-key.ts'
export { KeyClosed } from './wallets/wallet-key.ts'

/**
 * Makes the methods of a vault. They do nothing while the database lacks what the journal has, or while its catalogue
 * differs, answer only when the journal has the changes, and refuse only when the refusal is in the audit.
 */
const binding =
  (ctx: RoomCtx) =>
  <Input extends readonly unknown[], Output>(work: (ctx: RoomCtx, ...input: Input) => Promise<Output>) =>
  async (...input: Input): Promise<Output> => {
    ctx.keptAudit.require()
    await ctx.journal.requireSame()
    const output = await ctx.refusals.recording(() => {
      ctx.catalogue.requireSame()
      return work(ctx, ...input)
    })
    await ctx.journal.sync()
    return output
  }

/** Serves calls that stop something, in an emergency too: it does not wait until the database is whole again. */
const urgent =
  (ctx: RoomCtx) =>
  <Input extends readonly unknown[], Output>(work: (ctx: RoomCtx, ...input: Input) => Promise<Output>) =>
  async (...input: Input): Promise<Output> => {
    const output = await ctx.refusals.recording(() => work(ctx, ...input))
    await ctx.journal.sync()
    return output
  }

type Flushing = {
  /** Writes the refusals that are only counted so far, before the process ends. */
  readonly flushRefusals: () => Promise<void>
  /** Compares the catalogue of the database with that of the migrations. While it differs, nothing opens a key. */
  readonly lookAtCatalogue: () => Promise<void>
}

/** Builds the vault of a process. The table of methods (contract/methods.ts) says what each does. */
export const createVault = (settings: VaultSettings): OperatorVault & Flushing => {
  const ctx = createRoomCtx(settings)
  const { db, rootKeys, journal, argon2, keptAudit, refusals } = ctx
  const bind = binding(ctx)
  const stop = urgent(ctx)
  return {
    newProject: bind(newProject),
    activateProject: bind(activateProject),
    newWallet: bind(newWallet),
    openKey: bind(openKey),
    openKeyByPolicy: bind(openKeyByPolicy),
    openPolicies: bind(openPolicies),
    signOnce: bind(signOnce),
    signMessage: bind(signMessage),
    signAuthorization: bind(signAuthorization),
    newPolicy: bind(newPolicy),
    putUnderPolicies: bind(putUnderPolicies),
    revokePolicy: stop(revokePolicy),
    exportKeyring: bind(exportKeyring),
    changeUserPin: bind(changeUserPin),
    newRecoveryCode: bind(newRecoveryCode),
    addPasskeySecret: bind(addPasskeySecret),
    removeUserSecret: bind(removeUserSecret),
    changeDeveloperSecret: bind(changeDeveloperSecret),
    changeFreezes: (input) => (input.change === 'freeze' ? stop : bind)(changeFreezes)(input),
    signCheckpoint: bind(signCheckpoint),
    dropArchived: bind(dropArchived),
    unlockOwner: bind(unlockOwner),
    releaseFromPolicies: bind(releaseFromPolicies),
    changeDelegates: bind(changeDelegates),
    listDelegates: bind(listDelegates),
    rotateRootKey: bind(rotateRootKey),
    rotateProjectKey: bind(rotateProjectKey),
    // What follows opens no key.
    status: async () => {
      if (!(await rootKeys.arePresent())) throw new UnfitVault()
      return { rootKeyIds: rootKeys.ids, lacking: journal.lacking(), argon2: argon2.load() }
    },
    unrevokedPolicies: (input) => unrevokedPolicies(db, input),
    policyRoom: (input) => readPolicyRoom(db, input),
    listPolicies: (input) => listPolicies(db, input),
    findWalletOfPolicy: (input) => findWalletOfPolicy(db, input),
    userSecrets: (input) => userSecrets(db, input),
    forgedRows: (input) => forgedRows(ctx, input),
    verifyAudit: (input, onRows) => verifyAudit(ctx, input, onRows),
    planArchive: (input) => planArchive(ctx, input),
    archiveLines: (input) => archiveLines(ctx, input),
    auditCheckpoints: () => auditCheckpoints(ctx),
    ...journal.reader,
    lookAtCatalogue: ctx.catalogue.look,
    flushRefusals: async () => {
      keptAudit.close()
      await refusals.flush()
    },
  }
}
