// The one form of all lists: a table, which on a narrow screen becomes a card for each row. A list may be of one
// project: then a form chooses it, or looks something up.

import { projectChoices } from '../../../db/queries/console.ts'
import { UUID } from '../../platform/http/text.ts'
import { type Html, html, type Value } from '../../platform/pages/page.ts'
import type { ConsoleCtx } from './context.ts'
import type { Asked, Room } from './frame.ts'

/** `number`: aligned to the right. `long`: may take the rest of the line. */
type Column<Row> = readonly [head: string, cell: (row: Row) => Value, form?: 'number' | 'long']

/** @param input.columns `false` leaves a column out. @param input.none what to say without a row. */
export const table = <Row>(input: {
  readonly caption: string
  readonly columns: readonly (Column<Row> | false)[]
  readonly rows: readonly Row[]
  readonly none: string
}): Html => {
  const { caption, rows, none } = input
  const columns = input.columns.filter((column) => column !== false)
  if (rows.length === 0) return html`<p class="none">${none}</p>`
  const classOf = (form: Column<Row>[2]) => (form === undefined ? null : html` class="${form}"`)
  const line = (row: Row) =>
    html`<tr>${columns.map(([head, cell, form]) => html`<td${classOf(form)} data-label="${head}"><span>${cell(row)}</span></td>`)}</tr>`
  return html`<table>
<caption>${caption}</caption>
<thead><tr>${columns.map(([head, , form]) => html`<th scope="col"${classOf(form)}>${head}</th>`)}</tr></thead>
<tbody>${rows.map(line)}</tbody>
</table>`
}

/** Names and values of one thing; `false` leaves a row out. */
export const facts = (rows: readonly (readonly [name: string, value: Value] | false)[]): Html =>
  html`<dl class="facts">${rows.filter((row) => row !== false).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

/** The rows of a page: one more than it shows is read, to know whether there are further ones. */
export const PAGE_ROWS = 50
export const READ_ROWS = PAGE_ROWS + 1

type Query = Readonly<Record<string, string | null>>

export const linkTo = (path: string, query: Query = {}): string => {
  const given = Object.entries(query).flatMap(([name, value]) => (value ? [[name, value] as const] : []))
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given.map(([name, value]) => [name, value]))}`
}

export const walletLink = ({ projectId, walletId }: Readonly<Record<'projectId' | 'walletId', string>>): Html =>
  html`<a href="${linkTo('/wallets', { project: projectId, q: walletId })}">${code(walletId)}</a>`

/** A link to a choice of a page, marked if it is the present one. */
export const choiceLink = (href: string, text: string, isHere: boolean): Html =>
  html`<a href="${href}"${isHere ? html` aria-current="true"` : null}>${text}</a> `

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

export const time = (at: Date | null): Html =>
  at === null
    ? html`–`
    : html`<time datetime="${at.toISOString()}">${at.toISOString().slice(0, 19).replace('T', ' ')}</time>`

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

export const word = (state: string): Html =>
  html`<span class="word ${TONES[state] ?? 'neutral'}">${state.replaceAll('_', ' ')}</span>`

/** More projects than these are named by their id in the address. */
const CHOICES_MAX = 500

type Project = Awaited<ReturnType<typeof projectChoices>>[number]

export const uuidIn = (text: string | undefined): string | null =>
  text !== undefined && UUID.test(text) ? text.toLowerCase() : null

/** A number of a row, as it stands in the text, or null. */
export const numberIn = (text: string | undefined): string | null => /^[1-9][0-9]{0,17}$/.exec(text ?? '')?.[0] ?? null

export const soughtIn = ({ query }: Asked): string | null => query.get('q')?.trim() || null

export const readProjects = async (
  { db }: Pick<ConsoleCtx, 'db'>,
  { query }: Asked,
): Promise<{ readonly projects: readonly Project[]; readonly named: string | null }> => ({
  projects: await projectChoices(db, CHOICES_MAX),
  named: uuidIn(query.get('project')),
})

/** A room about one project: the one that the query names, or the first. `form` chooses another project. */
export const roomOfProject =
  (
    { title, path }: { readonly title: string; readonly path: string },
    show: (
      ctx: ConsoleCtx,
      asked: Asked,
      input: { readonly projectId: string; readonly form: (fields?: Html) => Html },
    ) => Promise<Html>,
  ): Room =>
  async (ctx, asked) => {
    const { projects, named } = await readProjects(ctx, asked)
    const projectId = named ?? projects[0]?.id
    if (projectId === undefined) return { title, body: html`<p class="none">There is no project yet.</p>` }
    const form = (fields: Html = html``) =>
      html`<div class="filters">${projectForm({ path, projects, chosen: projectId, all: null, fields })}</div>`
    return { title, body: await show(ctx, asked, { projectId, form }) }
  }

/** @param input.all the choice for no project; null if one must be chosen. */
export const projectForm = (input: {
  readonly path: string
  readonly projects: readonly Project[]
  readonly chosen: string | null
  readonly all: string | null
  readonly fields?: Html
}): Html => {
  const { path, projects, chosen, all, fields } = input
  const option = (value: string, name: string) =>
    html`<option value="${value}"${value === (chosen ?? '') ? html` selected` : null}>${name}</option>`
  const others = chosen === null || projects.some(({ id }) => id === chosen) ? html`` : option(chosen, chosen)
  return html`<form class="filter" method="get" action="${path}">
<label>Project <select name="project">${all === null ? null : option('', all)}${projects.map(({ id, name }) => option(id, name))}${others}</select></label>
${fields ?? null}<button class="small">Show</button>
</form>`
}

export const searchField = (label: string, value: string | null): Html =>
  html`<label>${label} <input name="q" value="${value ?? ''}" maxlength="256" autocomplete="off" spellcheck="false"></label>
`
