// The vault: the only place where a plaintext key, seed or credential exists.
//
// Read the rooms in this order: sealing (how a secret lies in a row, and which key opens which), root (the root key and the
// project keys that it wraps), credentials (checks, limits and changes of PINs and developer secrets), keys (derivation and
// signing), wallets (making and opening them), rotation, journal (what survives the loss of the database), chain (what makes a
// change of the audit visible), wire (how others reach the vault). Others import the files beside this one, never a room.
//
// Three rules hold everywhere. No database transaction or connection is held while argon2 runs or the root key is used. Key
// bytes are zeroed when the block that holds them ends. No error contains a credential, a key or a sealed value.

import type { Db } from '../../../db/client.ts'
import {
  findWalletOfPolicy,
  listPolicies,
  readPolicyRoom,
  unrevokedPolicies,
} from '../../../db/queries/custody/unrevoked-policies.ts'
import { userSecrets } from '../../../db/queries/custody/user-key-locks.ts'
import type { QueueLoad } from '../../platform/queue.ts'
import type { OPERATOR_METHODS } from '../client/vault-methods.ts'
import type { Lacking } from '../contract/lacking.ts'
import { UnfitVault } from '../contract/unfit-vault.ts'
import { archiveLines, auditCheckpoints, dropArchived, planArchive, signCheckpoint } from './chain/archive.ts'
import { verifyAudit } from './chain/verify.ts'
import { changeDeveloperSecret, changeUserPin } from './credentials/change-credential.ts'
import { addPasskeySecret, newRecoveryCode, removeUserSecret } from './credentials/change-user-secrets.ts'
import { unlockOwner } from './credentials/guard.ts'
import { activateProject, newProject } from './credentials/new-project.ts'
import { type CustodyCtx, type CustodySettings, createCustodyCtx } from './ctx.ts'
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

export type { PolicyRow, PolicyTerms } from '../../../db/queries/custody/policies.ts'
export type { UnrevokedPolicy } from '../../../db/queries/custody/unrevoked-policies.ts'
export type { Audit, AuditAct } from '../../platform/audit/audit.ts'
export type { Signatures } from '../contract/contract.ts'
export type { Credentials } from '../contract/required-credentials.ts'
export type { Archivable, Checkpoint } from './chain/archive.ts'
export type { Broken, NotedHead, Verification } from './chain/verify.ts'
export { openJournal, withoutJournal } from './journal/journal.ts'
export type { Note as JournalNote } from './journal/records.ts'
export type { ImportedText } from './keys/imported.ts'
export { bindDeployment } from './root/bind-deployment.ts'
export type { DeploymentKey } from './root/deployment-key.ts'
export { openRootKey } from './root/root-key.ts'
export type { ProjectRotation } from './rotation/rotate-project.ts'
export type { Progress } from './rotation/rotate-root.ts'
export type { Approval } from './wallets/approved.ts'
export type { ExportedKeyring } from './wallets/keyring.ts'
export type { OpenPolicies, OpenPolicyKey } from './wallets/policy-key.ts'
export { KeyClosed, type KeyUse, type OpenKey } from './wallets/wallet-key.ts'

type VaultStatus = {
  /** The present root key, and perhaps the next one. */
  readonly rootKeyIds: readonly string[]
  /** What the database lacks of the vault's journal. Unless it is null, no key is opened. */
  readonly lacking: Lacking
  /** How many PINs are being verified, and how many wait. */
  readonly argon2: QueueLoad
}

const statusOf = async ({ rootKeys, journal, argon2 }: CustodyCtx): Promise<VaultStatus> => {
  if (!(await rootKeys.arePresent())) throw new UnfitVault()
  return { rootKeyIds: rootKeys.ids, lacking: journal.lacking(), argon2: argon2.load() }
}

