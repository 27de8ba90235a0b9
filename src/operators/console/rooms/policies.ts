import { AppError } from '../../../platform/errors.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import { coinAmount } from '../../../signing/token.ts'
import type { PolicyRow, Vault } from '../../../vault/contract/vault.ts'
import type { ConsoleCtx } from '../context.ts'
import type { Room } from '../frame.ts'
import { code, linkTo, PAGE_ROWS, READ_ROWS, shown, table, time } from '../table.ts'
import { projectForm, readProjects } from './choose.ts'

const PATH = '/policies'
/** The vault counts the rows before a page. */
const PAGES_MAX = 200

const amountOf = ({ chains }: ConsoleCtx, { network }: PolicyRow, raw: bigint): string => {
  const chain = chains.known.find((each) => each.network === network)
  return chain === undefined ? String(raw) : coinAmount(chain, raw)
}

const list = (ctx: ConsoleCtx, rows: readonly PolicyRow[]): Html =>
  table({
    caption: 'Policies that are not revoked, oldest first',
    columns: [
      { head: 'Name', cell: ({ name }) => name },
      { head: 'Network', cell: ({ network }) => network },
      {
        head: 'Wallet',
        cell: ({ walletId, projectId }) =>
          html`<a href="${linkTo('/wallets', { project: projectId, q: walletId })}">${code(walletId)}</a>`,
      },
      { head: 'Rules', cell: ({ argumentRules }) => argumentRules.length, is: 'number' },
      {
        head: 'Uses',
        cell: ({ uses, maxUses }) => (maxUses === null ? String(uses) : `${uses} of ${maxUses}`),
        is: 'number',
      },
      {
        head: 'Spent',
        cell: (row) => {
          const spent = amountOf(ctx, row, row.spentValue)
          return row.maxTotalValue === null ? spent : `${spent} of ${amountOf(ctx, row, row.maxTotalValue)}`
        },
        is: 'number',
      },
      {
        head: 'Approvals',
        cell: ({ requireApproval }) =>
          requireApproval === null ? '–' : `${requireApproval.of} of ${requireApproval.approvers.length}`,
        is: 'number',
      },
      { head: 'Expires', cell: ({ expiresAt }) => time(expiresAt) },
      { head: 'Id', cell: ({ id }) => code(id) },
    ],
    rows,
    none: 'This project has no policies.',
  })

const read = async (vault: Vault, { projectId, page }: { readonly projectId: string; readonly page: number }) => {
  const all = { id: null, network: null, walletId: null, controlMode: null, ownedBy: null }
  return vault.listPolicies({ ...all, projectId, limit: READ_ROWS, offset: (page - 1) * PAGE_ROWS })
}

/** The policies of a project. Only a vault may read their table. */
export const policies: Room = async (ctx, asked) => {
  const title = 'Policies'
  if (ctx.vault === null) {
    return {
      title,
      body: html`<p class="none">Only a vault may read policies, and this console reaches none: set VAULT_SOCKET.</p>`,
    }
  }
  const { projects, named } = await readProjects(ctx, asked)
  const projectId = named ?? projects[0]?.id ?? null
  if (projectId === null) return { title, body: html`<p class="none">There is no project yet.</p>` }
  const page = Number(/^[1-9][0-9]{0,2}$/.exec(asked.query.get('page') ?? '')?.[0] ?? 1)
  if (page > PAGES_MAX) throw new AppError('page_too_deep', `There are at most ${PAGES_MAX} pages.`)
  const rows = await read(ctx.vault, { projectId, page })
  const link = (to: number, text: string) =>
    html`<a href="${linkTo(PATH, { project: projectId, page: String(to) })}">${text}</a>`
  return {
    title,
    body: html`<div class="filters">${projectForm({ path: PATH, projects, chosen: projectId, all: null })}</div>
${list(ctx, shown(rows))}
<nav class="pager" aria-label="Pages">${page > 1 ? link(page - 1, 'Page before') : null}${rows.length === READ_ROWS ? link(page + 1, 'Next page') : null}</nav>`,
  }
}
