import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { reachOf } from '../auth/caller.ts'
import type { Authentication } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { OWN_WALLET } from '../http/codes.ts'
import { describedAs } from '../http/schema.ts'
import { itemOf } from './item.ts'
import { listActivity } from './list.ts'
import { activityPaging, beforeOf, ListActivityQuery, WalletActivityItem } from './schema.ts'

const { detail } = describedAs('Activity')

export const activityRoutes = (
  ctx: Pick<Ctx, 'db' | 'chains' | 'wallets' | 'config' | 'now' | 'log' | 'identity'>,
  authentication: Authentication,
) =>
  new Elysia({ prefix: '/activity', normalize: false }).use(authentication).get(
    '',
    async ({ query, caller }) => {
      const activities = await listActivity(ctx, {
        ...reachOf(caller),
        network: query.network,
        walletAddress: query.wallet_address,
        before: beforeOf(query),
        ...activityPaging.of(query),
      })
      return activities.map((activity) => itemOf(ctx.chains.withNode(query.network), activity))
    },
    {
      query: ListActivityQuery,
      response: { 200: Type.Array(WalletActivityItem) },
      ...detail(
        'List activity',
        'Coins, tokens and NFTs that came into a wallet of the project or went out, newest first. New items move older ' +
          'ones to later pages, so a caller who pages by number sees some twice (by uuid) and misses none. To see each ' +
          'once, ask with `before`, the uuid of the last item seen, instead of the next page.',
        [...OWN_WALLET, 'page_too_deep'],
      ),
    },
  )
