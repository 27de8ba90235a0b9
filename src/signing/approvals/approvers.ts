// Who may approve the uses of a policy: users of the project, by the passkeys that they have when the policy is made. The public
// keys become terms of the policy, so the vault can verify what they sign. A passkey that is added later does not count.

import type { HasDb } from '../../../db/client.ts'
import { type ProjectPasskey, passkeysOf } from '../../../db/queries/passkeys.ts'
import { spkiOf } from '../../identity/auth/cose-key.ts'
import { isOurs, passkeyMac } from '../../identity/auth/row-macs.ts'
import type { HasSecurityEvents } from '../../identity/security-events.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { PolicyTerms } from '../../vault/contract/vault.ts'
import { APPROVER_PASSKEYS_MAX } from '../../vault/language/approval.ts'

const EXPIRES_IN_SECONDS = 24 * 60 * 60

export type ProposedApproval = {
  readonly of: number
  /** null: every user of the project who has a passkey. */
  readonly from: readonly string[] | null
  /** null: one day. */
  readonly expiresInSeconds: number | null
}

/** The users who may approve, each once. */
export const approverIdsOf = ({ approvers }: NonNullable<PolicyTerms['requireApproval']>): string[] => [
  ...new Set(approvers.map(({ userId }) => userId)),
]

type Approver = NonNullable<PolicyTerms['requireApproval']>['approvers'][number]

/** Passkeys as answers show them, so that a reader can compare them with the approvers' own. */
export const shownPasskeys = (approvers: readonly Omit<Approver, 'rpId'>[]) =>
  approvers.map(({ userId, credentialId, publicKey }) => ({
    user_id: userId,
    credential_id: credentialId,
    public_key: publicKey,
  }))

const invalid = (sentence: string): AppError => new AppError('invalid_input', sentence)

const approverOf = ({ userId, rpId, credentialId, publicKey }: ProjectPasskey) => ({
  userId,
  rpId,
  credentialId: Buffer.from(credentialId).toString('base64url'),
  publicKey: Buffer.from(spkiOf(publicKey)).toString('base64url'),
})

/** The terms for a policy that needs approvers. */
export const requiredApproval = async (
  ctx: HasDb & HasIdentity & HasSecurityEvents,
  input: { readonly projectId: string; readonly ownedBy: string | null; readonly proposed: ProposedApproval },
): Promise<NonNullable<PolicyTerms['requireApproval']>> => {
  const { projectId, ownedBy, proposed } = input
  const { of, expiresInSeconds } = proposed
  const from = proposed.from === null ? null : [...new Set(proposed.from.map((id) => id.toLowerCase()))]
  if (from === null && ownedBy !== null) {
    throw invalid('Field "require_approval.from" is required: a user does not learn who else has a passkey.')
  }
  const found = await passkeysOf(ctx.db, { projectId, userIds: from, limit: APPROVER_PASSKEYS_MAX + 1 })
  if (found.length > APPROVER_PASSKEYS_MAX) {
    throw invalid(
      `Field "require_approval.from" must name users with at most ${APPROVER_PASSKEYS_MAX} passkeys together.`,
    )
  }
  const approvers = found.filter((row) => isOurs(ctx, passkeyMac(ctx.identity), row)).map(approverOf)
  const users = new Set(approvers.map(({ userId }) => userId))
  if (from?.some((id) => !users.has(id))) {
    throw invalid('Field "require_approval.from" must name users of the project who have a passkey.')
  }
  if (users.size < of) {
    throw invalid(`Field "require_approval.of" must be at most the number of approvers, which is ${users.size}.`)
  }
  return { of, expiresInSeconds: expiresInSeconds ?? EXPIRES_IN_SECONDS, approvers }
}
