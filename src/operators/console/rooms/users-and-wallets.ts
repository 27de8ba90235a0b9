import { findUsers, findWallets, pageOfUsers, pageOfWallets } from '../../../../db/queries/console.ts'
import { html } from '../../../platform/pages/page.ts'
import { mayAct } from '../frame.ts'
import {
  code,
  linkTo,
  PAGE_ROWS,
  pager,
  READ_ROWS,
  roomOfProject,
  searchField,
  shown,
  soughtIn,
  table,
  time,
  uuidIn,
} from '../table.ts'

export const users = roomOfProject({ title: 'Users', path: '/users' }, async (ctx, asked, { projectId, form }) => {
  const text = soughtIn(asked)
  const after = uuidIn(asked.query.get('after'))
  const rows =
    text === null
      ? await pageOfUsers(ctx.db, { projectId, after, limit: READ_ROWS })
      : await findUsers(ctx.db, { projectId, text, id: uuidIn(text) })
  return html`${form(searchField('E-mail address, wallet or id', text))}
${table({
  caption: 'Users, in the order of their ids',
  columns: [
    ['Id', ({ id }) => code(id)],
    ['E-mail address', ({ email }) => email ?? '–', 'long'],
    ['Wallet to log in', ({ signInWallet }) => code(signInWallet), 'long'],
    [
      'At an issuer',
      ({ issuer, issuerName, subject }) => (issuer === null ? '–' : `${subject} at ${issuerName ?? issuer}`),
      'long',
    ],
    ['Passkeys', ({ passkeys }) => passkeys, 'number'],
    ['Since', ({ createdAt }) => time(createdAt)],
    ['Wallets', ({ id }) => html`<a href="${linkTo('/wallets', { project: projectId, q: id })}">Wallets</a>`],
  ],
  rows: shown(rows),
  none: text === null ? 'This project has no users.' : 'There is no such user.',
})}
${pager({ path: '/users', query: { project: projectId }, after, rows })}`
})

export const wallets = roomOfProject(
  { title: 'Wallets', path: '/wallets' },
  async (ctx, asked, { projectId, form }) => {
    const text = soughtIn(asked)
    const after = uuidIn(asked.query.get('after'))
    const rows =
      text === null
        ? await pageOfWallets(ctx.db, { projectId, after, limit: READ_ROWS })
        : await findWallets(ctx.db, { projectId, text, id: uuidIn(text), limit: PAGE_ROWS })
    const freezeLink = (id: string) => linkTo('/do/freeze', { scope: 'wallet', wallet: id })
    return html`${form(searchField('Address, owner or id', text))}
${table({
  caption: 'Wallets, newest first',
  columns: [
    ['Name', ({ name }) => name],
    ['Network', ({ network }) => network],
    ['Address', ({ address }) => code(address), 'long'],
    ['Owner', ({ ownerId }) => code(ownerId)],
    ['Mode', ({ controlMode }) => controlMode],
    ['Type', ({ type }) => type],
    ['Made', ({ createdAt }) => time(createdAt)],
    ['Id', ({ id }) => code(id)],
    mayAct(asked) && ['Action', ({ id }) => html`<a href="${freezeLink(id)}">Freeze…</a>`],
  ],
  rows: shown(rows),
  none: text === null ? 'This project has no wallets.' : 'There is no such wallet.',
})}
${pager({ path: '/wallets', query: { project: projectId }, after, rows })}`
  },
)
