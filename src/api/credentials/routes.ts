import { Elysia } from 'elysia'
import type { HasChains } from '../../chains/chains.ts'
import { requireUser, type UserCaller } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { notFound } from '../../platform/errors.ts'
import type { HasWallets } from '../../signing/wallets/get.ts'
import type { ApiCtx } from '../ctx.ts'
import { answerPage, openLogin } from '../login/open.ts'
import { credentialsPage } from './page.ts'

/** If some of them were forged, another one is found. */
const LOOKED_AT_MAX = 10

/** One of the user's wallets that their own PIN opens. What opens it opens all other wallets of the user. */
const ownWallet = async (
  ctx: HasWallets & HasChains,
  { projectId, userId: ownerId }: Pick<UserCaller, 'projectId' | 'userId'>,
) => {
  const networks = ctx.chains.known.map(({ network }) => network)
  const [wallet] = await ctx.wallets.userControlled({ projectId, ownerId, networks, limit: LOOKED_AT_MAX })
  if (wallet === undefined) throw notFound('wallet')
  return { network: wallet.network, address: wallet.address }
}

const hidden = { detail: { hide: true } }

/** A user sees and changes what opens their wallets. The page asks `wallet` which wallet its calls name. */
export const credentialRoutes = (ctx: ApiCtx, authentication: Authentication) =>
  new Elysia({ prefix: '/credentials', normalize: false })
    .get(
      '',
      ({ query, set }) =>
        answerPage(set, {
          advice: 'Nothing was changed; go back to the app.',
          make: async () => credentialsPage(await openLogin(ctx, query)),
        }),
      hidden,
    )
    .use(new Elysia().use(authentication).get('/wallet', ({ caller }) => ownWallet(ctx, requireUser(caller)), hidden))