/** What others may read of custody's rows. None of it opens a wallet. */
const readingOf = (ctx: CustodyCtx) => {
  const read =
    <Input, Output>(query: (db: Db, input: Input) => Output) =>
    (input: Input): Output =>
      query(ctx.db, input)
  return {
    /** A wallet's policies that are not revoked, oldest first, with what they have spent. */
    unrevokedPolicies: read(unrevokedPolicies),
    /** For a new policy: the one that already has its id, and how many policies the wallet has. */
    policyRoom: read(readPolicyRoom),
    /** The policies within reach that are not revoked, oldest first. */
    listPolicies: read(listPolicies),
    /** The id of the wallet of a policy within reach that is not revoked. */
    findWalletOfPolicy: read(findWalletOfPolicy),
    /** What opens an owner's user key beside the PIN. */
    userSecrets: read(userSecrets),
    /** For `audit verify`: the rows of custody that somebody else has written, put back or deleted. */
    forgedRows: (input: Parameters<typeof forgedRows>[1]) => forgedRows(ctx, input),
    /** Likewise the chains of the audit, and the rows in it that a vault has written. */
    verifyAudit: (input: Parameters<typeof verifyAudit>[1], onRows?: Parameters<typeof verifyAudit>[2]) =>
      verifyAudit(ctx, input, onRows),
    /** For `audit archive`: the rows that can be archived, and the lines of their archive. */
    planArchive: (input: Parameters<typeof planArchive>[1]) => planArchive(ctx, input),
    archiveLines: (input: Parameters<typeof archiveLines>[1]) => archiveLines(ctx, input),
    auditCheckpoints: () => auditCheckpoints(ctx),
    /** Compares the catalogue of the database with that of the migrations. While it differs, nothing opens a key. */
    lookAtCatalogue: ctx.catalogue.look,
  }
}

/**
 * Makes the methods of a vault. They do nothing while the database lacks what the journal has, or while its catalogue differs, answer
 * only when the journal has the changes, and refuse only when the refusal is in the audit.
 */
const binding =
  (ctx: CustodyCtx) =>
  <Input extends readonly unknown[], Output>(work: (ctx: CustodyCtx, ...input: Input) => Promise<Output>) =>
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

/** For what stops something, and must work in an emergency: it does not wait until the database is whole again. */
const urgent =
  (ctx: CustodyCtx) =>
  <Input extends readonly unknown[], Output>(work: (ctx: CustodyCtx, ...input: Input) => Promise<Output>) =>
  async (...input: Input): Promise<Output> => {
    const output = await ctx.refusals.recording(() => work(ctx, ...input))
    await ctx.journal.sync()
    return output
  }

/** Methods that change what opens keys. */
const changingOf = (ctx: CustodyCtx) => {
  const bind = binding(ctx)
  return {
    /**
     * Changes the PIN of a user-controlled wallet's owner. An owner has one PIN for all wallets. With another secret in place of the
     * old PIN it also ends a lockout.
     */
    changeUserPin: bind(changeUserPin),
    /** Makes a recovery code that opens the owner's user key as the PIN does, instead of an earlier code. It is returned only here. */
    newRecoveryCode: bind(newRecoveryCode),
    /** Lets what a passkey computes open the owner's user key, instead of an earlier secret of the same passkey. */
    addPasskeySecret: bind(addPasskeySecret),
    /** Removes a recovery code or a passkey. Needs another credential of the owner than the removed one. */
    removeUserSecret: bind(removeUserSecret),
    changeDeveloperSecret: bind(changeDeveloperSecret),
    /**
     * Freezes a project, an owner, a wallet or a network, or ends that. Needs no credential: the console and the command line of an API
     * do it. @returns whether there was anything to change.
     */
    changeFreezes: (input: Parameters<typeof changeFreezes>[1]) =>
      (input.change === 'freeze' ? urgent(ctx) : bind)(changeFreezes)(input),
  }
}

/** Methods that no credential protects. They are for operators only. */
const operatingOf = (ctx: CustodyCtx) => {
  const bind = binding(ctx)
  return {
    /** Verifies a chain up to a position, and signs a checkpoint for an archive of it. */
    signCheckpoint: bind(signCheckpoint),
    /** Deletes the rows that an archive has, without those that checks read. */
    dropArchived: bind(dropArchived),
    /** Forgets all wrong PINs of an owner. */
    unlockOwner: bind(unlockOwner),
    /** Lets the developer secret open an owner's wallets again, which `putUnderPolicies` put under policies. */
    releaseFromPolicies: bind(releaseFromPolicies),
    /** Adds or removes a contract to which a project's eoa wallets may delegate. @returns those that are allowed now. */
    changeDelegates: bind(changeDelegates),
    /** The contracts to which a project's eoa wallets may delegate. */
    listDelegates: bind(listDelegates),
    /**
     * Wraps every project key with the next root key; from then on the database belongs to that key. All changes are
     * committed together: it can be killed at any point, and run again.
     */
    rotateRootKey: bind(rotateRootKey),
    /**
     * Makes a new version of a project's key, and re-seals with it what older versions sealed, while requests go on. It can be
     * killed at any point; `resume` finishes such a run without making another version.
     */
    rotateProjectKey: bind(rotateProjectKey),
  }
}

