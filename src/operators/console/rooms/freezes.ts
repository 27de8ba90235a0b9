import { type FrozenThing, listFreezes } from '../../../../db/queries/freezes.ts'
import { FREEZE_SCOPES } from '../../../../db/words.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { Target } from '../../freezes/freeze.ts'
import { fieldsOfTarget } from '../actions.ts'
import type { ConsoleCtx } from '../context.ts'
import type { Room } from '../frame.ts'
import { code, linkTo, table, time } from '../table.ts'

/** null only for a row that a constraint of the table refuses. */
const targetOf = ({ scope, projectId, ownerId, walletId, network }: FrozenThing): Target | null => {
  if (scope === 'wallet' && walletId !== null) return { scope, walletId }
  if (scope === 'network' && network !== null) return { scope, network }
  if (scope === 'project' && projectId !== null) return { scope, projectId }
  if (scope === 'owner' && projectId !== null && ownerId !== null) return { scope, projectId, ownerId }
  return null
}

const release = (thing: FrozenThing): Html => {
  const target = targetOf(thing)
  return target === null ? html`` : html`<a href="${linkTo('/do/unfreeze', fieldsOfTarget(target))}">Release…</a>`
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

/** What is frozen, and a form to freeze something. */
export const freezes: Room = async (ctx, { session }) => {
  const rows = await listFreezes(ctx.db)
  const mayAct = session.operator.role === 'operator'
  return {
    title: 'Freezes',
    body: html`${table({
      caption: 'What is frozen, oldest first',
      columns: [
        { head: 'Scope', cell: ({ scope }) => scope },
        {
          head: 'Of',
          cell: ({ network, walletId, ownerId, projectId }) => {
            const names = [network, walletId, ownerId, projectId].filter((each) => each !== null)
            return names.map((name) => html`${code(name)} `)
          },
          is: 'long',
        },
        { head: 'Reason', cell: ({ reason }) => reason, is: 'long' },
        { head: 'Since', cell: ({ createdAt }) => time(createdAt) },
        ...(mayAct ? [{ head: 'Action', cell: release }] : []),
      ],
      rows,
      none: 'Nothing is frozen.',
    })}${mayAct ? form(ctx) : null}`,
  }
}
