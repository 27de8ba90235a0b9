// The one form of all lists: a table, which on a narrow screen becomes a card for each row.

import { UUID } from '../../platform/http/text.ts'
import { type Html, html, type Value } from '../../platform/pages/page.ts'

type Column<Row> = {
  readonly head: string
  readonly cell: (row: Row) => Value
  /** `number`: aligned to the right. `long`: may take the rest of the line. */
  readonly is?: 'number' | 'long'
}

/** @param input.none what to say if there is no row. */
export const table = <Row>(input: {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly none: string
}): Html => {
  const { caption, columns, rows, none } = input
  if (rows.length === 0) return html`<p class="none">${none}</p>`
  const classOf = ({ is }: Column<Row>) => (is === undefined ? html`` : html` class="${is}"`)
  const line = (row: Row) =>
    html`<tr>${columns.map((column) => html`<td${classOf(column)} data-label="${column.head}"><span>${column.cell(row)}</span></td>`)}</tr>`
  return html`<table>
<caption>${caption}</caption>
<thead><tr>${columns.map((column) => html`<th scope="col"${classOf(column)}>${column.head}</th>`)}</tr></thead>
<tbody>${rows.map(line)}</tbody>
</table>`
}

/** Names and values of one thing. */
export const facts = (rows: readonly (readonly [name: string, value: Value])[]): Html =>
  html`<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

/** The rows of a page: one more than it shows is read, to know whether there are further ones. */
export const PAGE_ROWS = 50
export const READ_ROWS = PAGE_ROWS + 1

type Query = Readonly<Record<string, string | null>>

/** A path with a query; what is null or empty is left out. */
export const linkTo = (path: string, query: Query = {}): string => {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value] as const] : []))
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given.map(([name, value]) => [name, value]))}`
}

/** Leads to the first page and to the next one. @param input.rows as they were read. */
export const pager = (input: {
  readonly path: string
  readonly query: Query
  readonly after: string | null
  readonly rows: readonly { readonly id: string | bigint }[]
}): Html => {
  const { path, query, after, rows } = input
  const last = rows[PAGE_ROWS - 1]
  const first = after === null ? html`` : html`<a href="${linkTo(path, query)}">First page</a>`
  const next =
    last === undefined || rows.length < READ_ROWS
      ? html``
      : html`<a href="${linkTo(path, { ...query, after: String(last.id) })}" rel="next">Next page</a>`
  return first.markup + next.markup === '' ? html`` : html`<nav class="pager" aria-label="Pages">${first}${next}</nav>`
}

export const shown = <Row>(rows: readonly Row[]): readonly Row[] => rows.slice(0, PAGE_ROWS)

/** The time of an instant, in UTC. */
export const time = (at: Date | null): Html =>
  at === null
    ? html`–`
    : html`<time datetime="${at.toISOString()}">${at.toISOString().slice(0, 19).replace('T', ' ')}</time>`

/** A span of time, for people. */
export const span = (seconds: number | null): string => {
  if (seconds === null) return '–'
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`
  if (seconds < 600) return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))} s`
  return seconds < 7_200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3_600)} h`
}

/** The beginning of an id; the whole of it is its title. */
export const short = (id: string): Html => html`<code class="short" title="${id}">${id.slice(0, 8)}</code>`

/** An actor of the audit: an operator's whole name, but only the beginning of an id. */
export const actor = (text: string): Html => {
  const at = text.indexOf(':') + 1
  const id = text.slice(at)
  return at > 0 && UUID.test(id) ? html`<code>${text.slice(0, at)}</code>${short(id)}` : code(text)
}

export const code = (text: string | null): Html => (text === null ? html`–` : html`<code>${text}</code>`)

const TONES: Readonly<Record<string, 'good' | 'bad' | 'warn'>> = {
  ok: 'good',
  delivered: 'good',
  success: 'good',
  up: 'good',
  failed: 'bad',
  given_up: 'bad',
  failing: 'bad',
  abandoned: 'bad',
  down: 'bad',
  wrong_chain: 'bad',
  stalled: 'bad',
  late: 'warn',
  disabled: 'warn',
  warning: 'warn',
  behind: 'warn',
  slow: 'warn',
  resting: 'warn',
}

/** A word of a state, in its colour. */
export const word = (state: string): Html =>
  html`<span class="word ${TONES[state] ?? 'neutral'}">${state.replaceAll('_', ' ')}</span>`
