import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import type { HasDb } from '../../../db/client.ts'
import type { HasChains } from '../../chains/chains.ts'
import { reachOf } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import type { HasClock } from '../../platform/clock.ts'
import type { HasConfig } from '../../platform/config.ts'
import { OWN_WALLET } from '../../platform/http/codes.ts'
import { describedAs } from '../../platform/http/schema.ts'
import type { HasLog } from '../../platform/process/log.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { HasWallets } from '../../signing/wallets/get.ts'
import { describeActivity, listActivity } from './list.ts'
import { activityPaging, ListActivityQuery, parseBefore, WalletActivityItem } from './schema.ts'

const { detail } = describedAs('Activity')

export const activityRoutes = (
  ctx: HasDb & HasChains & HasWallets & HasConfig & HasClock & HasLog & HasIdentity,
  authentication: Authentication,
) =>
  new Elysia({ prefix: '/activity', normalize: false }).use(authentication).get(
    '',
    async ({ query, caller }) => {
      const activities = await listActivity(ctx, {
        ...reachOf(caller),
        network: query.network,
        walletAddress: query.wallet_address,
        before: parseBefore(query),
        ...activityPaging.of(query),
      })
      return activities.map((activity) => describeActivity(ctx.chains.withNode(query.network), activity))
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
