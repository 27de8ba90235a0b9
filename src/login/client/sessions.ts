// The user's sessions: where they are logged in, and buttons to end what they do not recognise.

import type { LoginWay } from '../../../db/words.ts'
import { deviceName } from '../../pages/device.ts'
import type { OwnSession } from '../../users/schema.ts'
import { whileLoggedIn } from './logged-in.ts'
import { currentLogin, type Page } from './page.ts'
import { attempt, dayOf, element, onPress, showStatus, toggle } from './views.ts'

const WAYS: Readonly<Record<LoginWay, string>> = {
  email_code: 'by a mailed code',
  magic_link: 'by a mailed link',
  wallet: 'by a wallet',
  passkey: 'by a passkey',
  session_challenge: 'by another device',
  anonymous: 'anonymously',
}

const textOf = (session: OwnSession): string => {
  const since = `since ${dayOf(session.created_at)}, ${WAYS[session.way]}`
  return session.current
    ? `This one, ${since}`
    : `${deviceName(session.device)}, ${since}, last used ${dayOf(session.last_refreshed_at)}`
}

const itemOf = (session: OwnSession, end: () => Promise<void>): HTMLLIElement => {
  const item = document.createElement('li')
  const text = document.createElement('span')
  text.textContent = textOf(session)
  item.append(text)
  if (session.current) return item
  const press = document.createElement('button')
  press.type = 'button'
  press.className = 'small'
  press.textContent = 'Log out'
  press.setAttribute('aria-label', `Log out ${deviceName(session.device)}, since ${dayOf(session.created_at)}`)
  press.addEventListener('click', () => void attempt(press, end))
  item.append(press)
  return item
}

/** Ends one session, or all others, and lists the rest. */
const end = (page: Page, body: { readonly session_id?: string }): (() => Promise<void>) =>
  whileLoggedIn(page, async () => {
    await page.wire('/users/sessions/end', { token: currentLogin().token, body })
    await listSessions(page)
    element('sessions-title', HTMLElement).focus()
    showStatus(body.session_id === undefined ? 'You are logged out everywhere else.' : 'That device is logged out.')
  })

/** Lists the user's sessions, including this page's. */
export const listSessions = async (page: Page): Promise<void> => {
  const sessions = await page.wire<readonly OwnSession[]>('/users/sessions', {
    method: 'GET',
    token: currentLogin().token,
  })
  const items = sessions.map((session) => itemOf(session, end(page, { session_id: session.id })))
  element('sessions', HTMLUListElement).replaceChildren(...items)
  toggle('sessions-end', sessions.length > 1)
}

/** Sets up the button that ends all other sessions. */
export const offerSessions = (page: Page): void => {
  onPress('sessions-end', end(page, {}))
}
