import { Elysia } from 'elysia'
import { type Answered, answerPage } from '../login/open.ts'
import { type Consent, openConsent } from './open.ts'
import { consentPage } from './page.ts'

const hidden = { detail: { hide: true } }

export const consentRoutes = (ctx: Parameters<typeof openConsent>[0]) => {
  const open =
    (asks: Consent['asks']) =>
    ({ query, set }: { query: Record<string, string>; set: Answered }): Promise<string> =>
      answerPage(set, {
        advice: 'Nothing was allowed, and nothing was taken back; go back to the app.',
        make: async () => consentPage(await openConsent(ctx, { asks, query })),
      })
  return new Elysia({ prefix: '/consent' })
    .get('', open('consent'), hidden)
    .get('/revoke', open('revoke'), hidden)
    .get('/granted', open('granted'), hidden)
}
