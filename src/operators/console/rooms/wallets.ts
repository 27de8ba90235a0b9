import { findWallets, type ListedWallet, pageOfWallets } from '../../../../db/queries/console.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { Room } from '../frame.ts'
import { code, linkTo, PAGE_ROWS, pager, READ_ROWS, shown, table, time } from '../table.ts'
import { projectForm, readProjects, searchField, textIn, uuidIn } from './choose.ts'

const PATH = '/wallets'

const list = (
  rows: readonly ListedWallet[],
  { none, mayFreeze }: { readonly none: string; readonly mayFreeze: boolean },
): Html =>
  table({
    caption: 'Wallets, newest first',
    columns: [
      { head: 'Name', cell: ({ name }) => name },
      { head: 'Network', cell: ({ network }) => network },
      { head: 'Address', cell: ({ address }) => code(address), is: 'long' },
      { head: 'Owner', cell: ({ ownerId }) => code(ownerId) },
      { head: 'Mode', cell: ({ controlMode }) => controlMode },
      { head: 'Type', cell: ({ type }) => type },
      { head: 'Made', cell: ({ createdAt }) => time(createdAt) },
      { head: 'Id', cell: ({ id }) => code(id) },
      ...(mayFreeze
        ? [
            {
              head: 'Action',
              cell: ({ id }: ListedWallet) =>
                html`<a href="${linkTo('/do/freeze', { scope: 'wallet', wallet: id })}">Freeze…</a>`,
            },
          ]
        : []),
    ],
    rows,
    none,
  })

/** The wallets of a project, or those that a text names. */
export const wallets: Room = async (ctx, asked) => {
  const { projects, named } = await readProjects(ctx, asked)
  const projectId = named ?? projects[0]?.id ?? null
  if (projectId === null) return { title: 'Wallets', body: html`<p class="none">There is no project yet.</p>` }
  const text = textIn(asked, 'q')
  const after = uuidIn(asked.query.get('after'))
  const rows =
    text === null
      ? await pageOfWallets(ctx.db, { projectId, after, limit: READ_ROWS })
      : await findWallets(ctx.db, { projectId, text, id: uuidIn(text), limit: PAGE_ROWS })
  const fields = searchField('Address, owner or id', text)
  const none = text === null ? 'This project has no wallets.' : 'There is no such wallet.'
  return {
    title: 'Wallets',
    body: html`<div class="filters">${projectForm({ path: PATH, projects, chosen: projectId, all: null, fields })}</div>
${list(shown(rows), { none, mayFreeze: asked.session.operator.role === 'operator' })}
${pager({ path: PATH, query: { project: projectId }, after, rows })}`,
  }
}
