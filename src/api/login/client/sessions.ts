// The user's sessions: where they are logged in, and buttons to end what they do not recognise.

import type { LoginWay } from '../../../../db/words.ts'
import type { OwnSession } from '../../../identity/users/schema.ts'
import { deviceName } from '../../../platform/pages/device.ts'
import { callAsUser, type Page, whileLoggedIn } from './page.ts'
import { dayOf, element, listItem, onPress, showStatus, toggle } from './views.ts'

const WAYS: Readonly<Record<LoginWay, string>> = {
  email_code: 'by a mailed code',
  magic_link: 'by a mailed link',
  wallet: 'by a wallet',
  passkey: 'by a passkey',
  session_challenge: 'by another device',
  issuer: 'by another account of yours',
  anonymous: 'anonymously',
}

const textOf = (session: OwnSession): string => {
  const since = `since ${dayOf(session.created_at)}, ${WAYS[session.way]}`
  return session.current
    ? `This one, ${since}`
    : `${deviceName(session.device)}, ${since}, last used ${dayOf(session.last_refreshed_at)}`
}

const itemOf = (session: OwnSession, task: () => Promise<void>): HTMLLIElement => {
  const label = `Log out ${deviceName(session.device)}, since ${dayOf(session.created_at)}`
  return listItem(textOf(session), session.current ? null : { text: 'Log out', label, task })
}

/** Ends one session, or all others, and lists the rest. */
const end = (page: Page, body: { readonly session_id?: string }): (() => Promise<void>) =>
  whileLoggedIn(page, async () => {
    await callAsUser(page, '/users/sessions/end', { body })
    await listSessions(page)
    element('sessions-title', HTMLElement).focus()
    showStatus(body.session_id === undefined ? 'You are logged out everywhere else.' : 'That device is logged out.')
  })

/** Lists the user's sessions, including this page's. */
export const listSessions = async (page: Page): Promise<void> => {
  const sessions = await callAsUser<readonly OwnSession[]>(page, '/users/sessions', { method: 'GET' })
  const items = sessions.map((session) => itemOf(session, end(page, { session_id: session.id })))
  element('sessions', HTMLUListElement).replaceChildren(...items)
  toggle('sessions-end', sessions.length > 1)
}

/** Sets up the button that ends all other sessions. */
export const offerSessions = (page: Page): void => onPress('sessions-end', end(page, {}))
