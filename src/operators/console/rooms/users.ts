import { findUsers, pageOfUsers } from '../../../../db/queries/console.ts'
import { html } from '../../../platform/pages/page.ts'
import type { Room } from '../frame.ts'
import { code, linkTo, pager, READ_ROWS, shown, table, time } from '../table.ts'
import { projectForm, readProjects, searchField, textIn, uuidIn } from './choose.ts'

const PATH = '/users'

/** The users of a project, or the one that a text names. */
export const users: Room = async (ctx, asked) => {
  const { projects, named } = await readProjects(ctx, asked)
  const projectId = named ?? projects[0]?.id ?? null
  if (projectId === null) return { title: 'Users', body: html`<p class="none">There is no project yet.</p>` }
  const text = textIn(asked, 'q')
  const after = uuidIn(asked.query.get('after'))
  const rows =
    text === null
      ? await pageOfUsers(ctx.db, { projectId, after, limit: READ_ROWS })
      : await findUsers(ctx.db, { projectId, text, id: uuidIn(text) })
  const fields = searchField('E-mail address, wallet or id', text)
  return {
    title: 'Users',
    body: html`<div class="filters">${projectForm({ path: PATH, projects, chosen: projectId, all: null, fields })}</div>
${table({
  caption: 'Users, in the order of their ids',
  columns: [
    { head: 'Id', cell: ({ id }) => code(id) },
    { head: 'E-mail address', cell: ({ email }) => email ?? '–', is: 'long' },
    { head: 'Wallet to log in', cell: ({ signInWallet }) => code(signInWallet), is: 'long' },
    {
      head: 'At an issuer',
      cell: ({ issuer, issuerName, subject }) => (issuer === null ? '–' : `${subject} at ${issuerName ?? issuer}`),
      is: 'long',
    },
    { head: 'Passkeys', cell: ({ passkeys }) => passkeys, is: 'number' },
    { head: 'Since', cell: ({ createdAt }) => time(createdAt) },
    {
      head: 'Wallets',
      cell: ({ id }) => html`<a href="${linkTo('/wallets', { project: projectId, q: id })}">Wallets</a>`,
    },
  ],
  rows: shown(rows),
  none: text === null ? 'This project has no users.' : 'There is no such user.',
})}
${pager({ path: PATH, query: { project: projectId }, after, rows })}`,
  }
}