const flush = async ({ keptAudit, refusals }: CustodyCtx): Promise<void> => {
  keptAudit.close()
  await refusals.flush()
}

/** Builds the vault of a process. */
export const createVault = (settings: CustodySettings) => {
  const ctx = createCustodyCtx(settings)
  const bind = binding(ctx)
  return {
    /**
     * Makes the keys of a project whose row is there, and its developer key if a secret is given (always on testnet). The same
     * call by the same id changes nothing.
     */
    newProject: bind(newProject),
    /** Makes the developer key of a mainnet project under the developer's secret. The same call changes nothing. */
    activateProject: bind(activateProject),
    /**
     * Opens the owner's keyring with the credentials, or makes it for a new owner, and seals the wallet's key that comes from its
     * seed. An import becomes a keyring of its own, and is refused if the project has its address already. The same call with the same `walletId` answers with the same keyring and public
     * key. The caller inserts the row of `wallets`.
     */
    newWallet: bind(newWallet),
    /** Opens the wallet's key with the credential of its control mode. */
    openKey: bind(openKey),
    /**
     * The same with the developer secret and a policy's lock. The caller gives the terms by which it judged the use: the lock
     * opens only with those that the owner agreed to. What is signed is charged to the policy. If the terms name approvers, the
     * vault verifies that enough of them approved, and uses the approval once.
     * @throws policy_denied if the policy has ended meanwhile, or with a security event if it is not as its owner made it.
     * Another policy may still allow the use.
     */
    openKeyByPolicy: bind(openKeyByPolicy),
    /**
     * Checks the developer secret, and reads the wallet's policies with what opens the key by one of them: for one use, which the
     * caller judges by them. It then signs as `openKeyByPolicy` does.
     */
    openPolicies: bind(openPolicies),
    /** Opens the wallet's key with the credential of its control mode, signs and closes it, if everything is known beforehand. */
    signOnce: bind(signOnce),
    /**
     * Signs messages. They can mean anything, so it needs the credentials of all control modes, as an export does, and no
     * policy allows it.
     */
    signMessage: bind(signMessage),
    /** Signs an authorisation of EIP-7702, with the same credentials, for a delegate that the project names. */
    signAuthorization: bind(signAuthorization),
    /**
     * Creates a policy. Its terms are bound into the lock with which the developer secret opens a wallet's key. Needs the
     * credential of the wallet's mode; a developer secret beside a PIN is checked. A repeated call with the same id answers with
     * the same policy.
     */
    newPolicy: bind(newPolicy),
    /**
     * Puts a developer-controlled wallet under policies, and all others of its keyring with it, because they have the same keys.
     * From then on only policies open them: there is no signature by the secret alone, no message, no export, no further wallet and
     * no further policy. A repeated call changes nothing.
     */
    putUnderPolicies: bind(putUnderPolicies),
    /** Deletes a policy's lock, with the PIN or the secret: either may revoke it. */
    revokePolicy: urgent(ctx)(revokePolicy),
    /** The phrase or the imported key of a wallet's keyring. Needs the credentials of all modes that control it, and is audited. */
    exportKeyring: bind(exportKeyring),
    ...changingOf(ctx),
    ...operatingOf(ctx),
    /** What this process can do now. @throws UnfitVault if the database does not belong to any of its root keys any more. */
    status: () => statusOf(ctx),
    ...readingOf(ctx),
    ...ctx.journal.reader,
    /** Writes the refusals that are only counted so far, before the process ends. */
    flushRefusals: () => flush(ctx),
  }
}

/** The methods for an operator. */
export type OperatorVault = Omit<ReturnType<typeof createVault>, 'flushRefusals' | 'lookAtCatalogue'>

export type HasOperatorVault = { readonly vault: OperatorVault }

/** The methods for an API. */
export type Vault = Omit<OperatorVault, keyof typeof OPERATOR_METHODS>

export type HasVault = { readonly vault: Vault }
