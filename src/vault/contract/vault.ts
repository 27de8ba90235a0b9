// The types of the vault, as other programs see it. They follow from the tables of methods; only an opened key is an
// object of its own.

import type { Static } from '@sinclair/typebox'
import type { Payload } from '../language/payload.ts'
import type { Signatures } from './contract.ts'
import type { policy, terms } from './fields.ts'
import type { Calls, Given, InputOf, OutputOf } from './method.ts'
import type { KEY_METHODS, METHODS, OPERATOR_METHODS } from './methods.ts'

/** Payloads to sign for one purpose, with the caller's words about them. The vault reads the payloads itself, too. */
export type KeyUse = Omit<InputOf<typeof KEY_METHODS.sign>['uses'][number], 'payloads'> & {
  readonly payloads: readonly Payload[]
}

/**
 * A wallet's opened private key, for one request. It is zeroed when it is disposed of, and by itself after a minute:
 * then each use is `busy`. A use after it was disposed of throws `KeyClosed`, and so does a third `sign`.
 */
export type OpenKey = Disposable & {
  /**
   * Signs. The audit row of each use is committed before a signature leaves; it has the hash of what was signed first,
   * and those of the rest.
   * @throws Error for a payload of another family or form.
   */
  sign(...uses: readonly KeyUse[]): Promise<Signatures>
}

/** What a use of a policy spends, in base units of the coin; `fee` is the highest possible. */
export type Spends = InputOf<typeof KEY_METHODS.signByPolicy>['spends']

/** An opened key whose uses are charged to a policy. */
export type OpenPolicyKey = Disposable & {
  /**
   * Signs as `OpenKey.sign` does, and charges the policy before a signature leaves. The charge is the caller's amount,
   * or what the vault reads in the payloads if that is more; for tokens, what the vault reads. One opened key is for
   * one use: the versions of one transaction, and the deployment of a contract wallet before it.
   * @throws AppError as `Vault.openKeyByPolicy` does: then nothing was signed.
   * @throws Error for a second transaction, another chain than the wallet's, and a payload that no policy allows.
   */
  sign(spends: Spends, ...uses: readonly KeyUse[]): Promise<Signatures>
}

/** By which of the opened policies to sign, with the approval if the policy has approvers. */
type SignBy = Omit<InputOf<typeof KEY_METHODS.signOnceByPolicy>, 'handle' | 'uses'>

/** A wallet's policies, and what opens its key by one of them, for one use. */
export type OpenPolicies = Disposable & {
  /** Oldest first; those that need approval come last. */
  readonly policies: OutputOf<typeof KEY_METHODS.openPolicies>['policies']
  /**
   * Opens the key by one of the policies, charges it and signs, as `OpenPolicyKey.sign` does. The terms are those that
   * were read.
   * @throws busy if it is asked too late; KeyClosed if it is asked again, or if no policy exists.
   */
  sign(by: SignBy, ...uses: readonly KeyUse[]): Promise<Signatures>
}

/** The approval of a request, as its approvers signed it. `request` is canonical JSON. */
export type Approval = NonNullable<SignBy['approval']>

type Opening = {
  /** Opens the wallet's key with the credential of its control mode. */
  openKey(request: InputOf<typeof KEY_METHODS.openKey>): Promise<OpenKey>
  /**
   * The same with the developer secret and a policy's lock. The caller gives the terms by which it judged the use: the
   * lock opens only with those that the owner agreed to. What is signed is charged to the policy. If the terms name
   * approvers, the vault verifies that enough of them approved, and uses the approval once.
   * @throws policy_denied if the policy has ended meanwhile, or with a security event if it is not as its owner made
   * it. Another policy may still allow the use.
   */
  openKeyByPolicy(request: InputOf<typeof KEY_METHODS.openKeyByPolicy>): Promise<OpenPolicyKey>
  /**
   * Checks the developer secret, and reads the wallet's policies with what opens the key by one of them: for one use,
   * which the caller judges by them. It then signs as `openKeyByPolicy` does.
   */
  openPolicies(request: InputOf<typeof KEY_METHODS.openPolicies>): Promise<OpenPolicies>
}

/** The methods for an API. */
export type Vault = Opening & Calls<typeof METHODS>
export type HasVault = { readonly vault: Vault }

/** The methods for an operator. */
export type OperatorVault = Vault & Calls<typeof OPERATOR_METHODS>
export type HasOperatorVault = { readonly vault: OperatorVault }

/** What a policy's owner agreed to. */
export type PolicyTerms = Given<Static<typeof terms>>
export type PolicyRow = Given<Static<typeof policy>>
export type UnrevokedPolicy = OutputOf<typeof METHODS.unrevokedPolicies>[number]
export type ImportedText = NonNullable<InputOf<typeof METHODS.newWallet>['imported']>
export type JournalNote = OutputOf<typeof METHODS.recentNotes>['notes'][number]
export type NotedHead = InputOf<typeof OPERATOR_METHODS.verifyAudit>['heads'][number]
/** `heads`: of each intact chain. */
export type Verification = OutputOf<typeof OPERATOR_METHODS.verifyAudit>
/** The first defect of a chain, or of the rows that are not chained yet, whose `position` is null. */
export type Broken = Verification['broken'][number]
export type Archivable = OutputOf<typeof OPERATOR_METHODS.planArchive>[number]
export type Checkpoint = OutputOf<typeof OPERATOR_METHODS.signCheckpoint>
/** Forged rows of the vault, and `unfinished` ones, which a stopped process can also leave. */
export type VaultRows = OutputOf<typeof OPERATOR_METHODS.forgedRows>
/**
 * A row that decides something, and that a program other than the vault has written, put back or deleted. `id`: within
 * its project.
 */
export type ForgedRow = VaultRows['forged'][number]
/** `done` of `total` rows. */
export type Progress = { readonly done: number; readonly total: number }
