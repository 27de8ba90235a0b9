import { unchainedTail } from '../../../../db/queries/audit-rows.ts'
import { pageOfAudit } from '../../../../db/queries/console.ts'
import { UUID } from '../../../platform/http/text.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { AuditCheck } from '../audit-check.ts'
import { mayAct, type Room } from '../frame.ts'
import {
  actor,
  choiceLink,
  code,
  linkTo,
  numberIn,
  pager,
  projectForm,
  READ_ROWS,
  readProjects,
  short,
  shown,
  span,
  table,
  time,
  word,
} from '../table.ts'

const PATH = '/audit'

const SUMMARY_CHARACTERS = 90

const details = (given: Readonly<Record<string, unknown>>): Html => {
  const text = Object.entries(given)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' · ')
  if (text.length <= SUMMARY_CHARACTERS) return code(text)
  return html`<details><summary>${code(`${text.slice(0, SUMMARY_CHARACTERS)}…`)}</summary>${code(text)}</details>`
}

const check = (last: AuditCheck | null, mayBegin: boolean): Html =>
  html`<p class="row">${
    mayBegin ? html`<a class="button" href="/do/audit-verify">Check the audit…</a> ` : null
  }${last === null ? null : html`<a href="${PATH}/check">The last check</a> ${word(last.state)}`}</p>`

export const audit: Room = async (ctx, asked) => {
  const { projects, named } = await readProjects(ctx, asked)
  const isSecurityOnly = asked.query.get('only') === 'security'
  const chain = named ?? (asked.query.get('project') === 'deployment' ? 'deployment' : null)
  const after = numberIn(asked.query.get('after'))
  const [rows, tail] = await Promise.all([
    pageOfAudit(ctx.db, { chain, isSecurityOnly, after: after === null ? null : BigInt(after), limit: READ_ROWS }),
    unchainedTail(ctx.db),
  ])
  const only = isSecurityOnly ? 'security' : null
  const link = (text: string, value: string | null) =>
    choiceLink(linkTo(PATH, { project: chain, only: value }), text, value === only)
  return {
    title: 'Audit',
    body: html`<div class="filters">${projectForm({
      path: PATH,
      projects,
      chosen: chain,
      all: 'all',
      fields: only === null ? html`` : html`<input type="hidden" name="only" value="${only}">`,
    })}${check(ctx.auditCheck.last(), mayAct(asked))}</div>
<p class="choices">${link('All rows', null)}${link('Security events', 'security')}<a href="${linkTo(PATH, { project: 'deployment' })}">Of no project</a></p>
<p class="quiet">Not chained yet: ${tail.rows} rows${tail.oldestSeconds === null ? '' : `, the oldest since ${span(tail.oldestSeconds)}`}.</p>
${table({
  caption: 'Audit rows, newest first',
  columns: [
    ['Row', ({ id }) => String(id), 'number'],
    ['At', ({ at }) => time(at)],
    ['Action', ({ action }) => action.replaceAll('_', ' ')],
    ['By', (row) => actor(row.actor)],
    ['About', ({ subject }) => (UUID.test(subject) ? short(subject) : code(subject))],
    ['Details', (row) => details(row.details), 'long'],
  ],
  rows: shown(rows),
  none: 'There is no such row.',
})}
${pager({ path: PATH, query: { project: chain, only }, after, rows })}`,
  }
}

export const auditCheck: Room = async (ctx, asked) => {
  const last = ctx.auditCheck.last()
  const title = 'Check of the audit'
  const begin = check(null, mayAct(asked) && last?.state !== 'running')
  if (last === null) return { title, body: html`<p>Nothing was checked since this process started.</p>${begin}` }
  const begun = html`<p>Begun at ${time(last.since)} by ${code(last.by)}.</p>`
  if (last.state === 'running') {
    return {
      title,
      body: html`${begun}<p role="status">It runs: ${String(last.rows)} rows so far.</p><p><a href="${PATH}/check">Look again</a></p>`,
    }
  }
  return {
    title,
    body: html`${begun}<p>${word(last.isIntact ? 'success' : 'failed')}</p>
<ul class="lines">${last.lines.map((line) => html`<li>${line}</li>`)}</ul>
${begin}`,
  }
}
