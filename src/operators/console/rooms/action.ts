// The page that asks before an action, and the one that says what was done.

import { html } from '../../../platform/pages/page.ts'
import { csrfField, type Shown } from '../frame.ts'
import type { Prepared } from '../prepared.ts'
import type { Session } from '../session.ts'

const reason = html`<label for="reason">Why? It goes into the audit log, and callers do not see it.</label>
  <input id="reason" name="reason" required maxlength="1000" autocomplete="off">`

export const askedPage = (session: Session, name: string, prepared: Prepared): Shown => {
  const { title, sentences, button, asks, fields, back } = prepared
  return {
    title,
    body: html`<form class="ask" method="post" action="/do/${name}">
${sentences.map((sentence) => html`<p>${sentence}</p>`)}
${csrfField(session)}${Object.entries(fields).map(([field, value]) => html`<input type="hidden" name="${field}" value="${value}">`)}
${asks === 'reason' ? reason : null}
<p class="row"><button class="main small">${button}</button> <a href="${back}">Go back</a></p>
<p class="hint">It is recorded in the audit with your name, <bdi>${session.operator.name}</bdi>.</p>
</form>`,
  }
}

export const donePage = ({ back }: Prepared, sentence: string): Shown => ({
  title: 'Done',
  body: html`<p role="status" class="done">${sentence}</p>
<p><a href="${back}">Go on</a></p>`,
})
