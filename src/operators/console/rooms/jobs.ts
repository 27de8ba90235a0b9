import { type JobOverview, listJobs } from '../../../../db/queries/overview.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { Room } from '../frame.ts'
import { linkTo, pager, READ_ROWS, short, shown, table, time, word } from '../table.ts'

const PATH = '/jobs'
const NUMBER = /^[1-9][0-9]{0,17}$/

const about = ({ transactionId, network }: JobOverview): Html =>
  transactionId === null ? html`${network}` : html`<a href="/transactions/${transactionId}">${short(transactionId)}</a>`

/** The workers' jobs, in the order in which they run. */
export const jobs: Room = async (ctx, { session, query }) => {
  const isFailedOnly = query.get('failed') === 'yes'
  const given = query.get('after') ?? ''
  const after = NUMBER.test(given) ? given : null
  const rows = await listJobs(ctx.db, {
    limit: READ_ROWS,
    ...(isFailedOnly ? { failed: true } : {}),
    ...(after === null ? {} : { after: BigInt(after) }),
  })
  const mayAct = session.operator.role === 'operator'
  return {
    title: 'Jobs',
    body: html`<p class="choices"><a href="${PATH}"${isFailedOnly ? null : html` aria-current="true"`}>All</a>
<a href="${PATH}?failed=yes"${isFailedOnly ? html` aria-current="true"` : null}>Failed</a></p>
${mayAct && isFailedOnly && rows.length > 0 ? html`<p class="row"><a class="button" href="/do/jobs-retry">Run all failed jobs again…</a></p>` : null}
${table({
  caption: 'Jobs, in the order in which they run',
  columns: [
    { head: 'Job', cell: ({ id }) => String(id), is: 'number' },
    { head: 'Task', cell: ({ task }) => task.replaceAll('_', ' ') },
    { head: 'About', cell: about },
    { head: 'State', cell: ({ state }) => word(state) },
    { head: 'Due', cell: ({ runAt }) => time(runAt) },
    { head: 'Attempts', cell: ({ attempts, maxAttempts }) => `${attempts} of ${maxAttempts}`, is: 'number' },
    { head: 'Error', cell: ({ lastError }) => lastError, is: 'long' },
    ...(mayAct
      ? [
          {
            head: 'Action',
            cell: ({ id }: JobOverview) => html`<a href="${linkTo('/do/job-retry', { id: String(id) })}">Run now…</a>`,
          },
        ]
      : []),
  ],
  rows: shown(rows),
  none: 'There is no such job. Jobs that succeeded are deleted.',
})}
${pager({ path: PATH, query: { failed: isFailedOnly ? 'yes' : null }, after, rows })}`,
  }
}
