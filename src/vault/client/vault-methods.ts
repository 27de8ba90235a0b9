// Each method of the vault, and what crosses for it. TypeScript compares this with the vault's own types where the methods are
// served and asked (serve-vault.ts, remote-vault.ts).

import { Type } from '@sinclair/typebox'
import { CHAIN_FAMILIES, CONTROL_MODES, USER_SECRET_KINDS, WALLET_TYPES } from '../../../db/words.ts'
import { LACKING } from '../contract/lacking.ts'
import { APPROVER_PASSKEYS_MAX } from '../language/approval.ts'
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
  OneOf,
  OrNull,
  Text,
  wallet,
} from './fields.ts'
import { method, Nothing, Secret, SecretBytes } from './method.ts'
import { notesPage } from './note-fields.ts'
import { limitCounts, policy, terms, termsFields } from './policy-fields.ts'
import { signatures, uses } from './use-fields.ts'

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

const unrevokedPolicies = ListOf(
  Fields({
    ...termsFields,
    uses: Count,
    spentValue: Type.BigInt(),
    limitCounts,
    isExpired: Type.Boolean(),
    readAt: Type.Date(),
  }),
)

/** Open keys: the client's objects with `sign` are made of these. */
export const openKey = method('openKey', { input: Fields(keyRequest), output: handle, repeatable: true })
export const openKeyByPolicy = method('openKeyByPolicy', {
  input: Fields({ ...keyRequest, terms, approval: Maybe(approval) }),
  output: handle,
  repeatable: true,
})
export const openPolicies = method('openPolicies', {
  input: Fields({ ...keyRequest, limit: Limit }),
  output: Fields({ handle, policies: unrevokedPolicies }),
  repeatable: true,
})
export const sign = method('sign', { input: Fields({ handle, uses }), output: signatures })
export const signByPolicy = method('signByPolicy', {
  input: Fields({ handle, spends, uses }),
  output: signatures,
})
/** Closes the key if it has signed. */
export const signOnceByPolicy = method('signOnceByPolicy', {
  input: Fields({ handle, policyId: Id, approval: Maybe(approval), spends, uses }),
  output: signatures,
})
export const closeKey = method('closeKey', { input: Fields({ handle }), output: Nothing })

