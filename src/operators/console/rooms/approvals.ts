import { type ConsoleApproval, pageOfApprovals } from '../../../../db/queries/console.ts'
import { html } from '../../../platform/pages/page.ts'
import type { Room } from '../frame.ts'
import { code, linkTo, pager, READ_ROWS, shown, table, time, word } from '../table.ts'
import { projectForm, readProjects, uuidIn } from './choose.ts'

const PATH = '/approvals'

const stateOf = ({ usedAt, rejectedAt, isExpired, approved, required }: ConsoleApproval): string => {
  if (usedAt !== null) return 'used'
  if (rejectedAt !== null) return 'rejected'
  if (isExpired) return 'expired'
  return approved >= required ? 'approved' : 'waiting'
}

/** What waits for a project's approvers, or did. They decide on the page /approve of the API. */
export const approvals: Room = async (ctx, asked) => {
  const { projects, named } = await readProjects(ctx, asked)
  const projectId = named ?? projects[0]?.id ?? null
  if (projectId === null) return { title: 'Approvals', body: html`<p class="none">There is no project yet.</p>` }
  const after = uuidIn(asked.query.get('after'))
  const rows = await pageOfApprovals(ctx.db, { projectId, after, limit: READ_ROWS })
  return {
    title: 'Approvals',
    body: html`<div class="filters">${projectForm({ path: PATH, projects, chosen: projectId, all: null })}</div>
${table({
  caption: 'Approvals, newest first',
  columns: [
    { head: 'Id', cell: ({ id }) => code(id) },
    { head: 'State', cell: (row) => word(stateOf(row)) },
    { head: 'Approved', cell: ({ approved, required }) => `${approved} of ${required}`, is: 'number' },
    {
      head: 'Wallet',
      cell: ({ walletId }) =>
        html`<a href="${linkTo('/wallets', { project: projectId, q: walletId })}">${code(walletId)}</a>`,
    },
    { head: 'Asked by', cell: ({ askedBy }) => code(askedBy), is: 'long' },
    { head: 'Asked', cell: ({ createdAt }) => time(createdAt) },
    { head: 'Expires', cell: ({ expiresAt }) => time(expiresAt) },
  ],
  rows: shown(rows),
  none: 'Nothing was asked of approvers.',
})}
${pager({ path: PATH, query: { project: projectId }, after, rows })}`,
  }
}
