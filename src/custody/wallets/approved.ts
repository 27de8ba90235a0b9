// Uses of a policy that need approvers. Their passkeys are part of the policy's terms, so who controls an API can neither add an
// approver nor approve. The vault verifies each assertion itself, and uses an approval once.
//
// On the EVM networks the vault also reads what it signs: the approved calls of the wallet, or of the contract wallet that obeys its
// key, and cancels. That one use signs one transaction, policy-key.ts holds. An extrinsic cannot be read without the runtime's
// metadata: there the API says which bytes do what was approved.

import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Tx } from '../../../db/client.ts'
import type { PolicyTerms } from '../../../db/queries/custody/policies.ts'
import { insertUsedApproval } from '../../../db/queries/custody/used-approvals.ts'
import { AppError, type SecurityEvent } from '../../errors.ts'
import { approvalChallenge, requestHashOf } from '../approval.ts'
import type { CustodyCtx } from '../ctx.ts'
import { fieldsOfTransaction } from '../keys/payloads.ts'
import { type Call, callsExecuted, callsSigned, MULTI_SEND_CALL_ONLY, PROXY_FACTORY, safeOf } from '../keys/safe.ts'
import type { Payload } from '../payload.ts'
import type { KeyRequest, KeyUse } from './wallet-key.ts'

/** An assertion by which an approver approved. */
type Assertion = {
  /** base64url. */
  readonly credentialId: string
  readonly clientDataJson: Uint8Array
  readonly authenticatorData: Uint8Array
  readonly signature: Uint8Array
}

export type Approval = {
  readonly id: string
  /** Everything that was approved, as canonical JSON. */
  readonly request: string
  readonly expiresAt: Date
  readonly assertions: readonly Assertion[]
}

type Approver = NonNullable<PolicyTerms['requireApproval']>['approvers'][number]

/** WebAuthn §6.1: the hash of the RP ID, the flags, the counter. */
const RP_ID_HASH_BYTES = 32
const FLAGS_AT = RP_ID_HASH_BYTES
const AUTHENTICATOR_DATA_BYTES_MIN = 37
/** The user is present, and was verified. */
const UP_AND_UV = 0x05

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

/** Ed25519 hashes by itself; ES256 and RS256 take SHA-256. */
const digestOf = (key: KeyObject): string | null => (key.asymmetricKeyType === 'ed25519' ? null : 'sha256')

type ClientData = { readonly type?: unknown; readonly challenge?: unknown; readonly crossOrigin?: unknown }

/** Whether the approver's passkey signed this challenge (WebAuthn Level 3, §7.2). The RP ID stands for the page's domain. */
const isSignedBy = (approver: Approver, assertion: Assertion, challenge: Uint8Array): boolean => {
  try {
    const { clientDataJson, authenticatorData, signature } = assertion
    const client: ClientData = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(clientDataJson))
    if (client.type !== 'webauthn.get' || (client.crossOrigin ?? false) !== false) return false
    if (client.challenge !== Buffer.from(challenge).toString('base64url')) return false
    if (authenticatorData.length < AUTHENTICATOR_DATA_BYTES_MIN) return false
    const rpIdHash = sha256(Buffer.from(approver.rpId, 'utf8'))
    if (!rpIdHash.equals(authenticatorData.subarray(0, RP_ID_HASH_BYTES))) return false
    if (((authenticatorData[FLAGS_AT] ?? 0) & UP_AND_UV) !== UP_AND_UV) return false
    const key = createPublicKey({ key: Buffer.from(approver.publicKey, 'base64url'), format: 'der', type: 'spki' })
    const signed = Buffer.concat([authenticatorData, sha256(clientDataJson)])
    return verify(digestOf(key), signed, key, signature)
  } catch {
    // Whatever is malformed is no approval.
    return false
  }
}

/** The users who approved, each once. */
const approvedBy = (terms: PolicyTerms, { assertions, ...approval }: Approval): ReadonlySet<string> => {
  const approvers = terms.requireApproval?.approvers ?? []
  const challenge = approvalChallenge({ ...approval, policyId: terms.id, decision: 'approve' })
  return new Set(
    assertions.flatMap((assertion) =>
      approvers
        .filter(({ credentialId }) => credentialId === assertion.credentialId)
        .filter((approver) => isSignedBy(approver, assertion, challenge))
        .map(({ userId }) => userId),
    ),
  )
}

type ApprovedIntent = { readonly to?: string; readonly value: string; readonly input: string }
/** What the vault reads of a request (src/approvals/request.ts). */
type ApprovedRequest = { readonly wallet_type: string; readonly intents: readonly ApprovedIntent[] }

const hexOf = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('hex')
const integerOf = (bytes: Uint8Array | undefined): bigint => BigInt(`0x0${hexOf(bytes)}`)

