// The login page. A user logs in by one of the ways, and is then sent back to the app that sent them, or stays to look
// after their account. Whoever sent them gets no token by an address, only the code of a session challenge that this page
// has completed: good once, for five minutes, and only for the project.

import type { Session, SessionChallenge } from '../../users/schema.ts'
import { offerAccount, showAccount } from './account.ts'
import { whileLoggedIn } from './logged-in.ts'
import { remember, remembers } from './memory.ts'
import { hold, holder, type Page, readPage } from './page.ts'
import { addPasskey, endSuggestions, knowsPasskeys } from './passkeys.ts'
import { element, onPress, show, toggle } from './views.ts'
import { offerWays } from './ways.ts'

/** Completes a challenge for the app, and leaves with its code. */
const handOver = async (page: Page, returnTo: string): Promise<void> => {
  const { token } = holder()
  const { code } = await page.wire<SessionChallenge>('/users/create-session-challenge')
  await page.wire('/users/complete-session-challenge', { token, body: { code } })
  // The app gets a session of its own by the code; the one of this page would be nobody's.
  await page.wire('/users/logout', { token })
  hold(null)
  const answer = new URLSearchParams({ session_challenge_code: code })
  if (page.state !== null) answer.set('state', page.state)
  // A fragment is sent to no server: it is in no log and in no Referer.
  location.replace(`${returnTo}#${answer}`)
}

const goBack = (page: Page, returnTo: string): Promise<void> =>
  whileLoggedIn(page, async () => {
    show('leaving')
    toggle('leaving-again', false)
    await handOver(page, returnTo).catch((error: unknown) => {
      toggle('leaving-again', true)
      throw error
    })
  })()

const begin = (): void => {
  const enter = async (session: Session): Promise<void> => {
    endSuggestions()
    hold(session)
    if (page.returnTo === null) return showAccount(page)
    const canHave = page.hasPasskeys && knowsPasskeys() && !holder().claims.has_passkey_credentials
    // Who has said no is not asked each time.
    const offers = canHave && !remembers(page.projectId, 'wants no passkey')
    if (offers) show('offer')
    else await goBack(page, page.returnTo)
  }
  const page = readPage(element('main', HTMLElement), enter)
  const { returnTo } = page
  offerAccount(page, () => void show('ways'))
  if (returnTo !== null) {
    onPress(
      'offer-yes',
      whileLoggedIn(page, async () => {
        await addPasskey(page, holder().token)
        await goBack(page, returnTo)
      }),
    )
    onPress('offer-no', () => {
      remember(page.projectId, 'wants no passkey')
      return goBack(page, returnTo)
    })
    onPress('leaving-again', () => goBack(page, returnTo))
  }
  // A page that the browser kept while the user was elsewhere begins anew.
  window.addEventListener('pageshow', (event) => {
    if (event.persisted) location.reload()
  })
  offerWays(page)
}

begin()
