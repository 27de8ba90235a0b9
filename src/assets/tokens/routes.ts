import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { reachOf } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { submitRoute } from '../../identity/idempotency/once.ts'
import { ADDRESS, NAMED_WALLET, NODE, OWN_WALLET, SENDING } from '../../platform/http/codes.ts'
import { describedAs, shownSubmitted, TransactionResult, WaitingApproval } from '../../platform/http/schema.ts'
import type { SigningCtx } from '../../signing/ctx.ts'
import { Token } from '../../signing/schema.ts'
import { getToken, tokenBalances } from './read.ts'
import {
  BalancesQuery,
  BatchTransferTokenBody,
  CreateTokenBody,
  MintTokenBody,
  TokenBalance,
  TokenQuery,
  TransferTokenBody,
} from './schema.ts'
import { batchTransferTokens, createToken, mintToken, transferToken } from './submit.ts'

const { detail, idempotent } = describedAs('Tokens')

const SUBMITS = { 200: TransactionResult, 202: WaitingApproval } as const

export const tokenRoutes = (ctx: SigningCtx, authentication: Authentication) => {
  const submit = submitRoute(ctx, shownSubmitted)
  return new Elysia({ prefix: '/tokens', normalize: false })
    .use(authentication)
    .get(
      '/balances',
      ({ query, caller }) =>
        tokenBalances(ctx, {
          ...reachOf(caller),
          network: query.network,
          walletAddress: query.wallet_address,
        }),
      {
        query: BalancesQuery,
        response: { 200: Type.Array(TokenBalance) },
        ...detail(
          'List balances',
          'The balances of a wallet of the project: the coin first, then tokens with a balance above zero.',
          OWN_WALLET,
        ),
      },
    )
    .get(
      '/tokens',
      ({ query, caller }) => getToken(ctx, { ...reachOf(caller), network: query.network, token: query.token }),
      {
        query: TokenQuery,
        response: { 200: Token },
        ...detail('Get a token', 'What a token says about itself, or the coin of the network by its word.', [
          ...ADDRESS,
          ...NODE,
          'not_found',
        ]),
      },
    )
    .post(
      '',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) => createToken(ctx, { ...by, body })),
      {
        body: CreateTokenBody,
        response: SUBMITS,
        ...idempotent(
          'Create a token',
          'On EVM networks an ERC-20 contract with EIP-2612, which the sender owns and mints; on Substrate networks an asset of pallet Assets. Its address or id is in the status of the transaction.',
          [...SENDING, ...NAMED_WALLET],
        ),
      },
    )
    .post(
      '/mint',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) => mintToken(ctx, { ...by, body })),
      {
        body: MintTokenBody,
        response: SUBMITS,
        ...idempotent(
          'Mint tokens',
          'Of a token that lets the sender mint: one that it created, or another with `mint(address,uint256)`.',
          [...SENDING, ...NAMED_WALLET, 'mint_unsupported', 'mint_unauthorized', 'mint_requires_value'],
        ),
      },
    )
    .post(
      '/transfer',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) => transferToken(ctx, { ...by, body })),
      {
        body: TransferTokenBody,
        response: SUBMITS,
        ...idempotent(
          'Transfer tokens',
          'Or the coin, from a wallet of the project to any address. Of a token that keeps a fee the recipient gets less: a preview says how much.',
          [...SENDING, ...NAMED_WALLET],
        ),
      },
    )
    .post(
      '/batch-transfer',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) => batchTransferTokens(ctx, { ...by, body })),
      {
        body: BatchTransferTokenBody,
        response: SUBMITS,
        ...idempotent(
          'Transfer tokens to several recipients',
          'In one transaction: all of them, or nothing. On EVM networks a wallet of type `eoa` can do that with the coin and with tokens that were created here; others are refused with `batch_unsupported`.',
          [...SENDING, ...NAMED_WALLET, 'batch_unsupported'],
        ),
      },
    )
}
