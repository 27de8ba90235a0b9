// Lists the approvals, each decoded and simulated by the preview as of now.

import { type ListedApproval, listApprovals } from '../../../db/queries/approvals.ts'
import type { Caller } from '../../identity/auth/caller.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../ctx.ts'
import { readRequest } from '../policies/request.ts'
import { previewTransactions } from '../transactions/preview.ts'
import type { PreviewResult } from '../transactions/preview-schema.ts'
import { previewTypedData } from '../typed-data/preview.ts'
import type { TypedDataPreview } from '../typed-data/preview-schema.ts'
import { type ApprovalWords, approvalWords } from './words.ts'

/** `granted`: enough approvers have approved, and it can be used. */
export const APPROVAL_STATUSES = ['waiting', 'granted', 'rejected', 'expired', 'used'] as const

type Status = (typeof APPROVAL_STATUSES)[number]

export type ShownApproval = {
  readonly row: ListedApproval
  readonly status: Status
  /** null once it has ended, or while no node answers. */
  readonly previews: readonly PreviewResult[] | null
  readonly signed: TypedDataPreview | null
  readonly words: ApprovalWords
}

const statusOf = ({ usedAt, rejectedAt, isExpired, decisions, required }: ListedApproval): Status => {
  if (usedAt !== null) return 'used'
  if (rejectedAt !== null) return 'rejected'
  if (isExpired) return 'expired'
  return decisions.filter(({ decision }) => decision === 'approve').length >= required ? 'granted' : 'waiting'
}

type Previews = Pick<ShownApproval, 'previews' | 'signed'>
const NONE: Previews = { previews: null, signed: null }

const makePreviews = async (ctx: SigningCtx, { projectId, request }: ListedApproval): Promise<Previews> => {
  const { network, wallet_address: address, intents, typed_data: typedData } = readRequest(request)
  // Without an owner, so that the preview does not judge policies: approvers do not decide about them.
  const query = { projectId, ownedBy: '', network }
  try {
    if (typedData !== undefined) {
      return { previews: null, signed: await previewTypedData(ctx, { ...query, address, typedData }) }
    }
    return {
      previews: await previewTransactions(ctx, { ...query, from: address, unsignedTransactions: intents }),
      signed: null,
    }
  } catch (error) {
    if (error instanceof AppError) return NONE
    throw error
  }
}

const shownApproval = async (ctx: SigningCtx, row: ListedApproval): Promise<ShownApproval> => {
  const status = statusOf(row)
  const isOpen = status === 'waiting' || status === 'granted'
  const previews = isOpen ? await makePreviews(ctx, row) : NONE
  const request = readRequest(row.request)
  const words = approvalWords(ctx.chains.of(request.network), { request, ...previews })
  return { row, status, ...previews, words: isOpen ? words : { ...words, warnings: [] } }
}

/** A bound, because a preview makes several calls to the node, and a page may have a hundred approvals. */
const PREVIEWS_AT_ONCE = 5

/** Lists approvals, newest first: for an API key all of the project, for a user the open ones that they may decide. */
export const listedApprovals = async (
  ctx: SigningCtx,
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
