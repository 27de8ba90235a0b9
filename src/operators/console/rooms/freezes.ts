import { type FrozenThing, listFreezes } from '../../../../db/queries/freezes.ts'
import { FREEZE_SCOPES } from '../../../../db/words.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { ConsoleCtx } from '../context.ts'
import { mayAct, type Room } from '../frame.ts'
import { code, linkTo, table, time } from '../table.ts'

const release = ({ scope, projectId, ownerId, walletId, network }: FrozenThing): Html => {
  const target = { scope, project: projectId, owner: ownerId, wallet: walletId, network }
  return html`<a href="${linkTo('/do/unfreeze', target)}">Release…</a>`
}

const form = ({ config }: ConsoleCtx): Html => html`<h2>Freeze something</h2>
<p class="quiet">Fill in what belongs to the scope. The next page says what it will do.</p>
<form class="filter" method="get" action="/do/freeze">
<label>Scope <select name="scope">${FREEZE_SCOPES.map((scope) => html`<option>${scope}</option>`)}</select></label>
<label>Project’s id <input name="project" maxlength="36" autocomplete="off" spellcheck="false"></label>
<label>Owner <input name="owner" maxlength="256" autocomplete="off" spellcheck="false"></label>
<label>Wallet’s id <input name="wallet" maxlength="36" autocomplete="off" spellcheck="false"></label>
<label>Network <select name="network"><option value="">–</option>${config.networks.map(({ network }) => html`<option>${network}</option>`)}</select></label>
<button class="small">Freeze…</button>
</form>`

export const freezes: Room = async (ctx, asked) => {
  const rows = await listFreezes(ctx.db)
  return {
    title: 'Freezes',
    body: html`${table({
      caption: 'What is frozen, oldest first',
      columns: [
        ['Scope', ({ scope }) => scope],
        [
          'Of',
          ({ network, walletId, ownerId, projectId }) => {
            const names = [network, walletId, ownerId, projectId].filter((each) => each !== null)
            return names.map((name) => html`${code(name)} `)
          },
          'long',
        ],
        ['Reason', ({ reason }) => reason, 'long'],
        ['Since', ({ createdAt }) => time(createdAt)],
        mayAct(asked) && ['Action', release],
      ],
      rows,
      none: 'Nothing is frozen.',
    })}${mayAct(asked) ? form(ctx) : null}`,
  }
}
