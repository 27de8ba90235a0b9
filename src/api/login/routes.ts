import { Elysia } from 'elysia'
import { clientScript } from './client.generated.ts'
import { readProvider } from './oauth-page.ts'
import { answerPage, openLogin, readCodeChallenge } from './open.ts'
import { loginPage } from './page.ts'

const hidden = { detail: { hide: true } }

/** /login, a ready-made login page for the users of a project. */
export const loginRoutes = (ctx: Parameters<typeof openLogin>[0]) =>
  new Elysia({ prefix: '/login' })
    .get(
      '',
      ({ query, set }) =>
        answerPage(set, {
          title: 'This login link does not work',
          advice: 'Nothing was sent to anybody; go back, and log in from the app again.',
          make: async () => {
            const login = await openLogin(ctx, query)
            const codeChallenge = login.returnTo === null ? null : readCodeChallenge(query)
            return loginPage({ ...login, codeChallenge, insteadOf: readProvider(query.instead_of) })
          },
        }),
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
