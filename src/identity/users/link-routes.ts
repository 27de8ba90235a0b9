import { Elysia } from 'elysia'
import { AppError } from '../../platform/errors.ts'
import { readFormBody, SMALL_BODY_BYTES } from '../../platform/http/body.ts'
import { clientOf, subnetOf } from '../../platform/http/peer.ts'
import type { Rate } from '../../platform/http/rate.ts'
import { deviceName } from '../../platform/pages/device.ts'
import { type Html, html, PAGE_HEADERS, page } from '../../platform/pages/page.ts'
import type { IdentityCtx } from '../ctx.ts'
import { confirmMailedLink, type MailedLink, openMailedLink } from './magic-link.ts'

// The page of a mailed link. It shows which device asks and has a button to confirm. It needs no script.

type OpenLink = Extract<MailedLink, { state: 'open' }>

const timeOf = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`

const agoOf = (from: Date, now: Date): string => {
  const minutes = Math.max(0, Math.floor((now.getTime() - from.getTime()) / 60_000))
  if (minutes === 0) return 'less than a minute ago'
  return minutes === 1 ? 'a minute ago' : `${minutes} minutes ago`
}

/** The form's address is relative, because the service may be served below a path. */
const openBody = (link: OpenLink, now: Date): Html => html`<main>
    <h1>Log in to ${link.projectName}?</h1>
    <p>A device asks to be logged in as <strong>${link.email}</strong>:</p>
    <dl>
      <dt>Device</dt><dd>${deviceName(link.client.device)}</dd>
      <dt>Address</dt><dd>${link.client.address || 'Not known.'}</dd>
      <dt>Asked at</dt><dd><time datetime="${link.askedAt.toISOString()}">${timeOf(link.askedAt)}</time>, ${agoOf(link.askedAt, now)}</dd>
    </dl>
    <p>Confirm only if you began this login yourself, just now, on that device. Whoever has that device will be logged in as you.</p>
    <form method="post" action="link">
      <input type="hidden" name="secret" value="${link.secret}">
      <button class="main">Yes, log it in</button>
    </form>
    <p class="hint">If it was not you, close this page. Then nobody is logged in.</p>
  </main>`

const messageView = (title: string, sentence: string): { readonly title: string; readonly body: Html } => ({
  title,
  body: html`<main>
    <h1>${title}</h1>
    <p role="status">${sentence}</p>
  </main>`,
})

const viewOf = (link: MailedLink, now: Date): { readonly title: string; readonly body: Html } => {
  switch (link.state) {
    case 'open':
      return { title: `Log in to ${link.projectName}?`, body: openBody(link, now) }
    case 'completed':
      return messageView(
        'The device is logged in',
        `Go back to that device and continue there in ${link.projectName}. You can close this page.`,
      )
    case 'done':
      return messageView(
        'This link was used already',
        'If you confirmed the login yourself, go back to the device that asked.',
      )
    case 'expired':
      return messageView('This link has expired', `It was valid for five minutes. Begin again in ${link.projectName}.`)
    case 'unknown':
      return messageView(
        'This link does not work',
        'Open it exactly as it is in the mail, or begin again and use the newest mail.',
      )
  }
}

const ABOVE = '..'

const STATUS = { open: 200, completed: 200, done: 409, expired: 410, unknown: 404 } as const

const linkPage = (link: MailedLink, now: Date): { readonly status: number; readonly text: string } => ({
  status: STATUS[link.state],
  text: page({ root: ABOVE, ...viewOf(link, now) }),
})

const linkProblemPage = (sentence: string): string =>
  page({ root: ABOVE, ...messageView('This did not work', sentence) })

const hidden = { detail: { hide: true } }

type Answered = { headers: Record<string, string | number>; status?: number | string }

/** Shows an error as a page too, because a person reads it. */
const asPage = async (ctx: IdentityCtx, set: Answered, read: () => Promise<MailedLink>): Promise<string> => {
  Object.assign(set.headers, PAGE_HEADERS)
  try {
    const { status, text } = linkPage(await read(), ctx.now())
    set.status = status
    return text
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    set.status = error.status
    if (error.retryAfterSeconds !== null) set.headers['retry-after'] = String(error.retryAfterSeconds)
    return linkProblemPage(error.message)
  }
}

export const linkRoutes = (ctx: IdentityCtx, bytes: Rate) =>
  new Elysia({ prefix: '/login', normalize: false })
    .onParse(({ request }) => {
      const spend = (count: number) => bytes.spend(subnetOf(clientOf(ctx.config, request).address), count)
      return readFormBody(request, { maxBytes: SMALL_BODY_BYTES, spend })
    })
    .get(
      '/link',
      ({ query, request, set }) =>
        asPage(ctx, set, () =>
          openMailedLink(ctx, { client: clientOf(ctx.config, request), secret: query.secret ?? '' }),
        ),
      hidden,
    )
    .post(
      '/link',
      ({ body, request, set }) =>
        asPage(ctx, set, () => {
          const secret = body instanceof Map ? (body.get('secret') ?? '') : ''
          return confirmMailedLink(ctx, { client: clientOf(ctx.config, request), headers: request.headers, secret })
        }),
      hidden,
    )
