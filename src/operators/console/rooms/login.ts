// The pages of somebody who is not logged in yet.

import { html } from '../../../platform/pages/page.ts'
import type { ConsoleCtx } from '../context.ts'
import { bare } from '../frame.ts'
import { loginOptions } from '../login.ts'

export const loginPage = (ctx: ConsoleCtx): string => {
  const { publicKey } = loginOptions(ctx)
  return bare({
    title: 'Log in to the console',
    hasScript: true,
    body: html`<form method="post" action="/login" data-passkey="get" data-options="${JSON.stringify(publicKey)}">
<input type="hidden" name="answer">
<button class="main" type="button" hidden>Use a passkey</button>
<p id="problem" data-problem role="alert"></p>
</form>
<noscript><p>A passkey needs JavaScript. A link works without it.</p></noscript>
<p class="hint">For the first login, or without your passkey, open a link from the command line:
<code>bun run cli console link --name ${ctx.config.devnet ? 'dev --role operator' : 'ann --role viewer'}</code></p>`,
  })
}

/** The page of a link. Opening it uses nothing up, as mail scanners and previews open links too. */
export const linkPage = (secret: string): string =>
  bare({
    title: 'Log in to the console?',
    body: html`<p>This link logs you in once.</p>
<form method="post" action="/link"><input type="hidden" name="secret" value="${secret}"><button class="main">Log in</button></form>`,
  })

/** @param sentence the error's message. */
export const problemPage = (sentence: string): string =>
  bare({
    title: 'This did not work',
    body: html`<p role="status">${sentence}</p><p><a href="/">Go to the console</a></p>`,
  })
