import { listOperators } from '../../../../db/queries/operators.ts'
import { html } from '../../../platform/pages/page.ts'
import { csrfField, type Room } from '../frame.ts'
import { FRESH_REQUIRED, registrationOptions } from '../login.ts'
import { isFresh } from '../session.ts'
import { facts, table, time } from '../table.ts'

export const operators: Room = async (ctx) => ({
  title: 'Operators',
  body: html`<p class="quiet">Added by <code>bun run cli console link</code>, removed by <code>bun run cli console operators remove</code>.</p>
${table({
  caption: 'Operators, by name',
  columns: [
    ['Name', ({ name }) => name],
    ['Role', ({ role }) => role],
    ['Since', ({ createdAt }) => time(createdAt)],
    ['Passkeys', ({ passkeys }) => passkeys, 'number'],
    ['Sessions', ({ sessions }) => sessions, 'number'],
  ],
  rows: await listOperators(ctx.db),
  none: 'There are no operators.',
})}`,
})

export const account: Room = async (ctx, { session }) => {
  const { publicKey } = await registrationOptions(ctx, session)
  const mayAdd = await isFresh(ctx, ctx.db, session)
  return {
    title: 'Your account',
    hasScript: true,
    body: html`${facts([
      ['Name', session.operator.name],
      ['Role', session.operator.role],
      ['Logged in until', time(session.expiresAt)],
      ['Passkeys', publicKey.excludeCredentials.length],
    ])}
<p>With a passkey you log in without a link. It works only at this address.</p>
${
  mayAdd
    ? html`<form method="post" action="/account/passkey" data-passkey="create" data-options="${JSON.stringify(publicKey)}">
${csrfField(session)}<input type="hidden" name="answer">
<button class="small" type="button" hidden>Add a passkey</button>
<p class="hint" data-problem role="alert"></p>
<noscript><p class="hint">Adding a passkey needs JavaScript.</p></noscript>
</form>`
    : html`<p class="hint">${FRESH_REQUIRED}</p>`
}`,
  }
}
