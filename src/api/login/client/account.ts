// The account view for a logged-in user: passkeys, sessions, approving another device, logout.

import type { Static } from '@sinclair/typebox'
import type { LoginWay } from '../../../../db/words.ts'
import type { Passkey } from '../../../identity/users/passkey-schema.ts'
import type { ChallengeAsker, OwnSession } from '../../../identity/users/schema.ts'
import { deviceName } from '../../../platform/pages/device.ts'
import { callAsUser, currentLogin, type Page, setSession, whileLoggedIn } from './page.ts'
import { addPasskey, knowsPasskeys } from './passkeys.ts'
import {
  dayOf,
  element,
  input,
  listItem,
  onPress,
  onSubmit,
  setText,
  show,
  showStatus,
  toggle,
  typedCode,
} from './views.ts'
import { Refused, UserMessage } from './wire.ts'

// The user's sessions: where they are logged in, and buttons to end what they do not recognise.

const WAYS: Readonly<Record<LoginWay, string>> = {
  email_code: 'by a mailed code',
  magic_link: 'by a mailed link',
  wallet: 'by a wallet',
  passkey: 'by a passkey',
  session_challenge: 'by another device',
  issuer: 'by another account of yours',
  anonymous: 'anonymously',
}

const sessionText = (session: OwnSession): string => {
  const since = `since ${dayOf(session.created_at)}, ${WAYS[session.way]}`
  return session.current
    ? `This one, ${since}`
    : `${deviceName(session.device)}, ${since}, last used ${dayOf(session.last_refreshed_at)}`
}

const sessionItem = (session: OwnSession, task: () => Promise<void>): HTMLLIElement => {
  const label = `Log out ${deviceName(session.device)}, since ${dayOf(session.created_at)}`
  return listItem(sessionText(session), session.current ? null : { text: 'Log out', label, task })
}

const end = (page: Page, body: { readonly session_id?: string }): (() => Promise<void>) =>
  whileLoggedIn(page, async () => {
    await callAsUser(page, '/users/sessions/end', { body })
    await listSessions(page)
    element('sessions-title', HTMLElement).focus()
    showStatus(body.session_id === undefined ? 'You are logged out everywhere else.' : 'That device is logged out.')
  })

const listSessions = async (page: Page): Promise<void> => {
  const sessions = await callAsUser<readonly OwnSession[]>(page, '/users/sessions', { method: 'GET' })
  const items = sessions.map((session) => sessionItem(session, end(page, { session_id: session.id })))
  element('sessions', HTMLUListElement).replaceChildren(...items)
  toggle('sessions-end', sessions.length > 1)
}

const offerSessions = (page: Page): void => onPress('sessions-end', end(page, {}))

const itemOf = (passkey: Passkey, remove: () => Promise<void>): HTMLLIElement => {
  const used = passkey.last_used_at === null ? 'not used yet' : `last used ${dayOf(passkey.last_used_at)}`
  const added = dayOf(passkey.created_at)
  const button = { text: 'Remove', label: `Remove the passkey added ${added}`, task: remove }
  return listItem(`Added ${added}, ${used}`, button)
}

const listPasskeys = async (page: Page): Promise<void> => {
  const passkeys = await callAsUser<readonly Passkey[]>(page, '/users/passkeys', { method: 'GET' })
  const remove = (passkey: Passkey) =>
    whileLoggedIn(page, async () => {
      await callAsUser(page, '/users/passkey/remove', { body: { id: passkey.id } })
      await Promise.all([listPasskeys(page), listSessions(page)])
      element('passkeys-title', HTMLElement).focus()
      showStatus(
        'The passkey is removed, and you are logged out everywhere else. If it opens your wallets, remove it there too. Your device may still offer it until you delete it there.',
      )
    })
  element('passkeys', HTMLUListElement).replaceChildren(...passkeys.map((passkey) => itemOf(passkey, remove(passkey))))
  toggle('passkeys-none', passkeys.length === 0)
}

const nameOf = (): string => {
  const { email, siwe_wallet_address: wallet } = currentLogin().claims
  return email ?? wallet ?? ''
}

export const showAccount = async (page: Page): Promise<void> => {
  const name = nameOf()
  setText('account-name', name)
  toggle('account-as', name !== '')
  toggle('passkey-add', page.rpId !== null && knowsPasskeys())
  show('account')
  await whileLoggedIn(page, async () => void (await Promise.all([listPasskeys(page), listSessions(page)])))()
}

const NO_CODE = ['not_found', 'invalid_input']
const NO_SUCH_CODE = 'There is no such code. Type it as the other device shows it.'

const letIn = (page: Page): void => {
  let code = ''
  onSubmit('challenge-form', 'challenge-field', async (written) => {
    const typed = typedCode(written)
    await whileLoggedIn(page, async () => {
      const path = `/users/session-challenge/asker?${new URLSearchParams({ code: typed })}`
      const asker = await callAsUser<Static<typeof ChallengeAsker>>(page, path, { method: 'GET' }).catch((error) => {
        throw error instanceof Refused && NO_CODE.includes(error.code) ? new UserMessage(NO_SUCH_CODE) : error
      })
      code = typed
      setText('ask-device', deviceName(asker.device))
      setText('ask-address', asker.address || 'not known')
      setText('ask-time', new Date(asker.created_at).toLocaleTimeString())
      show('ask')
    })()
  })
  onPress(
    'ask-yes',
    whileLoggedIn(page, async () => {
      await callAsUser(page, '/users/complete-session-challenge', { body: { code } })
      input('challenge-field').value = ''
      await showAccount(page)
      showStatus('The other device is logged in now. You can go on there.')
    }),
  )
  onPress('ask-no', async () => {
    await showAccount(page)
    showStatus('Nobody was let in.')
  })
}

export const askAbout = (code: string): void => {
  input('challenge-field').value = code
  element('challenge-form', HTMLFormElement).requestSubmit()
}

export const offerAccount = (page: Page, onLogout: () => void): void => {
  letIn(page)
  offerSessions(page)
  onPress(
    'passkey-add',
    whileLoggedIn(page, async () => {
      await addPasskey(page)
      await listPasskeys(page)
      showStatus('The passkey is added. You can log in with it from now on.')
    }),
  )
  onPress('logout', async () => {
    await callAsUser(page, '/users/logout')
    setSession(null)
    onLogout()
    showStatus('You are logged out.')
  })
}
