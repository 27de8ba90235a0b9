import { type DeliveryRow, listDeliveries } from '../../../../db/queries/webhook-deliveries.ts'
import { type EndpointView, pageOfEndpoints, viewEndpoint } from '../../../../db/queries/webhooks.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../../../db/words.ts'
import { failureInWords } from '../../../events/webhooks/failure-words.ts'
import { AppError } from '../../../platform/errors.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { ConsoleCtx } from '../context.ts'
import { type Asked, mayAct, type Room, type Shown } from '../frame.ts'
import {
  choiceLink,
  code,
  facts,
  linkTo,
  PAGE_ROWS,
  pager,
  projectForm,
  READ_ROWS,
  readProjects,
  short,
  shown,
  span,
  table,
  time,
  uuidIn,
  word,
} from '../table.ts'

const PATH = '/webhooks'
/** A page of webhooks that are all far behind must not count all that waits. */
const COUNTED_MAX = 1_000

const waitingOf = ({ waiting }: EndpointView): string => (waiting < COUNTED_MAX ? String(waiting) : 'at least 1,000')

const failureOf = ({ lastFailure, lastFailureAt }: EndpointView): Html => {
  const why = failureInWords({ failure: lastFailure, status: null })
  return why === null ? html`–` : html`${time(lastFailureAt)}: ${why}`
}

export const webhooks: Room = async (ctx, asked) => {
  const { query } = asked
  const isTroubledOnly = query.get('show') === 'troubled'
  const after = uuidIn(query.get('after'))
  const { projects, named: projectId } = await readProjects(ctx, asked)
  const limits = { limit: READ_ROWS, countedMax: COUNTED_MAX }
  const rows = await pageOfEndpoints(ctx.db, { projectId, isTroubledOnly, after, ...limits })
  const choice = (show: string | null, name: string) =>
    choiceLink(linkTo(PATH, { project: projectId, show }), name, isTroubledOnly === (show !== null))
  const fields = isTroubledOnly ? html`<input type="hidden" name="show" value="troubled">` : html``
  return {
    title: 'Webhooks',
    body: html`<div class="filters"><p class="choices">${choice(null, 'All')}
${choice('troubled', 'Failing or disabled')}</p>
${projectForm({ path: PATH, projects, chosen: projectId, all: 'All projects', fields })}</div>
${table({
  caption: 'Where events are sent, newest first',
  columns: [
    ['URL', ({ id, url }) => html`<a href="${PATH}/${id}">${url}</a>`, 'long'],
    ['State', ({ state, disabledWhy }) => html`${word(state)} ${disabledWhy}`],
    ['Waiting', waitingOf, 'number'],
    ['Oldest waiting', ({ lateSince }) => time(lateSince)],
    ['Last success', ({ lastSuccessAt }) => time(lastSuccessAt)],
    ['Last failure', failureOf],
    ['Types', ({ eventTypes }) => (eventTypes.length === 0 ? 'all' : eventTypes.join(', '))],
    ['Project', (row) => html`<a href="${linkTo(PATH, { project: row.projectId })}">${short(row.projectId)}</a>`],
  ],
  rows: shown(rows),
  none: isTroubledOnly ? 'No webhook is failing or disabled.' : 'There are no webhooks here.',
})}
${pager({ path: PATH, query: { project: projectId, show: isTroubledOnly ? 'troubled' : null }, after, rows })}`,
  }
}

const factsOf = (row: EndpointView, now: Date): Html => {
  const since = row.lateSince
  return facts([
    ['State', html`${word(row.state)} ${row.disabledAt === null ? null : html`since ${time(row.disabledAt)}`}`],
    row.disabledWhy !== null && ['Why', row.disabledWhy],
    row.pausedUntil !== null && ['Receiver asked for a pause until', time(row.pausedUntil)],
    ['URL', code(row.url)],
    ['Types', row.eventTypes.length === 0 ? 'all' : row.eventTypes.join(', ')],
    ['Order', row.order === 'wallet' ? 'of each wallet' : 'none'],
    ['Mail to', row.contactEmail ?? 'nobody'],
    ['Project', html`<a href="${linkTo(PATH, { project: row.projectId })}">${code(row.projectId)}</a>`],
    [
      'Waiting',
      since === null
        ? 'nothing'
        : html`${row.waiting}, the oldest for ${span((now.getTime() - since.getTime()) / 1_000)}`,
    ],
    ['Last success', time(row.lastSuccessAt)],
    ['Last failure', failureOf(row)],
    ['Failures since the last success', row.failures],
    ['Created', time(row.createdAt)],
  ])
}

const actionsOf = ({ id, state }: EndpointView): Html => {
  const button = (action: string, text: string) =>
    html`<a class="button" href="${linkTo(`/do/${action}`, { id })}">${text}</a>`
  return html`<p class="row">${
    state === 'enabled'
      ? html`${button('webhook-replay', 'Send failed again…')}
${button('webhook-disable', 'Disable…')}`
      : button('webhook-enable', 'Enable…')
  }</p>`
}

const againFor = ({ id, endpointId }: DeliveryRow): Html =>
  html`<a href="${linkTo('/do/webhook-delivery', { id: endpointId, delivery: id })}">Send again…</a>`

const deliveriesOf = (rows: readonly DeliveryRow[], mayReplay: boolean): Html =>
  table({
    caption: `The last deliveries, at most ${PAGE_ROWS}, newest first`,
    columns: [
      ['Event', ({ number }) => (number === null ? 'a test' : String(number)), 'number'],
      ['Of', ({ lane, number }) => (number === null || lane === '' ? '–' : code(lane)), 'long'],
      ['State', ({ state }) => word(state)],
      ['Attempts', ({ attempts }) => attempts, 'number'],
      ['Began', ({ createdAt }) => time(createdAt)],
      ['Next', ({ state, nextAt }) => time(state === 'waiting' ? nextAt : null)],
      ['Ended', ({ endedAt }) => time(endedAt)],
      ['Last answer', (row) => failureInWords(row) ?? (row.status === null ? '–' : row.status)],
      ['Its text', ({ excerpt }) => excerpt || '–', 'long'],
      mayReplay && ['Action', againFor],
    ],
    rows,
    none: 'There is no such delivery. Those that have ended are kept for a week.',
  })

export const webhook = async (ctx: ConsoleCtx, asked: Asked, key: string): Promise<Shown> => {
  const id = uuidIn(key)
  const row = id === null ? null : await viewEndpoint(ctx.db, id)
  if (row === null) throw new AppError('not_found', 'There is no webhook with this id.')
  const state = DELIVERY_STATES.find((each) => each === asked.query.get('show')) ?? null
  const rows = await listDeliveries(ctx.db, { endpointId: row.id, state, limit: PAGE_ROWS, offset: 0 })
  const choice = (show: DeliveryState | null, name: string) =>
    choiceLink(linkTo(`${PATH}/${row.id}`, { show }), name, show === state)
  return {
    title: `Webhook ${row.id}`,
    body: html`${mayAct(asked) ? actionsOf(row) : null}
${factsOf(row, ctx.now())}
<h2>Deliveries</h2>
<p class="choices">${choice(null, 'All')}${DELIVERY_STATES.map((each) => choice(each, `${each.charAt(0).toUpperCase()}${each.slice(1)}`))}</p>
${deliveriesOf(rows, mayAct(asked) && row.state === 'enabled')}`,
  }
}
