import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { requireUser } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { USER } from '../../platform/http/codes.ts'
import { describedAs, pagingOf } from '../../platform/http/schema.ts'
import type { SigningCtx } from '../ctx.ts'
import { readRequest } from '../policies/request.ts'
import { beginDecision, decideApproval } from './decide.ts'
import { listedApprovals, type ShownApproval } from './list.ts'
import * as schema from './schema.ts'

const shown = ({ row, status, previews, signed, words }: ShownApproval): schema.Approval => {
  const { action, network, wallet_address, transaction_id, signer_nonce, intents, typed_data } = readRequest(
    row.request,
  )
  return {
    approval_id: row.id,
    status,
    created_at: row.createdAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    policy_uuid: row.policyId,
    network,
    wallet_address,
    action,
    transaction_id: transaction_id ?? null,
    signer_nonce: signer_nonce ?? null,
    unsigned_transactions: [...intents],
    previews: previews === null ? null : [...previews],
    typed_data: typed_data ?? null,
    typed_data_preview: signed,
    words,
    required: row.required,
    decisions: row.decisions.map(({ userId, decision, decidedAt }) => ({
      user_id: userId,
      decision,
      decided_at: decidedAt,
    })),
  }
}

const { detail } = describedAs('Approvals')

export const approvalRoutes = (ctx: SigningCtx, authentication: Authentication) =>
  new Elysia({ prefix: '/approvals', normalize: false })
    .use(authentication)
    .get('', async ({ query, caller }) => (await listedApprovals(ctx, { caller, ...pagingOf(query) })).map(shown), {
      query: schema.ListApprovalsQuery,
      response: { 200: Type.Array(schema.Approval) },
      ...detail(
        'List approvals',
        'An API key sees all of the project; a user the open ones that they may decide, also those that they have approved and can still reject. Newest first.',
      ),
    })
    .post(
      '/begin',
      ({ body, caller, request }) =>
        beginDecision(ctx, requireUser(caller), {
          id: body.approval_id,
          decision: body.decision,
          origin: request.headers.get('origin'),
        }),
      {
        body: schema.BeginDecisionBody,
        response: { 200: schema.DecisionOptions },
        ...detail(
          'Begin to decide',
          'Pass the answer to navigator.credentials.get, and its result to decide. Only for approvers of the policy, on a page where their passkey works.',
          [...USER, 'not_found', 'approval_ended', 'passkey_domain_required'],
        ),
      },
    )
    .post(
      '/decide',
      async ({ body, caller }) => {
        const { approval_id: id, decision, passkey_credential_assertion_response: assertion } = body
        await decideApproval(ctx, requireUser(caller), { id, decision, assertion })
        return { approval_id: id.toLowerCase(), decision }
      },
      {
        body: schema.DecideBody,
        response: { 200: schema.DecidedApproval },
        ...detail(
          'Decide',
          'The passkey must be one that the approver had when the policy was made. The same decision again changes nothing.',
          [...USER, 'not_found', 'approval_ended'],
        ),
      },
    )
