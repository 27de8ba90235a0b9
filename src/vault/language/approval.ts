// What an approver's passkey signs. The API shows the request and asks for the signature; the vault checks it again,
// with the public keys that the policy binds, before it signs.

import { createHash } from 'node:crypto'
import type { ApprovalDecision } from '../../../db/words.ts'
import { canonicalJson } from '../../platform/canonical-json.ts'

/** How many passkeys the approvers of one policy may have together: the vault tries them one by one. */
export const APPROVER_PASSKEYS_MAX = 100

const sha256 = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest()

export const hashRequest = (request: string): Uint8Array => sha256(request)

/** The challenge of the WebAuthn assertion: SHA-256 over the canonical JSON of all that is decided. Pure. */
export const approvalChallenge = (approval: {
  readonly id: string
  readonly policyId: string
  /** The whole request as canonical JSON (RFC 8785). */
  readonly request: string
  readonly expiresAt: Date
  readonly decision: ApprovalDecision
}): Uint8Array =>
  sha256(
    canonicalJson({
      strongroom: 'approval',
      approval: approval.id,
      policy: approval.policyId,
      request_sha256: sha256(approval.request).toString('hex'),
      expires_at: approval.expiresAt.toISOString(),
      decision: approval.decision,
    }),
  )
