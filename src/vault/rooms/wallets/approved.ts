// Uses of a policy with approvers. Their passkeys are part of the policy's terms, so an attacker who controls an API
// can neither add an approver nor approve. The vault verifies each assertion itself, and accepts an approval once.
// approved-request.ts compares the payloads with the approved request.

import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Tx } from '../../../../db/client.ts'
import { insertUsedApproval, type PolicyTerms } from '../../../../db/queries/vault/policies.ts'
import { AppError, type SecurityEvent } from '../../../platform/errors.ts'
import { CLOCKS_APART_MAX_MS } from '../../client/clocks.ts'
import type { Approval } from '../../contract/vault.ts'
import { approvalChallenge, hashRequest } from '../../language/approval.ts'
import type { RoomCtx } from '../ctx.ts'
import { createApprovedReader } from './approved-request.ts'
import type { ReadRequest } from './read-wallet.ts'

type Assertion = Approval['assertions'][number]
type Approver = NonNullable<PolicyTerms['requireApproval']>['approvers'][number]

/** WebAuthn §6.1: the hash of the RP ID, the flags, the counter. */
const RP_ID_HASH_BYTES = 32
const FLAGS_AT = RP_ID_HASH_BYTES
const AUTHENTICATOR_DATA_BYTES_MIN = 37
/** Flags: the user is present, and was verified. */
const UP_AND_UV = 0x05

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

/** Ed25519 hashes by itself; ES256 and RS256 take SHA-256. */
const digestOf = (key: KeyObject): string | null => (key.asymmetricKeyType === 'ed25519' ? null : 'sha256')

type ClientData = { readonly type?: unknown; readonly challenge?: unknown; readonly crossOrigin?: unknown }

/**
 * Whether the approver's passkey signed this challenge (WebAuthn Level 3, §7.2). The RP ID stands for the page's
 * domain.
 */
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
    // A malformed assertion does not count.
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

type Of = { readonly projectId: string; readonly actor: string; readonly policyId: string }

const forgedEvent = ({ policyId: subject, ...scope }: Of): SecurityEvent => ({
  kind: 'policy_forged',
  ...scope,
  subject,
})

const notApproved = (scope: Of): AppError =>
  new AppError('policy_denied', 'This request does not have enough valid approvals.', {
    event: forgedEvent(scope),
  })

const ended = (event?: SecurityEvent): AppError =>
  new AppError('approval_ended', 'This approval was used before, has expired, or lasts longer than its policy says.', {
    event,
  })

/** The checks of a use of a policy with approvers; null if the policy has none. */
export const openApproval = (
  ctx: RoomCtx,
  input: Pick<ReadRequest, 'wallet' | 'actor'> & {
    readonly terms: PolicyTerms
    readonly approval?: Approval | undefined
  },
) => {
  const { wallet, actor, terms, approval } = input
  const { requireApproval } = terms
  if (requireApproval === null) return null
  const { projectId } = wallet
  const scope = { projectId, actor, policyId: terms.id }
  if (approval === undefined || approvedBy(terms, approval).size < requireApproval.of) throw notApproved(scope)
  return {
    id: approval.id,
    requireApproved: createApprovedReader(approval.request, {
      chainId: ctx.chainOf(wallet.network).chainId ?? 0,
      publicKey: wallet.publicKey,
    }),
    /** Marks the approval as used, in the transaction that charges the policy. The policy's row is locked already. */
    use: async (tx: Tx): Promise<void> => {
      const { id, expiresAt } = approval
      const requestHash = hashRequest(approval.request)
      const { expiresInSeconds } = requireApproval
      const row = { approvalId: id, projectId, policyId: terms.id, requestHash, expiresAt, expiresInSeconds }
      // By either clock: its end, and how long it lasts, for which the clocks may differ a little.
      const leftMs = expiresAt.getTime() - ctx.now().getTime()
      if (leftMs <= 0 || leftMs > expiresInSeconds * 1_000 + CLOCKS_APART_MAX_MS) throw ended()
      const written = await insertUsedApproval(tx, row)
      if (written === null) throw ended()
      // The approval was used: its row was deleted, but the vault has written it.
      if (ctx.journal.floorOf('used_approvals', [id]) > 0) throw ended(forgedEvent(scope))
      tx.afterCommit(() => ctx.journal.wrote(written))
    },
  }
}
