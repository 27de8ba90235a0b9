import { Elysia } from 'elysia'
import { requireUser } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { AppError } from '../../platform/errors.ts'
import { PAGE_HEADERS } from '../../platform/pages/page.ts'
import type { ApiCtx } from '../ctx.ts'
import { openLogin } from '../login/open.ts'
import { refusedPage } from '../login/page.ts'
import { ownWallet } from './own-wallet.ts'
import { credentialsPage } from './page.ts'

const hidden = { detail: { hide: true } }

const pageRoute = (ctx: Parameters<typeof openLogin>[0]) =>
  new Elysia().get(
    '',
    async ({ query, set }) => {
      Object.assign(set.headers, PAGE_HEADERS)
      try {
        return credentialsPage(await openLogin(ctx, query))
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        set.status = error.status
        return refusedPage({
          title: 'This link does not work',
          advice: 'Nothing was changed; go back to the app.',
          sentence: error.message,
        })
      }
    },
    hidden,
  )

/** /credentials: a user sees and changes what opens their wallets. The page asks `wallet` which wallet its calls name. */
export const credentialRoutes = (ctx: ApiCtx, authentication: Authentication) =>
  new Elysia({ prefix: '/credentials', normalize: false })
    .use(pageRoute(ctx))
    .use(new Elysia().use(authentication).get('/wallet', ({ caller }) => ownWallet(ctx, requireUser(caller)), hidden))
