import { Elysia } from 'elysia'
import { AppError } from '../../platform/errors.ts'
import { html, PAGE_HEADERS } from '../../platform/pages/page.ts'
import { type Login, openLogin } from '../login/open.ts'
import { pageBehindLogin, refusedPage } from '../login/page.ts'

// The page on which approvers decide. It has the ways to log in of the login page.

const approvals = html`
    <section id="approvals" aria-labelledby="approvals-title" hidden>
      <h1 id="approvals-title" tabindex="-1">What waits for you</h1>
      <p class="quiet" id="approvals-none" hidden>Nothing waits for you.</p>
      <ul id="approvals-list" aria-labelledby="approvals-title"></ul>
      <button type="button" id="approvals-again">Look again</button>
    </section>`

/** @returns the page as HTML. */
const approvalsPage = (login: Login): string =>
  pageBehindLogin({
    login,
    asks: 'approvals',
    title: `What waits for you at ${login.projectName}`,
    intro: html`
      <p>Log in to see what <bdi>${login.projectName}</bdi> asks you to approve. You decide with your passkey.</p>`,
    attributes: [],
    views: [approvals],
  })

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
