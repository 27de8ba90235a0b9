import { pageOfTransactions, TRANSACTION_FILTERS, type TransactionFilter } from '../../../../db/queries/console.ts'
import type { TransactionOverview } from '../../../../db/queries/overview.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import { coinAmount } from '../../../signing/token.ts'
import type { ConsoleCtx } from '../context.ts'
import type { Room } from '../frame.ts'
import { linkTo, pager, READ_ROWS, short, shown, table, time, word } from '../table.ts'
import { projectForm, readProjects, uuidIn } from './choose.ts'

const PATH = '/transactions'
const NAMES: Readonly<Record<TransactionFilter, string>> = { all: 'All', unfinished: 'Unfinished', failed: 'Failed' }

/** The amount in the network's coin; a network that this process does not know has base units. */
export const amountOf = ({ chains }: ConsoleCtx, { network, value }: TransactionOverview): string => {
  const chain = chains.known.find((each) => each.network === network)
  return chain === undefined ? `${value} base units` : coinAmount(chain, value)
}

const list = (ctx: ConsoleCtx, rows: readonly TransactionOverview[]): Html =>
  table({
    caption: 'Transactions, newest first',
    columns: [
      { head: 'Transaction', cell: ({ id }) => html`<a href="${PATH}/${id}">${short(id)}</a>` },
      { head: 'Recorded', cell: ({ createdAt }) => time(createdAt) },
      { head: 'Network', cell: ({ network }) => network },
      { head: 'Kind', cell: ({ kind }) => kind },
      { head: 'Value', cell: (row) => amountOf(ctx, row), is: 'number' },
      { head: 'Nonce', cell: ({ nonce }) => nonce, is: 'number' },
      {
        head: 'Status',
        cell: ({ status, late }) => html`${word(status)}${late ? html` ${word('late')}` : null}`,
      },
      { head: 'Why', cell: ({ why, error }) => why ?? error ?? '', is: 'long' },
    ],
    rows,
    none: 'There are no transactions here.',
  })

const look = html`<form class="filter" method="get" action="${PATH}/find">
<label>Id, or hash of an attempt <input name="q" required maxlength="80" autocomplete="off" spellcheck="false"></label>
<button class="small">Open</button>
</form>`

/** Transactions of all projects or of one, newest first. */
export const transactions: Room = async (ctx, asked) => {
  const { projects, named } = await readProjects(ctx, asked)
  const filter = TRANSACTION_FILTERS.find((each) => each === asked.query.get('show')) ?? 'all'
  const after = uuidIn(asked.query.get('after'))
  const rows = await pageOfTransactions(ctx.db, { filter, projectId: named, after, limit: READ_ROWS })
  const query = { project: named, show: filter === 'all' ? null : filter }
  const choices = TRANSACTION_FILTERS.map(
    (each) =>
      html`<a href="${linkTo(PATH, { ...query, show: each === 'all' ? null : each })}"${each === filter ? html` aria-current="true"` : null}>${NAMES[each]}</a> `,
  )
  const keep = filter === 'all' ? html`` : html`<input type="hidden" name="show" value="${filter}">`
  return {
    title: 'Transactions',
    body: html`<div class="filters">${projectForm({ path: PATH, projects, chosen: named, all: 'all projects', fields: keep })}${look}</div>
<p class="choices">${choices}</p>
${list(ctx, shown(rows))}
${pager({ path: PATH, query, after, rows })}`,
  }
}
