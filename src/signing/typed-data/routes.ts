import { Elysia } from 'elysia'
import { reachOf, signatoryOf } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { ADDRESS, CREDENTIAL, NAMED_WALLET, NODE, POLICY } from '../../platform/http/codes.ts'
import { describedAs, WaitingApproval } from '../../platform/http/schema.ts'
import type { SigningCtx } from '../ctx.ts'
import { readSigner } from '../wallets/signer.ts'
import { previewTypedData } from './preview.ts'
import { PreviewTypedDataBody, TypedDataPreview } from './preview-schema.ts'
import { SignedTypedData, SignTypedDataBody } from './schema.ts'
import { signTypedData } from './sign.ts'

const { detail } = describedAs('Transactions')

export const typedDataRoutes = (ctx: SigningCtx, authentication: Authentication) =>
  new Elysia({ prefix: '/transactions', normalize: false })
    .use(authentication)
    .post(
      '/preview-typed-data',
      ({ body, caller }) =>
        previewTypedData(ctx, {
          ...reachOf(caller),
          ...readSigner(body),
          typedData: body.typed_data,
        }),
      {
        body: PreviewTypedDataBody,
        response: { 200: TypedDataPreview },
        ...detail(
          'Preview typed data',
          'Says what a signature of it would do, and signs nothing. It is checked as for a signature.',
          [...NODE, ...ADDRESS, 'network_required'],
        ),
      },
    )
    .post(
      '/sign-typed-data',
      async ({ body, caller }) => ({
        signature: await signTypedData(ctx, {
          ...signatoryOf(caller, body),
          ...readSigner(body),
          typedData: body.typed_data,
        }),
      }),
      {
        body: SignTypedDataBody,
        response: { 200: SignedTypedData, 202: WaitingApproval },
        ...detail(
          'Sign typed data',
          'EIP-712, as `eth_signTypedData_v4`; only on EVM networks. If developer and user share control, it needs both credentials, as a message does. With `developer_secret` alone, if a policy names the primary type and the verifying contract.',
          [...CREDENTIAL, ...NODE, ...NAMED_WALLET, 'contract_wallet_changed', ...POLICY],
        ),
      },
    )
