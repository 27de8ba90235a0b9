import { type ConsoleApproval, pageOfApprovals } from '../../../../db/queries/console.ts'
import { AppError } from '../../../platform/errors.ts'
import { html } from '../../../platform/pages/page.ts'
import { coinAmount } from '../../../signing/token.ts'
import type { PolicyRow } from '../../../vault/contract/vault.ts'
import type { ConsoleCtx } from '../context.ts'
import type { Room } from '../frame.ts'
import {
  code,
  linkTo,
  PAGE_ROWS,
  pager,
  READ_ROWS,
  roomOfProject,
  shown,
  table,
  time,
  uuidIn,
  walletLink,
  word,
} from '../table.ts'

/** The vault counts the rows before a page. */
const PAGES_MAX = 200

const amountOf = ({ chains }: ConsoleCtx, { network }: PolicyRow, raw: bigint): string => {
  const chain = chains.known.find((each) => each.network === network)
  return chain === undefined ? String(raw) : coinAmount(chain, raw)
}

const listOf = (ctx: ConsoleCtx, rows: readonly PolicyRow[]) =>
  table({
    caption: 'Policies that are not revoked, oldest first',
    columns: [
      ['Name', ({ name }) => name],
      ['Network', ({ network }) => network],
      ['Wallet', walletLink],
      ['Rules', ({ argumentRules }) => argumentRules.length, 'number'],
      ['Uses', ({ uses, maxUses }) => (maxUses === null ? String(uses) : `${uses} of ${maxUses}`), 'number'],
      [
        'Spent',
        (row) => {
          const spent = amountOf(ctx, row, row.spentValue)
          return row.maxTotalValue === null ? spent : `${spent} of ${amountOf(ctx, row, row.maxTotalValue)}`
        },
        'number',
      ],
      [
        'Approvals',
        ({ requireApproval: needs }) => (needs === null ? '–' : `${needs.of} of ${needs.approvers.length}`),
        'number',
      ],
      ['Expires', ({ expiresAt }) => time(expiresAt)],
      ['Id', ({ id }) => code(id)],
    ],
    rows,
    none: 'This project has no policies.',
  })

const ofProject = roomOfProject(
  { title: 'Policies', path: '/policies' },
  async (ctx, { query }, { projectId, form }) => {
    const page = Number(/^[1-9][0-9]{0,2}$/.exec(query.get('page') ?? '')?.[0] ?? 1)
    if (page > PAGES_MAX) throw new AppError('page_too_deep', `There are at most ${PAGES_MAX} pages.`)
    const all = { id: null, network: null, walletId: null, controlMode: null, ownedBy: null }
    const place = { limit: READ_ROWS, offset: (page - 1) * PAGE_ROWS }
    const rows = (await ctx.vault?.listPolicies({ ...all, projectId, ...place })) ?? []
    const link = (to: number, text: string) =>
      html`<a href="${linkTo('/policies', { project: projectId, page: String(to) })}">${text}</a>`
    return html`${form()}
${listOf(ctx, shown(rows))}
<nav class="pager" aria-label="Pages">${page > 1 ? link(page - 1, 'Page before') : null}${rows.length === READ_ROWS ? link(page + 1, 'Next page') : null}</nav>`
  },
)

const NO_VAULT = 'Only a vault may read policies, and this console reaches none: set VAULT_SOCKET.'

/** The policies of a project. Only a vault may read their table. */
export const policies: Room = async (ctx, asked) =>
  ctx.vault === null ? { title: 'Policies', body: html`<p class="none">${NO_VAULT}</p>` } : ofProject(ctx, asked)

const stateOf = ({ usedAt, rejectedAt, isExpired, approved, required }: ConsoleApproval): string => {
  if (usedAt !== null) return 'used'
  if (rejectedAt !== null) return 'rejected'
  if (isExpired) return 'expired'
  return approved >= required ? 'approved' : 'waiting'
}

/** What waits for a project's approvers, or did. They decide on the page /approve of the API. */
export const approvals = roomOfProject(
  { title: 'Approvals', path: '/approvals' },
  async (ctx, { query }, { projectId, form }) => {
    const after = uuidIn(query.get('after'))
    const rows = await pageOfApprovals(ctx.db, { projectId, after, limit: READ_ROWS })
    return html`${form()}
${table({
  caption: 'Approvals, newest first',
  columns: [
    ['Id', ({ id }) => code(id)],
    ['State', (row) => word(stateOf(row))],
    ['Approved', ({ approved, required }) => `${approved} of ${required}`, 'number'],
    ['Wallet', ({ walletId }) => walletLink({ projectId, walletId })],
    ['Asked by', ({ askedBy }) => code(askedBy), 'long'],
    ['Asked', ({ createdAt }) => time(createdAt)],
    ['Expires', ({ expiresAt }) => time(expiresAt)],
  ],
  rows: shown(rows),
  none: 'Nothing was asked of approvers.',
})}
${pager({ path: '/approvals', query: { project: projectId }, after, rows })}`
  },
)
