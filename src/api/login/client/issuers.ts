// A login at an issuer of the project: the browser leaves this page and comes back. What belongs to the login stays in
// this tab's storage meanwhile, among it the secret without which the code that comes back is worth nothing.

import { base64urlOf } from '../../../identity/auth/client/passkey-json.ts'
import type { Page } from './page.ts'
import { onPress, showProblem, showStatus } from './views.ts'
import { messageFor, UserMessage } from './wire.ts'

// PKCE (RFC 7636), for logins that this page begins itself and for those of apps.

export const bindingOf = (codeChallenge: string): object => ({
  code_challenge: codeChallenge,
  code_challenge_method: 'S256',
})

export const newVerifier = async (): Promise<{ readonly verifier: string; readonly codeChallenge: string }> => {
  const verifier = base64urlOf(crypto.getRandomValues(new Uint8Array(32)))
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  return { verifier, codeChallenge: base64urlOf(new Uint8Array(hash)) }
}

const KEY = 'strongroom: login at an issuer'

type Begun = {
  readonly verifier: string
  /** Where the login began: path and query. */
  readonly at: string
  /** The code of a device that waits for this login; null if none does. */
  readonly challenge: string | null
}

type Returned = {
  readonly issuer: string
  /** null if the issuer refused. */
  readonly code: string | null
  readonly why: string | null
  /** null if this tab has not begun it. */
  readonly begun: Begun | null
}

const here = (): string => location.pathname + location.search

const readBegun = (): Begun | null => {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? 'null')
  } catch {
    return null
  }
}

const forget = (): void => {
  try {
    sessionStorage.removeItem(KEY)
  } catch {
    // Without storage there is nothing to forget.
  }
}

/** Reads how a login ended, once. `elsewhere`: the browser goes on to the page where the login began. */
export const takeReturned = (): Returned | 'elsewhere' | null => {
  const fragment = new URLSearchParams(location.hash.slice(1))
  const [code, why] = [fragment.get('issuer_code'), fragment.get('issuer_refusal')]
  if (code === null && why === null) return null
  const begun = readBegun()
  if (begun !== null && begun.at !== here()) {
    location.replace(begun.at + location.hash)
    return 'elsewhere'
  }
  forget()
  history.replaceState(null, '', here())
  return { issuer: fragment.get('issuer') ?? '', code, why, begun }
}

const SENTENCES: Readonly<Record<string, (issuer: string) => string>> = {
  cancelled: (issuer) => `The login with ${issuer} was cancelled. Try again, or log in in another way.`,
  away: (issuer) => `${issuer} does not answer at the moment. Try again later, or log in in another way.`,
  stale: (issuer) =>
    `${issuer} did not ask who you are, and your login there is some time ago. Log out there, then try again.`,
}

const refusedBy = (issuer: string): string =>
  `The login with ${issuer} did not work. Try again; if it happens again, tell the app’s support.`

export const goOn = async (
  page: Page,
  { issuer, code, why, begun }: Returned,
  enter: (proof: object) => Promise<void>,
) => {
  try {
    if (code === null) throw new UserMessage((SENTENCES[why ?? ''] ?? refusedBy)(issuer))
    if (begun === null) throw new UserMessage('This login was begun in another window. Log in again here.')
    showStatus(`Logging you in to ${page.projectName}…`)
    await enter({ session_challenge_code: code, code_verifier: begun.verifier })
  } catch (error) {
    showStatus('')
    showProblem(messageFor(error))
  }
}

/** Sets up a button for each issuer. @param challengeOf the device that waits for this login. */
export const byIssuer = (page: Page, challengeOf: () => string | null): void => {
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-issuer]')) {
    const { issuer = '' } = button.dataset
    onPress(button.id, async () => {
      const { verifier, codeChallenge } = await newVerifier()
      const body = { issuer, code_challenge: codeChallenge }
      const { url } = await page.wire<{ url: string }>('/login/issuer', { body, takesCookie: true })
      const begun: Begun = { verifier, at: here(), challenge: challengeOf() }
      try {
        sessionStorage.setItem(KEY, JSON.stringify(begun))
      } catch {
        throw new UserMessage(
          'Your browser keeps nothing for this page, which this login needs. Log in in another way.',
        )
      }
      location.assign(url)
    })
  }
}
