import { type DeliveryRow, listDeliveries } from '../../../../db/queries/webhook-deliveries.ts'
import { type EndpointView, viewEndpoint } from '../../../../db/queries/webhooks.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../../../db/words.ts'
import { failureInWords } from '../../../events/webhooks/failure-words.ts'
import { AppError } from '../../../platform/errors.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { ConsoleCtx } from '../context.ts'
import type { Asked, Shown } from '../frame.ts'
import { code, facts, linkTo, PAGE_ROWS, span, table, time, word } from '../table.ts'
import { uuidIn } from './choose.ts'

const factsOf = (row: EndpointView, now: Date): Html => {
  const failure = failureInWords({ failure: row.lastFailure, status: null })
  const since = row.lateSince
  return facts([
    ['State', html`${word(row.state)} ${row.disabledAt === null ? null : html`since ${time(row.disabledAt)}`}`],
    ...(row.disabledWhy === null ? [] : [['Why', row.disabledWhy] as const]),
    ...(row.pausedUntil === null ? [] : [['Receiver asked for a pause until', time(row.pausedUntil)] as const]),
    ['URL', code(row.url)],
    ['Types', row.eventTypes.length === 0 ? 'all' : row.eventTypes.join(', ')],
    ['Order', row.order === 'wallet' ? 'of each wallet' : 'none'],
    ['Mail to', row.contactEmail ?? 'nobody'],
    ['Project', html`<a href="${linkTo('/webhooks', { project: row.projectId })}">${code(row.projectId)}</a>`],
    [
      'Waiting',
      since === null
        ? 'nothing'
        : html`${row.waiting}, the oldest for ${span((now.getTime() - since.getTime()) / 1_000)}`,
    ],
    ['Last success', time(row.lastSuccessAt)],
    ['Last failure', failure === null ? '–' : html`${time(row.lastFailureAt)}: ${failure}`],
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
      { head: 'Event', cell: ({ number }) => (number === null ? 'a test' : String(number)), is: 'number' },
      { head: 'Of', cell: ({ lane, number }) => (number === null || lane === '' ? '–' : code(lane)), is: 'long' },
      { head: 'State', cell: ({ state }) => word(state) },
      { head: 'Attempts', cell: ({ attempts }) => attempts, is: 'number' },
      { head: 'Began', cell: ({ createdAt }) => time(createdAt) },
      { head: 'Next', cell: ({ state, nextAt }) => time(state === 'waiting' ? nextAt : null) },
      { head: 'Ended', cell: ({ endedAt }) => time(endedAt) },
      { head: 'Last answer', cell: (row) => failureInWords(row) ?? (row.status === null ? '–' : row.status) },
      { head: 'Its text', cell: ({ excerpt }) => excerpt || '–', is: 'long' },
      ...(mayReplay ? [{ head: 'Action', cell: againFor }] : []),
    ],
    rows,
    none: 'There is no such delivery. Those that have ended are kept for a week.',
  })

/** One webhook, with what was sent to it. */
export const webhook = async (ctx: ConsoleCtx, { session, query }: Asked, key: string): Promise<Shown> => {
  const id = uuidIn(key)
  const row = id === null ? null : await viewEndpoint(ctx.db, id)
  if (row === null) throw new AppError('not_found', 'There is no webhook with this id.')
  const state = DELIVERY_STATES.find((each) => each === query.get('show')) ?? null
  const rows = await listDeliveries(ctx.db, { endpointId: row.id, state, limit: PAGE_ROWS, offset: 0 })
  const mayAct = session.operator.role === 'operator'
  const choice = (show: DeliveryState | null, name: string) =>
    html`<a href="${linkTo(`/webhooks/${row.id}`, { show })}"${show === state ? html` aria-current="true"` : null}>${name}</a>
`
  return {
    title: `Webhook ${row.id}`,
    body: html`${mayAct ? actionsOf(row) : null}
${factsOf(row, ctx.now())}
<h2>Deliveries</h2>
<p class="choices">${choice(null, 'All')}${DELIVERY_STATES.map((each) => choice(each, `${each.charAt(0).toUpperCase()}${each.slice(1)}`))}</p>
${deliveriesOf(rows, mayAct && row.state === 'enabled')}`,
  }
}
