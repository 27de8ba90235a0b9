import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { reachOf } from '../auth/caller.ts'
import type { Authentication } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { answers, pagingOf } from '../http/schema.ts'
import { itemOf } from './item.ts'
import { listActivity } from './list.ts'
import { beforeOf, ListActivityQuery, WalletActivityItem } from './schema.ts'

export const activityRoutes = (
  ctx: Pick<Ctx, 'db' | 'chains' | 'config' | 'now' | 'log'>,
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
        ...pagingOf(query),
      })
      return activities.map((activity) => itemOf(ctx.chains.withNode(query.network), activity))
    },
    {
      query: ListActivityQuery,
      response: answers(Type.Array(WalletActivityItem)),
      detail: {
        tags: ['Activity'],
        summary: 'List activity',
        description:
          'What happened to a wallet of the project, newest first: coins, tokens and NFTs that came in and went out. ' +
          'New items push older ones to later pages: who walks on sees some twice, by uuid, and misses none. Who asks ' +
          'with `before`, the uuid of the last item seen, instead of the next page sees each once.',
      },
    },
  )
