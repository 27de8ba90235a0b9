import { type JobOverview, listJobs } from '../../../../db/queries/overview.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import { mayAct, type Room } from '../frame.ts'
import { choiceLink, linkTo, numberIn, pager, READ_ROWS, short, shown, table, time, word } from '../table.ts'

const PATH = '/jobs'

const about = ({ transactionId, network }: JobOverview): Html =>
  transactionId === null ? html`${network}` : html`<a href="/transactions/${transactionId}">${short(transactionId)}</a>`

export const jobs: Room = async (ctx, asked) => {
  const { query } = asked
  const isFailedOnly = query.get('failed') === 'yes'
  const after = numberIn(query.get('after'))
  const filter = { ...(isFailedOnly && { failed: true }), ...(after !== null && { after: BigInt(after) }) }
  const rows = await listJobs(ctx.db, { limit: READ_ROWS, ...filter })
  return {
    title: 'Jobs',
    body: html`<p class="choices">${choiceLink(PATH, 'All', !isFailedOnly)}${choiceLink(`${PATH}?failed=yes`, 'Failed', isFailedOnly)}</p>
${mayAct(asked) && isFailedOnly && rows.length > 0 ? html`<p class="row"><a class="button" href="/do/jobs-retry">Run all failed jobs again…</a></p>` : null}
${table({
  caption: 'Jobs, in the order in which they run',
  columns: [
    ['Job', ({ id }) => String(id), 'number'],
    ['Task', ({ task }) => task.replaceAll('_', ' ')],
    ['About', about],
    ['State', ({ state }) => word(state)],
    ['Due', ({ runAt }) => time(runAt)],
    ['Attempts', ({ attempts, maxAttempts }) => `${attempts} of ${maxAttempts}`, 'number'],
    ['Error', ({ lastError }) => lastError, 'long'],
    mayAct(asked) && [
      'Action',
      ({ id }) => html`<a href="${linkTo('/do/job-retry', { id: String(id) })}">Run now…</a>`,
    ],
  ],
  rows: shown(rows),
  none: 'There is no such job. Jobs that succeeded are deleted.',
})}
${pager({ path: PATH, query: { failed: isFailedOnly ? 'yes' : null }, after, rows })}`,
  }
}
