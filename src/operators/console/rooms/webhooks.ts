import { type EndpointView, pageOfEndpoints } from '../../../../db/queries/webhooks.ts'
import { failureInWords } from '../../../events/webhooks/failure-words.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { Room } from '../frame.ts'
import { linkTo, pager, READ_ROWS, short, shown, table, time, word } from '../table.ts'
import { projectForm, readProjects, uuidIn } from './choose.ts'

const PATH = '/webhooks'
/** A page of webhooks that are all far behind must not count all that waits. */
const COUNTED_MAX = 1_000

const waitingOf = ({ waiting }: EndpointView): string => (waiting < COUNTED_MAX ? String(waiting) : 'at least 1,000')

const failureOf = ({ lastFailure, lastFailureAt }: EndpointView): Html => {
  const why = failureInWords({ failure: lastFailure, status: null })
  return why === null ? html`–` : html`${time(lastFailureAt)}: ${why}`
}

/** Where the events of all projects go, and what is late there. */
export const webhooks: Room = async (ctx, asked) => {
  const { query } = asked
  const isTroubledOnly = query.get('show') === 'troubled'
  const after = uuidIn(query.get('after'))
  const { projects, named: projectId } = await readProjects(ctx, asked)
  const rows = await pageOfEndpoints(ctx.db, {
    projectId,
    isTroubledOnly,
    after,
    limit: READ_ROWS,
    countedMax: COUNTED_MAX,
  })
  const choice = (show: string | null, name: string, isHere: boolean) =>
    html`<a href="${linkTo(PATH, { project: projectId, show })}"${isHere ? html` aria-current="true"` : null}>${name}</a>`
  const fields = isTroubledOnly ? html`<input type="hidden" name="show" value="troubled">` : html``
  return {
    title: 'Webhooks',
    body: html`<div class="filters"><p class="choices">${choice(null, 'All', !isTroubledOnly)}
${choice('troubled', 'Failing or disabled', isTroubledOnly)}</p>
${projectForm({ path: PATH, projects, chosen: projectId, all: 'All projects', fields })}</div>
${table({
  caption: 'Where events are sent, newest first',
  columns: [
    { head: 'URL', cell: ({ id, url }) => html`<a href="${PATH}/${id}">${url}</a>`, is: 'long' },
    { head: 'State', cell: ({ state, disabledWhy }) => html`${word(state)} ${disabledWhy}` },
    { head: 'Waiting', cell: waitingOf, is: 'number' },
    { head: 'Oldest waiting', cell: ({ lateSince }) => time(lateSince) },
    { head: 'Last success', cell: ({ lastSuccessAt }) => time(lastSuccessAt) },
    { head: 'Last failure', cell: failureOf },
    { head: 'Types', cell: ({ eventTypes }) => (eventTypes.length === 0 ? 'all' : eventTypes.join(', ')) },
    {
      head: 'Project',
      cell: (row) => html`<a href="${linkTo(PATH, { project: row.projectId })}">${short(row.projectId)}</a>`,
    },
  ],
  rows: shown(rows),
  none: isTroubledOnly ? 'No webhook is failing or disabled.' : 'There are no webhooks here.',
})}
${pager({ path: PATH, query: { project: projectId, show: isTroubledOnly ? 'troubled' : null }, after, rows })}`,
  }
}
