// The vault's methods, each declared once: what crosses for it, and whether it may be asked again. The types of the
// vault follow from this table, and so do its server (rooms/serve-vault.ts) and its client (client/remote-vault.ts). A
// new method is one entry here and one line in rooms/vault.ts.

import { Type } from '@sinclair/typebox'
import { CHAIN_FAMILIES, CONTROL_MODES, USER_SECRET_KINDS, WALLET_TYPES } from '../../../db/words.ts'
import { APPROVER_PASSKEYS_MAX } from '../language/approval.ts'
import { LACKING } from './contract.ts'
import {
  Bytes,
  Count,
  credentials,
  EvmAddress,
  Fields,
  freezeChange,
  Id,
  keyRequest,
  Limit,
  ListOf,
  LongText,
  Maybe,
  notesPage,
  OneOf,
  OrNull,
  policy,
  signatures,
  Text,
  terms,
  unrevokedPolicies,
  uses,
  wallet,
} from './fields.ts'
import { methods, Secret, SecretBytes } from './method.ts'

const imported = Type.Union([Fields({ privateKey: Secret }), Fields({ mnemonicPhrase: Secret })])

const delegate = { network: Text, address: EvmAddress }

/** The number of an open key. It is valid only on its connection. */
const handle = Type.Integer({ minimum: 1 })

const reach = { projectId: Id, ownedBy: OrNull(Text) }
const progress = Fields({ done: Count, total: Count })
const forgedRows = ListOf(Fields({ table: Text, projectId: OrNull(Id), id: Text, trouble: Text }))

/** A negative amount would give back what was spent before. */
const Spent = Type.BigInt({ minimum: 0n })
const spends = Fields({ value: Spent, fee: Spent })

const signRequest = Fields({ ...keyRequest, uses })

const approval = Fields({
  id: Id,
  request: LongText,
  expiresAt: Type.Date(),
  assertions: ListOf(
    Fields({ credentialId: Text, clientDataJson: Bytes, authenticatorData: Bytes, signature: Bytes }),
    APPROVER_PASSKEYS_MAX,
  ),
})

/**
 * An opened key is an object with `sign` on both sides, and a number between them. That number means something only on
 * the connection that opened it.
 */
export const KEY_METHODS = methods({
  openKey: { input: Fields(keyRequest), output: handle, repeatable: true },
  openKeyByPolicy: {
    input: Fields({ ...keyRequest, terms, approval: Maybe(approval) }),
    output: handle,
    repeatable: true,
  },
  openPolicies: {
    input: Fields({ ...keyRequest, limit: Limit }),
    output: Fields({ handle, policies: unrevokedPolicies }),
    repeatable: true,
  },
  sign: { input: Fields({ handle, uses }), output: signatures },
  signByPolicy: { input: Fields({ handle, spends, uses }), output: signatures },
  /** Closes the key if it has signed. */
  signOnceByPolicy: {
    input: Fields({ handle, policyId: Id, approval: Maybe(approval), spends, uses }),
    output: signatures,
  },
  closeKey: { input: Fields({ handle }) },
})