/** All other methods that an API may ask. What is made has its caller's id, so it may be asked again. */
export const METHODS = {
  signOnce: method('signOnce', { input: signRequest, output: signatures }),
  signMessage: method('signMessage', { input: signRequest, output: signatures }),
  signAuthorization: method('signAuthorization', {
    input: Fields({
      ...keyRequest,
      delegate: EvmAddress,
      nonce: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    }),
    output: Bytes,
  }),
  newWallet: method('newWallet', {
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
  }),
  newPolicy: method('newPolicy', {
    input: Fields({ ...keyRequest, terms, name: Text }),
    output: policy,
    repeatable: true,
  }),
  putUnderPolicies: method('putUnderPolicies', { input: Fields(keyRequest), output: Nothing, repeatable: true }),
  revokePolicy: method('revokePolicy', { input: Fields({ ...keyRequest, policyId: Id }), output: Nothing }),
  exportKeyring: method('exportKeyring', {
    input: Fields(keyRequest),
    output: Fields({ mnemonicPhrase: OrNull(SecretBytes), privateKey: OrNull(SecretBytes) }),
  }),
  changeUserPin: method('changeUserPin', {
    input: Fields({
      wallet,
      oldPin: Maybe(Secret),
      userSecret: Maybe(Secret),
      newPin: Secret,
      actor: Text,
      from: Maybe(Text),
    }),
    output: Nothing,
  }),
  newRecoveryCode: method('newRecoveryCode', {
    input: Fields(keyRequest),
    output: Fields({ recoveryCode: SecretBytes }),
  }),
  addPasskeySecret: method('addPasskeySecret', {
    input: Fields({ ...keyRequest, passkeyId: Text, passkeySecret: Secret }),
    output: Nothing,
  }),
  removeUserSecret: method('removeUserSecret', {
    input: Fields({ ...keyRequest, kind: OneOf(USER_SECRET_KINDS), passkeyId: Text }),
    output: Nothing,
  }),
  userSecrets: method('userSecrets', {
    input: Fields({ projectId: Id, ownerId: Text }),
    output: ListOf(Fields({ kind: OneOf(USER_SECRET_KINDS), passkeyId: Text, updatedAt: Type.Date() })),
    repeatable: true,
  }),
  changeDeveloperSecret: method('changeDeveloperSecret', {
    input: Fields({ projectId: Id, oldSecret: Secret, newSecret: Secret, actor: Text }),
    output: Nothing,
  }),
  changeFreezes: method('changeFreezes', { input: freezeChange, output: Type.Boolean() }),
  status: method('status', {
    input: Fields({}),
    output: Fields({
      rootKeyIds: ListOf(Text),
      lacking: OrNull(OneOf(LACKING)),
      argon2: Fields({ running: Count, waiting: Count }),
    }),
    repeatable: true,
  }),
  unrevokedPolicies: method('unrevokedPolicies', {
    input: Fields({ walletId: Id, limit: Limit }),
    output: unrevokedPolicies,
    repeatable: true,
  }),
  policyRoom: method('policyRoom', {
    input: Fields({ id: Id, walletId: Id }),
    output: Fields({ made: OrNull(policy), unrevoked: Count }),
    repeatable: true,
  }),
  listPolicies: method('listPolicies', {
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
  }),
  findWalletOfPolicy: method('findWalletOfPolicy', {
    input: Fields({ ...reach, id: Id }),
    output: OrNull(Id),
    repeatable: true,
  }),
  unrecorded: method('unrecorded', {
    input: Fields({}),
    output: Fields({
      lacking: OrNull(OneOf(LACKING)),
      journal: OrNull(Id),
      ids: ListOf(Text),
      others: ListOf(Id),
    }),
  }),
  recentNotes: method('recentNotes', { input: Fields({ from: OrNull(Count) }), output: notesPage }),
  finishRecording: method('finishRecording', { input: Fields({}), output: Nothing }),
}

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
export const OPERATOR_METHODS = {
  newProject: method('newProject', {
    input: Fields({ projectId: Id, developerSecret: OrNull(Secret), actor: Text, about: Maybe(LongText) }),
    output: Nothing,
    repeatable: true,
  }),
  activateProject: method('activateProject', {
    input: Fields({ projectId: Id, developerSecret: Secret, actor: Text }),
    output: Nothing,
    repeatable: true,
  }),
  unlockOwner: method('unlockOwner', {
    input: Fields({ projectId: Id, ownerId: Text, actor: Text }),
    output: Nothing,
  }),
  releaseFromPolicies: method('releaseFromPolicies', {
    input: Fields({ projectId: Id, ownerId: Text, actor: Text }),
    output: Nothing,
  }),
  changeDelegates: method('changeDelegates', {
    input: Fields({
      projectId: Id,
      ...delegate,
      change: Type.Union([Type.Literal('add'), Type.Literal('remove')]),
      actor: Text,
    }),
    output: ListOf(Fields(delegate)),
  }),
  listDelegates: method('listDelegates', {
    input: Fields({ projectId: Id }),
    output: ListOf(Fields(delegate)),
    repeatable: true,
  }),
  rotateRootKey: method('rotateRootKey', {
    input: Fields({ actor: Text }),
    output: Fields({ rootKeyId: Text, rewrapped: Count, already: Type.Boolean() }),
    progress,
  }),
  rotateProjectKey: method('rotateProjectKey', {
    input: Fields({ projectId: Id, actor: Text, resume: Type.Boolean() }),
    output: Fields({
      version: Count,
      resealed: Count,
      broken: Fields({ rows: Count, first: ListOf(Text) }),
    }),
    progress,
  }),
  verifyAudit: method('verifyAudit', {
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
  }),
  planArchive: method('planArchive', {
    input: Fields({ before: Type.Date() }),
    output: ListOf(Fields({ chain: Text, ...positions })),
    repeatable: true,
  }),
  archiveLines: method('archiveLines', {
    input: Fields({ chain: Text, after: Type.BigInt(), upTo: Type.BigInt() }),
    output: Fields({ lines: LongText, after: Type.BigInt() }),
    repeatable: true,
  }),
  auditCheckpoints: method('auditCheckpoints', {
    input: Fields({}),
    output: Fields({ publicKey: Bytes, checkpoints: ListOf(checkpoint) }),
    repeatable: true,
  }),
  signCheckpoint: method('signCheckpoint', {
    input: Fields({ chain: Text, position: Type.BigInt(), before: Type.Date(), linesHash: Bytes }),
    output: checkpoint,
  }),
  dropArchived: method('dropArchived', {
    input: Fields({ chain: Text }),
    output: Fields({ dropped: Count }),
    repeatable: true,
  }),
  forgedRows: method('forgedRows', {
    input: Fields({ projectId: OrNull(Id) }),
    output: Fields({ forged: forgedRows, unfinished: forgedRows }),
    repeatable: true,
  }),
  journalState: method('journalState', {
    input: Fields({}),
    output: Fields({
      id: Id,
      first: Count,
      records: Count,
      known: Count,
      isBehind: Type.Boolean(),
      others: ListOf(Id),
    }),
  }),
  retireJournal: method('retireJournal', {
    input: Fields({ id: Id }),
    output: Fields({ wasKnown: Type.Boolean() }),
  }),
  journalNotes: method('journalNotes', {
    input: Fields({ from: OrNull(Count) }),
    output: notesPage,
  }),
  replayJournal: method('replayJournal', { input: Fields({}), output: Fields({ rows: Count }) }),
  compactJournal: method('compactJournal', {
    input: Fields({ before: Type.Date() }),
    output: Fields({ leftOut: Count }),
  }),
  finishRestore: method('finishRestore', { input: Fields({}), output: Fields({ audit: Count }) }),
}
