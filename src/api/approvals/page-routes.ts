import { Elysia } from 'elysia'
import { AppError } from '../../platform/errors.ts'
import { PAGE_HEADERS } from '../../platform/pages/page.ts'
import { openLogin } from '../login/open.ts'
import { refusedPage } from '../login/page.ts'
import { approvalsPage } from './page.ts'

/** /approve: a user sees what waits for their approval, and decides. */
export const approvalPageRoutes = (ctx: Parameters<typeof openLogin>[0]) =>
  new Elysia().get(
    '/approve',
    async ({ query, set }) => {
      Object.assign(set.headers, PAGE_HEADERS)
      try {
        return approvalsPage(await openLogin(ctx, { project_id: query.project_id }))
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        set.status = error.status
        return refusedPage({
          title: 'This link does not work',
          advice: 'Nothing was approved; go back, and open the link again.',
          sentence: error.message,
        })
      }
    },
    { detail: { hide: true } },
  )
