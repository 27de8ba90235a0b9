// The page of a mailed link. It shows which device asks and has a button to confirm. It needs no script.

import { deviceName } from '../../platform/pages/device.ts'
import { type Html, html, page } from '../../platform/pages/page.ts'
import type { MailedLink } from './magic-link.ts'

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

/** Relative, as the form's address is. */
const ABOVE = '..'

const STATUS = { open: 200, completed: 200, done: 409, expired: 410, unknown: 404 } as const

/** @returns the page as HTML, and its HTTP status. */
export const linkPage = (link: MailedLink, now: Date): { readonly status: number; readonly text: string } => ({
  status: STATUS[link.state],
  text: page({ root: ABOVE, ...viewOf(link, now) }),
})

/** The page for an error. @param sentence the error's message. */
export const linkProblemPage = (sentence: string): string =>
  page({ root: ABOVE, ...messageView('This did not work', sentence) })
