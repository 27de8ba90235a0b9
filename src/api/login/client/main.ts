// The login page. The user logs in and is then sent back to the app, or stays to manage their account. The app's URL
// gets no token, only the code of a session challenge that this page has completed. The code works once, for five
// minutes, only for the project, and only with the secret that the app keeps (PKCE).

import type { Session, SessionChallenge } from '../../../identity/users/schema.ts'
import { askAbout, offerAccount, showAccount } from './account.ts'
import { offerApprovals, showApprovals } from './approvals.ts'
import { goBackWith, offerConsent, offerGrants, showGrants, showProposal, showRevocation } from './consent.ts'
import { offerCredentials, showCredentials } from './credentials.ts'
import { bindingOf, goOn, takeReturned } from './issuers.ts'
import {
  callAsUser,
  currentLogin,
  hasFlag,
  leaveSession,
  type Page,
  readPage,
  setFlag,
  setSession,
  whileLoggedIn,
} from './page.ts'
import { addPasskey, endSuggestions, knowsPasskeys } from './passkeys.ts'
import { element, forgetSecrets, onPress, show, toggle } from './views.ts'
import { offerWays, verify } from './ways.ts'

/** Completes a session challenge for the app, and goes to the app with its code. */
const handOver = async (page: Page, returnTo: string): Promise<void> => {
  if (page.codeChallenge === null) throw new Error('the app keeps no secret')
  const { code } = await page.wire<SessionChallenge>('/users/create-session-challenge', {
    body: bindingOf(page.codeChallenge),
  })
  await callAsUser(page, '/users/complete-session-challenge', { body: { code } })
  // The app uses the code to get its own session, so this page needs its session no more.
  await leaveSession(page)
  const answer = new URLSearchParams({ session_challenge_code: code })
  if (page.state !== null) answer.set('state', page.state)
  // Browsers send no fragment to servers, so it appears in no log and no Referer.
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

/** The code of a session challenge for which this page was opened. It does not stay in the address. */
const takeChallenge = (): string | null => {
  const code = new URLSearchParams(location.hash.slice(1)).get('session_challenge_code')
  if (code !== null) history.replaceState(null, '', location.pathname + location.search)
  return code
}

const begin = (): void => {
  const returned = takeReturned()
  if (returned === 'elsewhere') return
  let challenge = returned?.begun?.challenge ?? takeChallenge()
  const enter = async (session: Session): Promise<void> => {
    endSuggestions()
    setSession(session)
    if (page.asks === 'consent') return showProposal(page)
    if (page.asks === 'revoke') return showRevocation(page)
    if (page.asks === 'granted') return showGrants(page)
    if (page.asks === 'approvals') return showApprovals(page)
    if (page.asks === 'credentials') return showCredentials(page)
    if (page.returnTo === null) {
      await showAccount(page)
      // The user still decides, because a stranger could have made the link.
      if (challenge !== null) askAbout(challenge)
      challenge = null
      return
    }
    const canHave = page.rpId !== null && knowsPasskeys() && !currentLogin().claims.has_passkey_credentials
    // Do not ask again after a refusal.
    const offers = canHave && !hasFlag(page.projectId, 'wants no passkey')
    if (offers) show('offer')
    else await goBack(page, page.returnTo)
  }
  const page = readPage(element('main', HTMLElement), enter)
  const { returnTo } = page
  offerAccount(page, () => void show('ways'))
  offerConsent(page)
  offerApprovals(page)
  const leave = page.asks === 'login' ? () => showAccount(page) : () => goBackWith(page, {})
  offerGrants(page, { leave })
  offerCredentials(page, { leave })
  if (returnTo !== null) {
    onPress(
      'offer-yes',
      whileLoggedIn(page, async () => {
        await addPasskey(page)
        await goBack(page, returnTo)
      }),
    )
    onPress('offer-no', () => {
      setFlag(page.projectId, 'wants no passkey')
      return goBack(page, returnTo)
    })
    onPress('leaving-again', () => goBack(page, returnTo))
  }
  window.addEventListener('pagehide', () => forgetSecrets())
  // Reload a page that the browser restored from its cache.
  window.addEventListener('pageshow', (event) => {
    if (event.persisted) location.reload()
  })
  offerWays(page, { challengeOf: () => challenge })
  if (returned !== null) void goOn(page, returned, (proof) => verify(page, proof))
}

begin()
