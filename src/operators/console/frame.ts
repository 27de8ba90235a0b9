// The frame of every page of the console, and what a room gets and gives.

import { type Html, html, page } from '../../platform/pages/page.ts'
import type { ConsoleCtx } from './context.ts'
import type { Session } from './session.ts'

export type Asked = {
  readonly session: Session
  readonly query: ReadonlyMap<string, string>
}

export type Shown = {
  readonly title: string
  readonly body: Html
  readonly hasScript?: boolean
}

/** Whether the operator may do something: a viewer only looks. */
export const mayAct = ({ session }: Asked): boolean => session.operator.role === 'operator'

export type Room = (ctx: ConsoleCtx, asked: Asked) => Promise<Shown>

const ROOMS = [
  ['/', 'Overview'],
  ['/transactions', 'Transactions'],
  ['/jobs', 'Jobs'],
  ['/wallets', 'Wallets'],
  ['/users', 'Users'],
  ['/policies', 'Policies'],
  ['/approvals', 'Approvals'],
  ['/webhooks', 'Webhooks'],
  ['/freezes', 'Freezes'],
  ['/audit', 'Audit'],
  ['/networks', 'Networks'],
  ['/nodes', 'Nodes'],
  ['/doctor', 'Installation'],
  ['/operators', 'Operators'],
] as const

const script = html`
    <script type="module" src="/console.js"></script>`

const nav = (path: string): Html => {
  const isHere = (room: string) => (room === '/' ? path === '/' : path === room || path.startsWith(`${room}/`))
  return html`<nav aria-label="Rooms"><ul>${ROOMS.map(
    ([room, name]) => html`<li><a href="${room}"${isHere(room) ? html` aria-current="page"` : null}>${name}</a></li>`,
  )}</ul></nav>`
}

export const csrfField = ({ csrf }: Session): Html => html`<input type="hidden" name="csrf" value="${csrf}">`

export const framed = (session: Session, path: string, shown: Shown): string => {
  const { operator } = session
  const { title, body, hasScript = false } = shown
  return page({
    title: `${title} – Strongroom console`,
    head: html`
    <link rel="stylesheet" href="/pages/console.css">${hasScript ? script : null}`,
    body: html`<a class="skip" href="#main">Skip to the content</a>
    <header>
      <a class="brand" href="/">Strongroom</a>
      ${nav(path)}
      <div class="who"><a href="/account"><bdi>${operator.name}</bdi> <span class="quiet">${operator.role}</span></a>
        <form method="post" action="/logout">${csrfField(session)}<button class="small">Log out</button></form></div>
    </header>
    <main id="main">
      <h1>${title}</h1>
      ${body}
      <p class="foot">All times are UTC.</p>
    </main>`,
  })
}

/** A page for a visitor who is not logged in: the card of the login page. */
export const bare = (shown: Pick<Shown, 'title' | 'body' | 'hasScript'>): string =>
  page({
    title: `${shown.title} – Strongroom console`,
    ...(shown.hasScript ? { head: script } : {}),
    body: html`<main>
      <h1>${shown.title}</h1>
      ${shown.body}
    </main>`,
  })
