// The approval that a use of a policy with approvers needs. A request without an approval id is recorded, and waits. A
// request with one must be the same as the approved one, and enough approvers must have approved it with passkeys that
// they still have. The vault verifies all of this again, and accepts each approval once.

import { randomUUID } from 'node:crypto'
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
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Principal, Signatory } from '../../identity/auth/caller.ts'
import { isOurs, passkeyMac } from '../../identity/auth/row-macs.ts'
import { AppError, NotYet, notFound } from '../../platform/errors.ts'
import type { Approval, UnrevokedPolicy } from '../../vault/contract/vault.ts'
import type { SigningCtx } from '../ctx.ts'
import { approverIdsOf } from './approvers.ts'

/** How many requests may wait for one policy, because people must read them. */
const OPEN_MAX = 100

/** A use by a policy. */
type PolicyUse = Pick<Principal, 'actor'> & {
  readonly wallet: Pick<WalletRow, 'id' | 'projectId'>
  readonly policy: UnrevokedPolicy
  /** The approval that the request names; null: none. */
  readonly approval: ApprovalRow | null
  /** Makes the text that approvers see. */
  readonly request: () => string
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
export const requireStillOpen = async ({ db }: SigningCtx, { id }: Approval): Promise<void> => {
  const end = await readApprovalEnd(db, id)
  if (end === null) throw notFound('approval')
  requireOpen(end)
}

/** Marks the approval as used, for lists only. A failure is logged and does not fail the request. */
export const noteUse = async ({ db, log }: SigningCtx, { id }: Approval): Promise<void> => {
  try {
    await noteApprovalUse(db, id)
  } catch (error) {
    log.warn({ err: error, approval: id }, 'an approval was used, and lists do not show it')
  }
}

/** The approval that a request names, or null if it names none. It must be of the same wallet. */
export const namedApproval = async (
  ctx: SigningCtx,
  { wallet, approvalId }: Pick<PolicyUse, 'wallet'> & Pick<Signatory, 'approvalId'>,
): Promise<ApprovalRow | null> => {
  if (approvalId === undefined) return null
  const found = await findApproval(ctx.db, { projectId: wallet.projectId, id: approvalId.toLowerCase() })
  if (found === null || found.walletId !== wallet.id) throw notFound('approval')
  return found
}

type Asking = Omit<PolicyUse, 'request'> & {
  readonly request: string
  readonly required: NonNullable<UnrevokedPolicy['requireApproval']>
}

const ask = async (ctx: SigningCtx, { wallet, actor, request, policy, required }: Asking): Promise<ApprovalRow> => {
  const { projectId, id: walletId } = wallet
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

const shownAssertion = ({ passkey, clientDataJson, authenticatorData, signature }: Assertion) => ({
  credentialId: Buffer.from(passkey.credentialId).toString('base64url'),
  clientDataJson,
  authenticatorData,
  signature,
})

/** undefined if the policy needs none. @throws NotYet while it waits, approval_mismatch, approval_ended */
export const grantedApproval = async (ctx: SigningCtx, use: PolicyUse): Promise<Approval | undefined> => {
  const { wallet, policy, approval } = use
  const { requireApproval: required } = policy
  if (required === null) return undefined
  const request = use.request()
  if (approval === null) throw waiting(await ask(ctx, { ...use, request, required }))
  if (approval.request !== request) {
    throw new AppError('approval_mismatch', 'This is not the request that was approved: send the same one.')
  }
  requireOpen(approval)
  const { id, expiresAt } = approval
  const found = await approvingAssertions(ctx.db, { projectId: wallet.projectId, id })
  const assertions = found.filter(({ passkey }) => isOurs(ctx, passkeyMac(ctx.identity), passkey))
  if (new Set(assertions.map(({ userId }) => userId)).size < required.of) throw waiting(approval)
  return { id, request, expiresAt, assertions: assertions.map(shownAssertion) }
}
