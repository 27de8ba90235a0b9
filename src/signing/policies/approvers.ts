// Who may approve the uses of a policy: users of the project, by the passkeys that they have when the policy is made.
// The public keys become terms of the policy, so the vault can verify what they sign. A passkey that is added later
// does not count.

import { listProjectPasskeys, type ProjectPasskey } from '../../../db/queries/passkeys.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import { spkiOf } from '../../identity/auth/cose-key.ts'
import { isOurs, passkeyMac } from '../../identity/auth/row-macs.ts'
import type { PolicyTerms } from '../../vault/contract/vault.ts'
import { APPROVER_PASSKEYS_MAX } from '../../vault/language/approval.ts'
import type { SigningCtx } from '../ctx.ts'
import { invalidInput } from '../schema.ts'
import type { ProposedPolicy } from './policies.ts'

const EXPIRES_IN_SECONDS = 24 * 60 * 60

type Required = NonNullable<PolicyTerms['requireApproval']>

export const approverIdsOf = ({ approvers }: Required): string[] => [...new Set(approvers.map(({ userId }) => userId))]

/** Passkeys as answers show them, so that a reader can compare them with the approvers' own. */
export const shownPasskeys = (approvers: Required['approvers']) =>
  approvers.map(({ userId, credentialId, publicKey }) => ({
    user_id: userId,
    credential_id: credentialId,
    public_key: publicKey,
  }))

const describeApprover = ({ userId, rpId, credentialId, publicKey }: ProjectPasskey) => ({
  userId,
  rpId,
  credentialId: Buffer.from(credentialId).toString('base64url'),
  publicKey: Buffer.from(spkiOf(publicKey)).toString('base64url'),
})

/** The terms of a policy that needs approvers; null of another one. */
export const requiredApproval = async (
  ctx: SigningCtx,
  input: Pick<Reach, 'projectId' | 'ownedBy'> & Pick<ProposedPolicy, 'requireApproval'>,
): Promise<Required | null> => {
  const { projectId, ownedBy, requireApproval: proposed } = input
  if (proposed === null) return null
  const { of, expires_in_seconds: expiresInSeconds = EXPIRES_IN_SECONDS } = proposed
  // Each user once: a caller may have written the ids in capitals.
  const from = proposed.from === undefined ? null : [...new Set(proposed.from.map((id) => id.toLowerCase()))]
  if (from === null && ownedBy !== null) {
    throw invalidInput('Field "require_approval.from" is required: a user does not learn who else has a passkey.')
  }
  const found = await listProjectPasskeys(ctx.db, { projectId, userIds: from, limit: APPROVER_PASSKEYS_MAX + 1 })
  if (found.length > APPROVER_PASSKEYS_MAX) {
    throw invalidInput(
      `Field "require_approval.from" must name users with at most ${APPROVER_PASSKEYS_MAX} passkeys together.`,
    )
  }
  const approvers = found.filter((row) => isOurs(ctx, passkeyMac(ctx.identity), row)).map(describeApprover)
  const users = new Set(approvers.map(({ userId }) => userId))
  if (from?.some((id) => !users.has(id))) {
    throw invalidInput('Field "require_approval.from" must name users of the project who have a passkey.')
  }
  if (users.size < of) {
    throw invalidInput(`Field "require_approval.of" must be at most the number of approvers, which is ${users.size}.`)
  }
  return { of, expiresInSeconds, approvers }
}