const addressOf = (publicKey: Uint8Array): string => hexOf(keccak_256(publicKey.subarray(1)).subarray(-20))

type Signer = { readonly chainId: number; readonly publicKey: Uint8Array; readonly isContractWallet: boolean }

/** Asked to sign what no approver saw: no honest API does that. */
const unapproved = () => new Error('asked to sign what was not approved')

/** What a transaction has the wallet do; empty for a cancel, and for what only carries a signed call of a contract wallet. */
const callsSent = ({ publicKey, isContractWallet }: Signer, unsigned: Uint8Array): readonly Call[] => {
  const fields = fieldsOfTransaction(unsigned)
  const call = { to: hexOf(fields.to), value: integerOf(fields.value), data: fields.data ?? new Uint8Array() }
  const { to, value, data } = call
  if (value === 0n && data.length === 0 && to === addressOf(publicKey)) return []
  if (!isContractWallet) return [call]
  // They own nothing, and a Safe takes no call of theirs without a signature.
  if (value === 0n && (to === PROXY_FACTORY || to === MULTI_SEND_CALL_ONLY)) return []
  const safe = safeOf(publicKey)
  if (value !== 0n || to !== safe) throw unapproved()
  return callsExecuted(safe, data)
}

/** The same for what a key signs. Of an extrinsic nothing is read. */
const callsOf = (signer: Signer, payload: Payload): readonly Call[] => {
  if (payload.kind === 'extrinsic') return []
  if (payload.kind === 'evm_transaction') return callsSent(signer, payload.unsigned)
  if (payload.kind !== 'typed_data' || !signer.isContractWallet) throw unapproved()
  const { publicKey, chainId } = signer
  return callsSigned({ safe: safeOf(publicKey), chainId }, payload.typedData)
}

const isIntent = ({ to, value, data }: Call, intent: ApprovedIntent | undefined): boolean =>
  intent !== undefined &&
  to === (intent.to ?? '0x').slice(2).toLowerCase() &&
  value === BigInt(intent.value) &&
  hexOf(data) === intent.input.slice(2).toLowerCase()

/** Refuses what was not approved: of an EVM network all calls of a transaction must be the approved ones, in their order. */
const createReader = ({ request }: Approval, signer: Omit<Signer, 'isContractWallet'>) => {
  const { wallet_type: type, intents }: ApprovedRequest = JSON.parse(request)
  const isContractWallet = type === 'contract'
  return (uses: readonly KeyUse[]): void => {
    for (const payload of uses.flatMap(({ payloads }) => payloads)) {
      const calls = callsOf({ ...signer, isContractWallet }, payload)
      const isApproved = calls.length === intents.length && calls.every((call, at) => isIntent(call, intents[at]))
      if (calls.length > 0 && !isApproved) throw unapproved()
    }
  }
}

type Of = { readonly projectId: string; readonly actor: string; readonly policyId: string }

const forgedEvent = ({ policyId: subject, ...of }: Of): SecurityEvent => ({ kind: 'policy_forged', ...of, subject })

const notApproved = (of: Of): AppError =>
  new AppError('policy_denied', 'What approves this is not signed by enough of the approvers of the policy.', {
    event: forgedEvent(of),
  })

const ended = (event?: SecurityEvent): AppError =>
  new AppError('approval_ended', 'This approval was used before, or has expired.', { event })

/** What a use of a policy needs beside its charge; for one without approvers nothing. */
export const openApproval = (
  ctx: CustodyCtx,
  input: Pick<KeyRequest, 'wallet' | 'actor'> & {
    readonly terms: PolicyTerms
    readonly approval?: Approval | undefined
  },
) => {
  const { wallet, actor, terms, approval } = input
  const { requireApproval } = terms
  if (requireApproval === null) return null
  const { projectId } = wallet
  const of = { projectId, actor, policyId: terms.id }
  if (approval === undefined || approvedBy(terms, approval).size < requireApproval.of) throw notApproved(of)
  return {
    id: approval.id,
    requireApproved: createReader(approval, {
      chainId: ctx.chainOf(wallet.network).chainId ?? 0,
      publicKey: wallet.publicKey,
    }),
    /** Uses it, in the transaction that charges the policy. By then the policy's row is locked. */
    use: async (tx: Tx): Promise<void> => {
      const { id, expiresAt } = approval
      const requestHash = requestHashOf(approval.request)
      const row = { approvalId: id, projectId, policyId: terms.id, requestHash, expiresAt }
      if (!(await insertUsedApproval(tx, row))) throw ended()
      // Somebody has deleted its row, and the journal knows of its use.
      if (ctx.journal.floorOf('used_approvals', [id]) > 0) throw ended(forgedEvent(of))
      tx.afterCommit(() => ctx.journal.addRows({ table: 'used_approvals', where: { approval_id: id } }))
    },
  }
}
