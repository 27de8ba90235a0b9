// The page /dev/mailbox: plain HTML without a script. Mails are shown as text, and only links to this service are
// links.

import type { HasDb } from '../../../db/client.ts'
import { listReadableMails } from '../../../db/queries/mails.ts'
import { openMail } from '../../identity/mail/queue.ts'
import type { HasConfig } from '../../platform/config.ts'
import { type Html, html, page } from '../../platform/pages/page.ts'
import type { HasSealer } from '../../platform/sealing/sealer.ts'

const SHOWN_MAX = 100

type DevMail = {
  readonly id: string
  readonly recipient: string
  readonly subject: string
  readonly text: string
  readonly createdAt: Date
}

/** Whether mails are shown instead of sent: in a devnet without a mail server. */
export const hasDevMailbox = (ctx: HasConfig): boolean => ctx.config.devnet && ctx.config.mailUrl === null

/** Recent mails of all users, newest first. Only if `hasDevMailbox`. */
export const listDevMails = async (ctx: HasConfig & HasDb & HasSealer): Promise<readonly DevMail[]> => {
  if (!hasDevMailbox(ctx)) throw new Error('the mailbox exists only in a devnet without a mail server')
  const rows = await listReadableMails(ctx.db, { limit: SHOWN_MAX })
  return rows.flatMap(({ sealed, ...mail }) => {
    const text = openMail(ctx.sealer, { ...mail, sealed })
    return text === null ? [] : [{ ...mail, text }]
  })
}

const URL_IN_TEXT = /(https?:\/\/[^\s<>"']+)/

/** Splits text so that every second piece is a URL. */
const linked = (text: string, origin: string): readonly Html[] =>
  text.split(URL_IN_TEXT).map((piece, index) => {
    const isOurs = index % 2 === 1 && URL.canParse(piece) && new URL(piece).origin === origin
    return isOurs ? html`<a href="${piece}">${piece}</a>` : html`${piece}`
  })

const articleOf = (mail: DevMail, origin: string): Html => {
  const at = mail.createdAt.toISOString()
  return html`
    <article>
      <h2>${mail.subject}</h2>
      <p class="quiet">To ${mail.recipient}, <time datetime="${at}">${at}</time></p>
      <pre>${linked(mail.text, origin)}</pre>
    </article>`
}

/** @param input.publicBaseUrl only URLs below it become links. */
export const devMailboxPage = (input: {
  readonly mails: readonly DevMail[]
  readonly publicBaseUrl: string
}): string => {
  const { origin } = new URL(input.publicBaseUrl)
  const articles = input.mails.map((mail) => articleOf(mail, origin))
  return page({
    root: '..',
    title: 'Mailbox',
    body: html`<main>
    <h1>Mailbox</h1>
    <p class="quiet">Without MAIL_URL no mail leaves this machine. Mails are shown here, newest first, until an hour after they have expired. Reload the page for new ones.</p>${articles.length === 0 ? html`<p>No mail yet.</p>` : articles}
  </main>`,
  })
}
