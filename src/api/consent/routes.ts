import { Elysia } from 'elysia'
import { AppError } from '../../platform/errors.ts'
import { PAGE_HEADERS } from '../../platform/pages/page.ts'
import { refusedPage } from '../login/page.ts'
import { type Consent, openConsent } from './open.ts'
import { consentPage } from './page.ts'

const hidden = { detail: { hide: true } }

const refusal = (sentence: string): string =>
  refusedPage({
    title: 'This link does not work',
    advice: 'Nothing was allowed, and nothing was taken back; go back to the app.',
    sentence,
  })

type Answered = { headers: Record<string, string | number>; status?: number | string }

/** /consent: a user agrees to a policy, revokes one, or sees all that they have granted. */
export const consentRoutes = (ctx: Parameters<typeof openConsent>[0]) => {
  const open =
    (asks: Consent['asks']) =>
    async ({ query, set }: { query: Record<string, string>; set: Answered }): Promise<string> => {
      Object.assign(set.headers, PAGE_HEADERS)
      try {
        return consentPage(await openConsent(ctx, { asks, query }))
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        set.status = error.status
        return refusal(error.message)
      }
    }
  return new Elysia({ prefix: '/consent' })
    .get('', open('consent'), hidden)
    .get('/revoke', open('revoke'), hidden)
    .get('/granted', open('granted'), hidden)
}
