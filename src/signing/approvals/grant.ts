// The approval that a use of a policy with approvers needs. A request without an approval id is recorded, and waits. A request
// with one must be the same as the approved one, and enough approvers must have approved it with passkeys that they still have.
// The vault verifies all of this again, and accepts each approval once.

import { randomUUID } from 'node:crypto'
import type { HasDb } from '../../../db/client.ts'
import {
  type ApprovalRow,
  type Assertion,
  approvingAssertions,
  findApproval,
  insertApproval,
  noteApprovalUse,
  openApprovals,
  readApprovalEnd,
} from '../../../db/queries/approvals.ts'
import type { Principal } from '../../identity/auth/caller.ts'
import { isOurs, passkeyMac } from '../../identity/auth/row-macs.ts'
import type { HasSecurityEvents } from '../../identity/security-events.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import { AppError, NotYet, notFound } from '../../platform/errors.ts'
import type { HasLog } from '../../platform/process/log.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { Approval, UnrevokedPolicy } from '../../vault/contract/vault.ts'
import { approverIdsOf } from './approvers.ts'

/** How many requests may wait for one policy, because people must read them. */
const OPEN_MAX = 100

type Asking = Pick<Principal, 'projectId' | 'actor'> & {
  readonly walletId: string
  readonly request: string
  readonly policy: UnrevokedPolicy
  readonly required: NonNullable<UnrevokedPolicy['requireApproval']>
  /** The approval that the request names; null: none. */
  readonly approval: ApprovalRow | null
}

/** The error that ends a request with the answer 202. */
const waiting = ({ id, expiresAt }: ApprovalRow): NotYet =>
  new NotYet({ approval_id: id, status: 'waiting', expires_at: expiresAt.toISOString() })

export const approvalEnded = (how: string): AppError =>
  new AppError('approval_ended', `This approval ${how}: ask for a new one without "approval_id".`)

/** @throws approval_ended unless it is open. */
export const requireOpen = ({
  usedAt,
  rejectedAt,
  isExpired,
}: Pick<ApprovalRow, 'usedAt' | 'rejectedAt' | 'isExpired'>): void => {
  if (usedAt !== null) throw approvalEnded('was used')
  if (rejectedAt !== null) throw approvalEnded('was rejected')
  if (isExpired) throw approvalEnded('has expired')
}

/** Checks again just before signing, because calls to nodes took time. */
export const requireStillOpen = async ({ db }: HasDb, { id }: Approval): Promise<void> => {
  const end = await readApprovalEnd(db, id)
  if (end === null) throw notFound('approval')
  requireOpen(end)
}

/** Marks the approval as used, for lists only. A failure is logged and does not fail the request. */
export const noteUse = async ({ db, log }: HasDb & HasLog, { id }: Approval): Promise<void> => {
  try {
    await noteApprovalUse(db, id)
  } catch (error) {
    log.warn({ err: error, approval: id }, 'an approval was used, and lists do not show it')
  }
}

/** Finds the approval that a request names, or null if it names none. It must be of the same wallet. */
export const namedApproval = async (
  ctx: HasDb,
  of: { readonly projectId: string; readonly walletId: string; readonly id: string | undefined },
): Promise<ApprovalRow | null> => {
  if (of.id === undefined) return null
  const found = await findApproval(ctx.db, { projectId: of.projectId, id: of.id.toLowerCase() })
  if (found === null || found.walletId !== of.walletId) throw notFound('approval')
  return found
}

const ask = async (ctx: HasDb & HasAudit, asking: Asking): Promise<ApprovalRow> => {
  const { projectId, walletId, actor, request, policy, required } = asking
  return ctx.db.transaction(async (tx) => {
    const { same, open } = await openApprovals(tx, { policyId: policy.id, askedBy: actor, request })
    if (same !== null) return same
    if (open >= OPEN_MAX) throw new AppError('busy', `${OPEN_MAX} requests wait for the approvers of this policy.`)
    const row = await insertApproval(tx, {
      id: randomUUID(),
      projectId,
      walletId,
      policyId: policy.id,
      askedBy: actor,
      request,
      required: required.of,
      approverIds: approverIdsOf(required),
      expiresInSeconds: required.expiresInSeconds,
    })
    const details = { approval: row.id, asked_policy: policy.id, expires_at: row.expiresAt.toISOString(), request }
    await ctx.audit.record(tx, { projectId, actor, action: 'approval_requested', subject: walletId, details })
    return row
  })
}

type Granting = HasDb & HasAudit & HasIdentity & HasSecurityEvents

const assertionOf = ({ passkey, clientDataJson, authenticatorData, signature }: Assertion) => ({
  credentialId: Buffer.from(passkey.credentialId).toString('base64url'),
  clientDataJson,
  authenticatorData,
  signature,
})

/**
 * The approval of a use, as the vault's method takes it.
 * @throws NotYet while it waits, approval_mismatch if another request was approved, approval_ended
 */
export const grantedApproval = async (ctx: Granting, asking: Asking): Promise<Approval> => {
  const { projectId, approval, request, required } = asking
  if (approval === null) throw waiting(await ask(ctx, asking))
  if (approval.request !== request) {
    throw new AppError('approval_mismatch', 'This is not the request that was approved: send the same one.')
  }
  requireOpen(approval)
  const { id, expiresAt } = approval
  const assertions = (await approvingAssertions(ctx.db, { projectId, id })).filter(({ passkey }) =>
    isOurs(ctx, passkeyMac(ctx.identity), passkey),
  )
  if (new Set(assertions.map(({ userId }) => userId)).size < required.of) throw waiting(approval)
  return { id, request, expiresAt, assertions: assertions.map(assertionOf) }
}
