import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { reachOf, signatoryOf } from '../auth/caller.ts'
import type { Authentication } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { ADDRESS, CREDENTIAL, NETWORK, NODE } from '../http/codes.ts'
import { describedAs, pagingOf, Success, successOf } from '../http/schema.ts'
import { submitRoute } from '../idempotency/once.ts'
import { agreedIn, createPolicy, listPolicies, revokePolicy } from './policies.ts'
import { CreatePolicyBody, ListPoliciesQuery, Policy, RevokePolicyBody } from './schema.ts'

type Row = Awaited<ReturnType<typeof createPolicy>>

const shown = (row: Row): Policy => ({
  uuid: row.id,
  project_id: row.projectId,
  network: row.network,
  name: row.name,
  wallet_address: row.walletAddress,
  argument_rules: row.argumentRules.map(({ argument, operator, value }) => ({ argument, operator, value })),
  expires_at: row.expiresAt?.toISOString() ?? null,
  max_uses: row.maxUses,
  max_total_value: row.maxTotalValue?.toString() ?? null,
  max_total_fee: row.maxTotalFee.toString(),
  uses: row.uses,
  spent_value: row.spentValue.toString(),
  spent_fee: row.spentFee.toString(),
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt.toISOString(),
})

const { detail, idempotent } = describedAs('Policies')

export const policyRoutes = (ctx: Ctx, authentication: Authentication) => {
  const submit = submitRoute(ctx, shown)
  return new Elysia({ prefix: '/policies', normalize: false })
    .use(authentication)
    .post(
      '',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) =>
          createPolicy(ctx, {
            ...by,
            network: body.network,
            name: body.name ?? '',
            walletAddress: body.wallet_address,
            argumentRules: body.argument_rules,
            ...agreedIn(body),
          }),
        ),
      {
        body: CreatePolicyBody,
        response: { 200: Policy },
        ...idempotent(
          'Create a policy',
          'Lets the developer use a user-controlled wallet without its PIN if all rules match: sign, sign-and-send, batch-sign-and-send, mint, transfer. Call data needs a rule `decodedInput.function eq …`; without one only payments are allowed. Fees are charged to a budget. A policy never allows signing a message, an export, a PIN change, creating a contract or changing a contract wallet.',
          [...CREDENTIAL, ...NODE, ...ADDRESS, 'not_found'],
        ),
      },
    )
    .get(
      '',
      async ({ query, caller }) => {
        const rows = await listPolicies(ctx, {
          ...reachOf(caller),
          network: query.network,
          walletAddress: query.wallet_address,
          ...pagingOf(query),
        })
        return rows.map(shown)
      },
      {
        query: ListPoliciesQuery,
        response: { 200: Type.Array(Policy) },
        ...detail('List policies', 'All that are not revoked, including expired ones, oldest first.', [
          ...ADDRESS,
          ...NETWORK,
          'not_found',
        ]),
      },
    )
    .post(
      '/revoke',
      ({ body, caller }) => successOf(revokePolicy(ctx, { ...signatoryOf(caller, body), id: body.uuid.toLowerCase() })),
      {
        body: RevokePolicyBody,
        response: { 200: Success },
        ...detail(
          'Revoke a policy',
          'From the next request on, the policy allows nothing. Transactions that were accepted before are still sent.',
          [...CREDENTIAL, ...NETWORK, 'not_found'],
        ),
      },
    )
}
