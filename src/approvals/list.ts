// Lists the approvals, each decoded and simulated by the preview as of now.

import { type ListedApproval, listApprovals } from '../../db/queries/approvals.ts'
import type { Caller } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { previewTransactions } from '../transactions/preview.ts'
import type { PreviewResult } from '../transactions/preview-schema.ts'
import { readRequest } from './request.ts'
import { type ApprovalWords, approvalWords } from './words.ts'

/** `granted`: enough approvers have approved, and it can be used. */
export const APPROVAL_STATUSES = ['waiting', 'granted', 'rejected', 'expired', 'used'] as const

type Status = (typeof APPROVAL_STATUSES)[number]

export type ShownApproval = {
  readonly row: ListedApproval
  readonly status: Status
  /** null once it has ended, or while no node answers. */
  readonly previews: readonly PreviewResult[] | null
  /** The request in English, for its approvers. */
  readonly words: ApprovalWords
}

const statusOf = ({ usedAt, rejectedAt, isExpired, decisions, required }: ListedApproval): Status => {
  if (usedAt !== null) return 'used'
  if (rejectedAt !== null) return 'rejected'
  if (isExpired) return 'expired'
  return decisions.filter(({ decision }) => decision === 'approve').length >= required ? 'granted' : 'waiting'
}

type Listing = Pick<Ctx, 'config' | 'db' | 'chains' | 'vault' | 'wallets'>

const previewsOf = async (ctx: Listing, { projectId, request }: ListedApproval) => {
  const { network, wallet_address: from, intents } = readRequest(request)
  try {
    // Without an owner, so that the preview does not judge policies: approvers do not decide about them.
    const reach = { projectId, ownedBy: '' }
    return await previewTransactions(ctx, { ...reach, network, from, unsignedTransactions: intents })
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

const shownApproval = async (ctx: Listing, row: ListedApproval): Promise<ShownApproval> => {
  const status = statusOf(row)
  const isOpen = status === 'waiting' || status === 'granted'
  const previews = isOpen ? await previewsOf(ctx, row) : null
  const request = readRequest(row.request)
  return { row, status, previews, words: approvalWords(ctx.chains.of(request.network), { request, previews }) }
}

/** A bound, because a preview makes several calls to the node, and a page may have a hundred approvals. */
const PREVIEWS_AT_ONCE = 5

/** Lists approvals, newest first: for an API key all of the project, for a user the open ones that they may decide. */
export const listedApprovals = async (
  ctx: Listing,
  input: { readonly caller: Caller; readonly limit: number; readonly offset: number },
): Promise<readonly ShownApproval[]> => {
  const { caller, limit, offset } = input
  const approverId = caller.kind === 'user' ? caller.userId : null
  const rows = await listApprovals(ctx.db, { projectId: caller.projectId, approverId, limit, offset })
  const shown: ShownApproval[] = []
  for (let at = 0; at < rows.length; at += PREVIEWS_AT_ONCE) {
    const some = rows.slice(at, at + PREVIEWS_AT_ONCE)
    shown.push(...(await Promise.all(some.map((row) => shownApproval(ctx, row)))))
  }
  return shown
}
