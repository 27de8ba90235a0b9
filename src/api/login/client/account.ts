// The account view for a logged-in user: passkeys, sessions, approving another device, logout.

import type { Static } from '@sinclair/typebox'
import type { Passkey } from '../../../identity/users/passkey-schema.ts'
import type { ChallengeAsker } from '../../../identity/users/schema.ts'
import { deviceName } from '../../../platform/pages/device.ts'
import { callAsUser, currentLogin, type Page, setSession, whileLoggedIn } from './page.ts'
import { addPasskey, knowsPasskeys } from './passkeys.ts'
import { listSessions, offerSessions } from './sessions.ts'
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
import { Refused } from './wire.ts'
import { UserMessage } from './words.ts'

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

/** The user's name, as far as the page knows it. */
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

/** An unknown code, and a malformed one. */
const NO_CODE = ['not_found', 'invalid_input']
const NO_SUCH_CODE = 'There is no such code. Type it as the other device shows it.'

/** Shows who asks, and lets them in if the user agrees. */
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

/** Asks the user about a code as if they had typed it. */
export const askAbout = (code: string): void => {
  input('challenge-field').value = code
  element('challenge-form', HTMLFormElement).requestSubmit()
}

/** Sets up the account view. @param onLogout is called after logout. */
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
