// The login page, and the frame of every page on which a user logs in first. It contains all views, hidden;
// client/main.ts shows one at a time.

import { type Html, html, page } from '../../platform/pages/page.ts'
import { credentialViews, granted, revoke } from './credential-views.ts'
import { PROVIDERS, type Provider } from './oauth-page.ts'
import type { Login } from './open.ts'

const mailWays = html`
      <form id="email-form" novalidate>
        <label for="email">E-mail address</label>
        <input id="email" name="email" type="email" autocomplete="email webauthn" required maxlength="254"
          autocapitalize="none" spellcheck="false">
        <button class="main">Mail me a code</button>
        <button class="plain" type="button" id="link-start">Mail me a link instead</button>
      </form>
      <p class="or" aria-hidden="true">or</p>`

const issuerWays = (issuers: readonly string[]): readonly Html[] =>
  issuers.map(
    (name) => html`
      <button type="button" id="issuer-${name}" data-issuer="${name}">Continue with ${name}</button>`,
  )

const ways = ({ projectName, hasMail, issuers }: Login, intro: Html | null): Html => html`
    <section id="ways" aria-labelledby="ways-title" hidden>
      <h1 id="ways-title" tabindex="-1">Log in to <bdi>${projectName}</bdi></h1>${intro}${hasMail ? mailWays : null}${issuerWays(issuers)}
      <button type="button" id="passkey-start" hidden>Use a passkey</button>
      <button type="button" id="wallet-start" hidden>Use a wallet</button>
      <button type="button" id="device-start">Use another device</button>
      <p class="hint" id="wallet-none" hidden>To log in with a wallet, open this page in a browser that has one.</p>
      <button class="plain" type="button" id="ways-no" hidden>Go back</button>
    </section>`

const code = html`
    <section id="code" aria-labelledby="code-title" hidden>
      <h1 id="code-title" tabindex="-1">Enter the code</h1>
      <p id="code-told">We mailed six digits to <strong id="code-email"></strong>. They are good for ten minutes.</p>
      <form id="code-form" novalidate>
        <label for="code-field">Code</label>
        <input class="digits" id="code-field" data-focus inputmode="numeric" autocomplete="one-time-code" required>
        <button class="main">Log in</button>
        <button type="button" id="code-again">Mail me another code</button>
        <button class="plain" type="button" id="code-back">Log in another way</button>
      </form>
    </section>`

const link = html`
    <section id="link" aria-labelledby="link-title" hidden>
      <h1 id="link-title" tabindex="-1">Open the link in your mail</h1>
      <p>We mailed a link to <strong id="link-email"></strong>. Open it on any device, and confirm there that it is you: this
        page then goes on by itself.</p>
      <button class="plain" type="button" id="link-back">Log in another way</button>
    </section>`

const device = html`
    <section id="device" aria-labelledby="device-title" hidden>
      <h1 id="device-title" tabindex="-1">Use another device</h1>
      <p>On a device where you are logged in, choose “Log in another device” and enter this code. It is good for five
        minutes; give it to nobody else.</p>
      <output class="key" id="device-code" aria-label="Code for the other device"></output>
      <button type="button" id="device-copy">Copy the code</button>
      <button class="plain" type="button" id="device-back">Log in another way</button>
    </section>`

const wallet = html`
    <section id="wallet" aria-labelledby="wallet-title" hidden>
      <h1 id="wallet-title" tabindex="-1">Choose a wallet</h1>
      <p>This browser has several. The one that you choose asks you to sign.</p>
      <div id="wallets"></div>
      <button class="plain" type="button" id="wallet-back">Log in another way</button>
    </section>`

const offer = html`
    <section id="offer" aria-labelledby="offer-title" hidden>
      <h1 id="offer-title" tabindex="-1">Log in faster next time?</h1>
      <p>With a passkey you log in by your fingerprint, your face or your screen lock. There is nothing to remember, and nothing
        that could be taken from you by a mail.</p>
      <button class="main" type="button" id="offer-yes">Add a passkey</button>
      <button class="plain" type="button" id="offer-no">Not now</button>
    </section>`

const leaving = (projectName: string): Html => html`
    <section id="leaving" aria-labelledby="leaving-title" hidden>
      <h1 id="leaving-title" tabindex="-1">You are logged in</h1>
      <p>Going back to ${projectName}…</p>
      <button class="main" type="button" id="leaving-again" hidden>Try again</button>
    </section>`