/** All other methods that an API may ask. What is made has its caller's id, so it may be asked again. */
export const METHODS = methods({
  /** Opens the wallet's key with the credential of its control mode, signs and closes it. */
  signOnce: { input: signRequest, output: signatures },
  /** Signs messages. They can mean anything, so the credentials of all control modes are needed, as for an export. */
  signMessage: { input: signRequest, output: signatures },
  /** Signs an authorisation of EIP-7702 for a delegate that the project names: r, s (low), recovery id. */
  signAuthorization: {
    input: Fields({
      ...keyRequest,
      delegate: EvmAddress,
      nonce: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    }),
    output: Bytes,
  },
  /**
   * Opens the owner's keyring with the credentials, or makes it for a new owner, and seals the wallet's key that comes
   * from its seed. An import becomes a keyring of its own, and is refused if the project has its address already. The
   * same call with the same `walletId` answers with the same keyring and public key. The caller inserts the row of
   * `wallets`.
   */
  newWallet: {
    input: Fields({
      walletId: Id,
      projectId: Id,
      ownerId: Text,
      network: Text,
      controlMode: OneOf(CONTROL_MODES),
      family: OneOf(CHAIN_FAMILIES),
      type: OneOf(WALLET_TYPES),
      imported: Maybe(imported),
      credentials,
      actor: Text,
      about: Maybe(LongText),
    }),
    output: Fields({
      keyringId: Text,
      publicKey: Bytes,
      address: Text,
      keyUsedSince: Type.Union([Type.Literal('now'), Type.Literal('ever'), Type.Date()]),
    }),
    repeatable: true,
  },
  /**
   * Creates a policy. Its terms are bound into the lock with which the developer secret opens a wallet's key. Needs the
   * credential of the wallet's mode; a developer secret beside a PIN is checked. A repeated call with the same id
   * answers with the same policy.
   */
  newPolicy: {
    input: Fields({ ...keyRequest, terms, name: Text }),
    output: policy,
    repeatable: true,
  },
  /**
   * Puts a developer-controlled wallet under policies, and all other wallets of its keyring with it, because they have
   * the same keys. From then on only policies open them: the secret alone opens no signature, no message, no export, no
   * further wallet and no further policy.
   */
  putUnderPolicies: { input: Fields(keyRequest), repeatable: true },
  /** Deletes a policy's lock, with the PIN or the secret: either may revoke it. */
  revokePolicy: { input: Fields({ ...keyRequest, policyId: Id }) },
  /**
   * The phrase or the imported key of a wallet's keyring. Needs the credentials of all modes that control it, and is
   * audited.
   */
  exportKeyring: {
    input: Fields(keyRequest),
    output: Fields({ mnemonicPhrase: OrNull(SecretBytes), privateKey: OrNull(SecretBytes) }),
  },
  /** Changes the one PIN of a wallet's owner. With another secret in place of the old PIN it also ends a lockout. */
  changeUserPin: {
    input: Fields({
      wallet,
      oldPin: Maybe(Secret),
      userSecret: Maybe(Secret),
      newPin: Secret,
      actor: Text,
      from: Maybe(Text),
    }),
  },
  /** Makes a recovery code that opens the owner's user key, instead of an earlier one. It is returned only here. */
  newRecoveryCode: {
    input: Fields(keyRequest),
    output: Fields({ recoveryCode: SecretBytes }),
  },
  /** Lets what a passkey computes open the owner's user key, instead of an earlier secret of the same passkey. */
  addPasskeySecret: {
    input: Fields({ ...keyRequest, passkeyId: Text, passkeySecret: Secret }),
  },
  /** Removes a recovery code or a passkey. Needs another credential of the owner than the removed one. */
  removeUserSecret: {
    input: Fields({ ...keyRequest, kind: OneOf(USER_SECRET_KINDS), passkeyId: Text }),
  },
  /** What opens an owner's user key beside the PIN. */
  userSecrets: {
    input: Fields({ projectId: Id, ownerId: Text }),
    output: ListOf(Fields({ kind: OneOf(USER_SECRET_KINDS), passkeyId: Text, updatedAt: Type.Date() })),
    repeatable: true,
  },
  changeDeveloperSecret: {
    input: Fields({ projectId: Id, oldSecret: Secret, newSecret: Secret, actor: Text }),
  },
  /**
   * Freezes a project, an owner, a wallet or a network, or ends that. Needs no credential: the console and the command
   * line of an API do it. Answers whether there was anything to change.
   */
  changeFreezes: { input: freezeChange, output: Type.Boolean() },
  /**
   * What this vault can do now: its present root key and perhaps the next one; what the database lacks of its journal
   * (unless that is null, no key is opened); how many PINs are verified and wait. @throws UnfitVault if the database
   * belongs to none of its root keys any more.
   */
  status: {
    output: Fields({
      rootKeyIds: ListOf(Text),
      lacking: OrNull(OneOf(LACKING)),
      argon2: Fields({ running: Count, waiting: Count }),
    }),
    repeatable: true,
  },
  /** A wallet's policies that are not revoked, oldest first, with what they have spent. */
  unrevokedPolicies: {
    input: Fields({ walletId: Id, limit: Limit }),
    output: unrevokedPolicies,
    repeatable: true,
  },
  /** For a new policy: the one that already has its id, and how many policies the wallet has. */
  policyRoom: {
    input: Fields({ id: Id, walletId: Id }),
    output: Fields({ made: OrNull(policy), unrevoked: Count }),
    repeatable: true,
  },
  /** The policies within reach that are not revoked, oldest first. */
  listPolicies: {
    input: Fields({
      ...reach,
      id: OrNull(Id),
      network: OrNull(Text),
      walletId: OrNull(Id),
      controlMode: OrNull(OneOf(CONTROL_MODES)),
      limit: Limit,
      offset: Count,
    }),
    output: ListOf(policy),
    repeatable: true,
  },
  /** The id of the wallet of a policy within reach that is not revoked. */
  findWalletOfPolicy: {
    input: Fields({ ...reach, id: Id }),
    output: OrNull(Id),
    repeatable: true,
  },
  unrecorded: {
    output: Fields({
      lacking: OrNull(OneOf(LACKING)),
      journal: OrNull(Id),
      ids: ListOf(Text),
      others: ListOf(Id),
    }),
  },
  recentNotes: { input: Fields({ from: OrNull(Count) }), output: notesPage },
  finishRecording: { input: Fields({}) },
})

const positions = { fromPosition: Type.BigInt(), position: Type.BigInt() }

const checkpoint = Fields({
  chain: Text,
  ...positions,
  before: Type.Date(),
  head: Bytes,
  linesHash: Bytes,
  keptHash: Bytes,
  signature: Bytes,
})

