import { Elysia } from 'elysia'
import { AppError } from '../../platform/errors.ts'
import { PAGE_HEADERS } from '../../platform/pages/page.ts'
import { clientScript } from './client.generated.ts'
import { readProvider } from './oauth-page.ts'
import { openLogin, readCodeChallenge } from './open.ts'
import { loginPage, refusedPage } from './page.ts'

const hidden = { detail: { hide: true } }

/** /login, a ready-made login page for the users of a project. */
export const loginRoutes = (ctx: Parameters<typeof openLogin>[0]) =>
  new Elysia({ prefix: '/login' })
    .get(
      '',
      async ({ query, set }) => {
        Object.assign(set.headers, PAGE_HEADERS)
        try {
          const login = await openLogin(ctx, query)
          const codeChallenge = login.returnTo === null ? null : readCodeChallenge(query)
          return loginPage({ ...login, codeChallenge, insteadOf: readProvider(query.instead_of) })
        } catch (error) {
          if (!(error instanceof AppError)) throw error
          set.status = error.status
          return refusedPage({
            title: 'This login link does not work',
            advice: 'Nothing was sent to anybody; go back, and log in from the app again.',
            sentence: error.message,
          })
        }
      },
      hidden,
    )
    .get(
      '/client.js',
      ({ set }) => {
        set.headers['content-type'] = 'text/javascript; charset=utf-8'
        set.headers['cache-control'] = 'no-cache'
        set.headers['x-content-type-options'] = 'nosniff'
        return clientScript
      },
      hidden,
    )
