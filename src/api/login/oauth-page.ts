// The page for people whom Google or Apple sends back here. Client libraries show buttons for both, which we cannot
// hide.

import { type Html, html, page } from '../../platform/pages/page.ts'
import type { Login } from './open.ts'

export const PROVIDERS = { google: 'Google', apple: 'Apple' } as const

export type Provider = keyof typeof PROVIDERS

export const readProvider = (text: string | undefined): Provider | null =>
  text === 'google' || text === 'apple' ? text : null

/** The login that a person began, as far as the provider's answer still shows it. */
export type BegunLogin = {
  readonly login: Login
  /** The code of the session challenge that the app waits for. */
  readonly code: string
}

const waysOf = ({ hasMail, rpId }: Login): readonly string[] => [
  ...(hasMail ? ['a code or a link that we mail you'] : []),
  ...(rpId !== null ? ['a passkey'] : []),
  'a wallet',
  'another device on which you are logged in',
]

/** The code stands in the fragment, which browsers send to no server. */
const wayBack = ({ login, code }: BegunLogin, provider: Provider): Html => {
  const query = new URLSearchParams({ project_id: login.projectId, instead_of: provider })
  const fragment = new URLSearchParams({ session_challenge_code: code })
  return html`
    <p>You can log in to ${login.projectName} with:</p>
    <ul>${waysOf(login).map(
      (way) => html`
      <li>${way}</li>`,
    )}
    </ul>
    <a class="main" href="${login.root}/login?${query.toString()}#${fragment.toString()}">Log in another way</a>`
}

const noWayBack = html`
    <p>Go back to the app, and choose another way to log in there.</p>`

/** @param input.begun null if the provider's answer does not show which login it is. */
export const oauthPage = (input: {
  readonly root: string
  readonly provider: Provider
  readonly begun: BegunLogin | null
}): string => {
  const name = PROVIDERS[input.provider]
  const title = `Logging in with ${name} is not offered here`
  return page({
    root: input.root,
    title,
    body: html`<main>
    <h1>${title}</h1>
    <p>Nobody is logged in. What ${name} sent about you was not read.</p>${input.begun === null ? noWayBack : wayBack(input.begun, input.provider)}
  </main>`,
  })
}