/** Methods for an operator only. For instance, an attacker who controls an API must not reset a count of wrong PINs. */
export const OPERATOR_METHODS = methods({
  /** Makes the keys of a project whose row is there, and its developer key if a secret is given (always on testnet). */
  newProject: {
    input: Fields({ projectId: Id, developerSecret: OrNull(Secret), actor: Text, about: Maybe(LongText) }),
    repeatable: true,
  },
  /** Makes the developer key of a mainnet project under the developer's secret. The same call changes nothing. */
  activateProject: {
    input: Fields({ projectId: Id, developerSecret: Secret, actor: Text }),
    repeatable: true,
  },
  /** Forgets all wrong PINs of an owner. */
  unlockOwner: {
    input: Fields({ projectId: Id, ownerId: Text, actor: Text }),
  },
  /** Lets the developer secret open an owner's wallets again, which `putUnderPolicies` put under policies. */
  releaseFromPolicies: {
    input: Fields({ projectId: Id, ownerId: Text, actor: Text }),
  },
  /**
   * Adds or removes a contract to which a project's eoa wallets may delegate. Answers with those that are allowed now.
   */
  changeDelegates: {
    input: Fields({
      projectId: Id,
      ...delegate,
      change: Type.Union([Type.Literal('add'), Type.Literal('remove')]),
      actor: Text,
    }),
    output: ListOf(Fields(delegate)),
  },
  listDelegates: {
    input: Fields({ projectId: Id }),
    output: ListOf(Fields(delegate)),
    repeatable: true,
  },
  /** Wraps every project key with the next root key, in one commit: it can be killed at any point, and run again. */
  rotateRootKey: {
    input: Fields({ actor: Text }),
    output: Fields({ rootKeyId: Text, rewrapped: Count, already: Type.Boolean() }),
    progress,
  },
  /**
   * Makes a new version of a project's key, and re-seals with it what older versions sealed, while requests go on. It
   * can be killed at any point; `resume` finishes such a run without making another version.
   */
  rotateProjectKey: {
    input: Fields({ projectId: Id, actor: Text, resume: Type.Boolean() }),
    output: Fields({
      version: Count,
      resealed: Count,
      broken: Fields({ rows: Count, first: ListOf(Text) }),
    }),
    progress,
  },
  /** For `audit verify`: the chains of the audit, and the rows in it that a vault has written. */
  verifyAudit: {
    input: Fields({
      chain: OrNull(Text),
      heads: ListOf(Fields({ chain: Text, position: Type.BigInt(), head: Bytes })),
    }),
    output: Fields({
      heads: ListOf(Text),
      broken: ListOf(
        Fields({ chain: Text, position: OrNull(Type.BigInt()), auditId: OrNull(Type.BigInt()), trouble: Text }),
      ),
      rows: Type.BigInt(),
      unchained: Fields({ rows: Count, oldest: OrNull(Type.Date()) }),
    }),
    progress: Fields({ rows: Type.BigInt() }),
    repeatable: true,
  },
  /** For `audit archive`: the rows that can be archived. */
  planArchive: {
    input: Fields({ before: Type.Date() }),
    output: ListOf(Fields({ chain: Text, ...positions })),
    repeatable: true,
  },
  archiveLines: {
    input: Fields({ chain: Text, after: Type.BigInt(), upTo: Type.BigInt() }),
    output: Fields({ lines: LongText, after: Type.BigInt() }),
    repeatable: true,
  },
  auditCheckpoints: {
    output: Fields({ publicKey: Bytes, checkpoints: ListOf(checkpoint) }),
    repeatable: true,
  },
  /** Verifies a chain up to a position, and signs a checkpoint for an archive of it. */
  signCheckpoint: {
    input: Fields({ chain: Text, position: Type.BigInt(), before: Type.Date(), linesHash: Bytes }),
    output: checkpoint,
  },
  /** Deletes the rows that an archive has, without those that checks read. */
  dropArchived: {
    input: Fields({ chain: Text }),
    output: Fields({ dropped: Count }),
    repeatable: true,
  },
  /** For `audit verify`: the vault's rows that another program has written, put back or deleted. */
  forgedRows: {
    input: Fields({ projectId: OrNull(Id) }),
    output: Fields({ forged: forgedRows, unfinished: forgedRows }),
    repeatable: true,
  },
  journalState: {
    output: Fields({
      id: Id,
      first: Count,
      records: Count,
      known: Count,
      isBehind: Type.Boolean(),
      others: ListOf(Id),
    }),
  },
  retireJournal: {
    input: Fields({ id: Id }),
    output: Fields({ wasKnown: Type.Boolean() }),
  },
  journalNotes: {
    input: Fields({ from: OrNull(Count) }),
    output: notesPage,
  },
  replayJournal: { output: Fields({ rows: Count }) },
  compactJournal: {
    input: Fields({ before: Type.Date() }),
    output: Fields({ leftOut: Count }),
  },
  finishRestore: { output: Fields({ audit: Count }) },
})