const account = (projectName: string): Html => html`
    <section id="account" aria-labelledby="account-title" hidden>
      <h1 id="account-title" tabindex="-1">You are logged in</h1>
      <p class="quiet">To ${projectName}<span id="account-as" hidden> as <strong id="account-name"></strong></span></p>
      <h2 id="passkeys-title" tabindex="-1">Passkeys</h2>
      <p class="quiet" id="passkeys-none" hidden>None yet. With one you log in by your fingerprint, your face or your screen
        lock.</p>
      <ul id="passkeys" aria-labelledby="passkeys-title"></ul>
      <button type="button" id="passkey-add" hidden>Add a passkey</button>
      <h2 id="sessions-title" tabindex="-1">Where you are logged in</h2>
      <ul id="sessions" aria-labelledby="sessions-title"></ul>
      <button type="button" id="sessions-end" hidden>Log out everywhere else</button>
      <h2>Log in another device</h2>
      <form id="challenge-form" novalidate>
        <label for="challenge-field">Code that the other device shows</label>
        <input id="challenge-field" required maxlength="128" autocomplete="off" autocapitalize="none" spellcheck="false">
        <button>Who asks?</button>
      </form>
      <h2>Your wallets</h2>
      <button type="button" id="credentials-show">What opens them</button>
      <button type="button" id="granted-show"><span>What <bdi>${projectName}</bdi> may do with them</span></button>
      <button type="button" id="logout">Log out</button>
    </section>`

const ask = (projectName: string): Html => html`
    <section id="ask" aria-labelledby="ask-title" hidden>
      <h1 id="ask-title" tabindex="-1">Is this you?</h1>
      <p>A device asks to be logged in to <bdi>${projectName}</bdi> as you:</p>
      <dl>
        <dt>Device</dt><dd id="ask-device"></dd>
        <dt>Address</dt><dd id="ask-address"></dd>
        <dt>Asked at</dt><dd id="ask-time"></dd>
      </dl>
      <p>Say yes only if you have that device before you and began this yourself. If somebody sent you the code, say no: they
        would be logged in as you.</p>
      <button class="main" type="button" id="ask-yes">Yes, log it in</button>
      <button type="button" id="ask-no">No</button>
    </section>`

export const done = (projectName: string): Html => html`
    <section id="done" aria-labelledby="done-title" hidden>
      <h1 id="done-title" tabindex="-1"></h1>
      <p id="done-going" hidden>Going back to <bdi>${projectName}</bdi>…</p>
      <p id="done-close" hidden>You can close this page.</p>
    </section>`

/** A data attribute of the page's main element; none for null. */
export const dataAttribute = (name: string, value: string | null): Html =>
  value === null ? html`` : html` data-${name}="${value}"`

/** A page on which the user logs in first. @param input.asks what the page does then, as client/page.ts reads it. */
export const pageBehindLogin = (input: {
  readonly login: Login
  readonly title: string
  readonly asks: 'login' | 'consent' | 'granted' | 'revoke' | 'approvals' | 'credentials'
  readonly intro: Html | null
  readonly attributes: readonly Html[]
  readonly views: readonly Html[]
}): string => {
  const { login, title, asks, intro, attributes, views } = input
  return page({
    root: login.root,
    title,
    head: html`
    <script type="module" src="${login.root}/login/client.js"></script>`,
    body: html`<main id="main" data-root="${login.root}" data-project-id="${login.projectId}" data-project-name="${login.projectName}"
      data-chain-ids="${login.chainIds.join(' ')}" data-asks="${asks}"${dataAttribute('rp-id', login.rpId)}${dataAttribute('return-to', login.returnTo)}${dataAttribute('state', login.state)}${attributes}>
    <noscript><p>Logging in needs JavaScript, which is turned off in this browser.</p></noscript>${ways(login, intro)}${code}${link}${device}${wallet}${views}
    <p id="problem" role="alert"></p>
    <p id="status" role="status"></p>
  </main>`,
  })
}

const introOf = (insteadOf: Provider | null): Html | null =>
  insteadOf &&
  html`
      <p class="quiet">There is no login with ${PROVIDERS[insteadOf]} here. Log in another way, and we ask you whether the app that
        you came from may go on.</p>`

type LoginRequest = Login & {
  /** The hash of the app's secret; null if the user stays on the page. */
  readonly codeChallenge: string | null
  /** The company with which the user wanted to log in. */
  readonly insteadOf: Provider | null
}

export const loginPage = (login: LoginRequest): string => {
  const { projectName } = login
  return pageBehindLogin({
    login,
    title: `Log in to ${projectName}`,
    asks: 'login',
    intro: introOf(login.insteadOf),
    attributes: [dataAttribute('code-challenge', login.codeChallenge)],
    views: [
      offer,
      leaving(projectName),
      account(projectName),
      ask(projectName),
      granted(projectName),
      revoke(projectName),
      ...credentialViews(projectName),
    ],
  })
}

/** The page for an invalid link. @param input.sentence for the developer of the app that links here. */
export const refusedPage = ({ title, advice, sentence }: Readonly<Record<'title' | 'advice' | 'sentence', string>>) =>
  page({
    title,
    body: html`<main>
    <h1>${title}</h1>
    <p>The app that sent you here made a mistake. ${advice}</p>
    <p class="hint">For its developers: ${sentence}</p>
  </main>`,
  })

/** The user comes back from an issuer with a login that another browser began, that is over, or that took too long. */
export const endedPage = (root: string): string =>
  page({
    root,
    title: 'This login cannot go on',
    body: html`<main>
    <h1>This login cannot go on</h1>
    <p>It was not begun in this browser, was ended already, or took too long. Nobody is logged in by it.</p>
    <p>Go back to the app, and log in from there again. If you followed a link that somebody sent you, do nothing.</p>
  </main>`,
  })
