// The pages on which a user agrees to a policy, revokes one, and sees all. They have the ways to log in of the login
// page.

import { type Html, html } from '../../platform/pages/page.ts'
import { credentialField, granted, revoke } from '../login/credential-views.ts'
import { dataAttribute, done, pageBehindLogin } from '../login/page.ts'
import type { Consent } from './open.ts'

const consent = (projectName: string): Html => html`
    <section id="consent" aria-labelledby="consent-title" hidden>
      <h1 id="consent-title" tabindex="-1">Let <bdi>${projectName}</bdi> use your wallet?</h1>
      <p>If you allow this, <bdi>${projectName}</bdi> may do it without asking you again.</p>
      <div class="words" id="consent-words"></div>
      <form id="consent-form" novalidate>${credentialField('consent-pin')}
        <button class="main">Allow</button>
        <button type="button" id="consent-no">Don’t allow</button>
      </form>
    </section>`

const refused = (projectName: string): Html => html`
    <section id="refused" aria-labelledby="refused-title" hidden>
      <h1 id="refused-title" tabindex="-1">This does not work</h1>
      <p id="refused-reason"></p>
      <button type="button" id="refused-again">Try again</button>
      <button type="button" id="refused-other">Log in as somebody else</button>
      <button class="plain" type="button" id="refused-back" hidden><span>Back to <bdi>${projectName}</bdi></span></button>
    </section>`

const TITLES: Readonly<Record<Consent['asks'], (projectName: string) => string>> = {
  consent: (projectName) => `Let ${projectName} use your wallet?`,
  revoke: (projectName) => `Take back what ${projectName} may do`,
  granted: (projectName) => `What ${projectName} may do with your wallets`,
}

const introOf = ({ asks, login }: Consent): Html =>
  asks === 'consent'
    ? html`
      <p><bdi>${login.projectName}</bdi> asks to use your wallet. Log in to see for what; nothing is allowed by that.</p>`
    : html`
      <p>Log in to see what <bdi>${login.projectName}</bdi> may do with your wallets.</p>`

export const consentPage = (input: Consent): string => {
  const { login, asks, proposal, policyId } = input
  const { projectName } = login
  return pageBehindLogin({
    login,
    asks,
    title: TITLES[asks](projectName),
    intro: introOf(input),
    attributes: [
      dataAttribute('proposal', proposal === null ? null : JSON.stringify(proposal)),
      dataAttribute('policy-id', policyId),
    ],
    views: [consent(projectName), granted(projectName), revoke(projectName), refused(projectName), done(projectName)],
  })
}
