import { Elysia } from 'elysia'
import { html } from '../../platform/pages/page.ts'
import { answerPage, type Login, openLogin } from '../login/open.ts'
import { pageBehindLogin } from '../login/page.ts'

// The page on which approvers decide. It has the ways to log in of the login page.

const approvals = html`
    <section id="approvals" aria-labelledby="approvals-title" hidden>
      <h1 id="approvals-title" tabindex="-1">What waits for you</h1>
      <p class="quiet" id="approvals-none" hidden>Nothing waits for you.</p>
      <ul id="approvals-list" aria-labelledby="approvals-title"></ul>
      <button type="button" id="approvals-again">Look again</button>
    </section>`

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

export const approvalPageRoutes = (ctx: Parameters<typeof openLogin>[0]) =>
  new Elysia().get(
    '/approve',
    ({ query, set }) =>
      answerPage(set, {
        advice: 'Nothing was approved; go back, and open the link again.',
        make: async () => approvalsPage(await openLogin(ctx, { project_id: query.project_id })),
      }),
    { detail: { hide: true } },
  )
