import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { reachOf, signatoryOf } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { submitRoute } from '../../identity/idempotency/once.ts'
import { ADDRESS, CREDENTIAL, NETWORK, NODE } from '../../platform/http/codes.ts'
import { describedAs, pagingOf, Success, successOf } from '../../platform/http/schema.ts'
import type { SigningCtx } from '../ctx.ts'
import { approverIdsOf, shownPasskeys } from './approvers.ts'
import { describedPolicies, describePolicy } from './describe.ts'
import { shownLimits, writtenLimits } from './limits.ts'
import { createPolicy, listPolicies, type Policy, parseProposal, revokePolicy } from './policies.ts'
import * as schema from './schema.ts'

const shownAt = (row: Policy, at: Date): schema.Policy => ({
  uuid: row.id,
  project_id: row.projectId,
  network: row.network,
  name: row.name,
  wallet_address: row.walletAddress,
  argument_rules: row.argumentRules.map((rule) => ({ ...rule })),
  expires_at: row.expiresAt?.toISOString() ?? null,
  max_uses: row.maxUses,
  max_total_value: row.maxTotalValue?.toString() ?? null,
  max_total_fee: row.maxTotalFee.toString(),
  ...shownLimits(row, at),
  require_approval: row.requireApproval && {
    of: row.requireApproval.of,
    from: approverIdsOf(row.requireApproval),
    expires_in_seconds: row.requireApproval.expiresInSeconds,
    passkeys: shownPasskeys(row.requireApproval.approvers),
  },
  uses: row.uses,
  spent_value: row.spentValue.toString(),
  spent_fee: row.spentFee.toString(),
  created_at: row.createdAt.toISOString(),
  updated_at: row.updatedAt.toISOString(),
})

/** All fields of the policy. With a credential added it is a CreatePolicy that grants what the words say. */
const shownProposal = ({
  policy,
  approvers,
  words,
}: Awaited<ReturnType<typeof describePolicy>>): schema.DescribedProposal => ({
  policy: {
    network: policy.network,
    name: policy.name,
    wallet_address: policy.walletAddress,
    argument_rules: policy.argumentRules.map((rule) => ({ ...rule })),
    ...(policy.expiresAt === null ? {} : { expires_at: policy.expiresAt.toISOString() }),
    ...(policy.maxTotalValue === null ? {} : { max_total_value: policy.maxTotalValue.toString() }),
    max_total_fee: policy.maxTotalFee.toString(),
    ...(policy.maxUses === null ? {} : { max_uses: policy.maxUses }),
    ...writtenLimits(policy),
    ...(policy.requireApproval === null ? {} : { require_approval: policy.requireApproval }),
  },
  ...(approvers === null ? {} : { approver_passkeys: shownPasskeys(approvers) }),
  words,
})

const { detail, idempotent } = describedAs('Policies')

export const policyRoutes = (ctx: SigningCtx, authentication: Authentication) => {
  const shown = (row: Policy): schema.Policy => shownAt(row, ctx.now())
  const submit = submitRoute(ctx, shown)
  return new Elysia({ prefix: '/policies', normalize: false })
    .use(authentication)
    .post(
      '',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) => createPolicy(ctx, { ...by, ...parseProposal(body) })),
      {
        body: schema.CreatePolicyBody,
        response: { 200: schema.Policy },
        ...idempotent(
          'Create a policy',
          'Lets the developer use a wallet if all rules match: a user-controlled one without its PIN, a developer-controlled one once it is put under policies. It allows sign, sign-and-send, batch-sign-and-send, mint, transfer. Call data needs a rule `decodedInput.function eq …`; without one only payments are allowed. Fees are charged to a budget. A policy never allows signing a message, an export, a PIN change, creating a contract or changing a contract wallet.',
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
        query: schema.ListPoliciesQuery,
        response: { 200: Type.Array(schema.Policy) },
        ...detail('List policies', 'All that are not revoked, including expired ones, oldest first.', [
          ...ADDRESS,
          ...NETWORK,
          'not_found',
        ]),
      },
    )
    .post(
      '/describe',
      async ({ body, caller }) =>
        shownProposal(await describePolicy(ctx, { ...reachOf(caller), ...parseProposal(body) })),
      {
        body: schema.ProposedPolicyBody,
        response: { 200: schema.DescribedProposal },
        ...detail(
          'Describe a policy before it is created',
          'What the policy would allow, in words for the owner of the wallet. `policy` is the same policy with its fee budget fixed: create it with exactly this, so that what was read is what is granted. Nothing is created.',
          [...NODE, ...ADDRESS, 'not_found'],
        ),
      },
    )
    .get(
      '/described',
      async ({ query, caller }) => {
        const id = query.uuid && query.uuid !== 'null' ? query.uuid.toLowerCase() : null
        const described = await describedPolicies(ctx, { ...reachOf(caller), id, ...pagingOf(query) })
        return described.map(({ policy, words }) => ({ policy: shown(policy), words }))
      },
      {
        query: schema.DescribedPoliciesQuery,
        response: { 200: Type.Array(schema.DescribedPolicy) },
        ...detail(
          'List policies in words',
          'Those of user-controlled wallets on all networks that are not revoked, oldest first, each with its words for the owner.',
          [...NETWORK, 'not_found'],
        ),
      },
    )
    .post(
      '/revoke',
      ({ body, caller }) => successOf(revokePolicy(ctx, { ...signatoryOf(caller, body), id: body.uuid.toLowerCase() })),
      {
        body: schema.RevokePolicyBody,
        response: { 200: Success },
        ...detail(
          'Revoke a policy',
          'From the next request on, the policy allows nothing. Transactions that were accepted before are still sent.',
          [...CREDENTIAL, ...NETWORK, 'not_found'],
        ),
      },
    )
}
