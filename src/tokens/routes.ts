import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { reachOf } from '../auth/caller.ts'
import type { Authentication } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { OWN_WALLET } from '../http/codes.ts'
import { describedAs } from '../http/schema.ts'
import { tokenBalances } from './balances.ts'
import { BalancesQuery, TokenBalance } from './schema.ts'

const { detail } = describedAs('Tokens')

export const tokenRoutes = (ctx: Pick<Ctx, 'db' | 'chains' | 'wallets'>, authentication: Authentication) =>
  new Elysia({ prefix: '/tokens', normalize: false }).use(authentication).get(
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
