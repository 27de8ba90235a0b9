// The views for what opens a user's wallets: the list, and changing it. client/credentials.ts shows them.

import { type Html, html } from '../../platform/pages/page.ts'

// The views for what a user has granted: the list, and taking something back. The words are filled in by
// client/words-view.ts.

/** client/credential.ts reads this field. With `one-time-code` browsers do not offer to keep it. */
export const credentialField = (id: string, pinLabel = 'PIN of your wallet'): Html => html`
        <label for="${id}" id="${id}-label">${pinLabel}</label>
        <input class="digits" id="${id}" type="password" inputmode="numeric" autocomplete="one-time-code" maxlength="6"
          autocapitalize="characters" spellcheck="false" data-secret required>
        <button class="plain" type="button" id="${id}-other">Use your recovery code</button>
        <button class="plain" type="button" id="${id}-passkey" hidden>Use a passkey</button>`

export const granted = (projectName: string): Html => html`
    <section id="granted" aria-labelledby="granted-title" hidden>
      <h1 id="granted-title" tabindex="-1">What <bdi>${projectName}</bdi> may do with your wallets</h1>
      <p class="quiet" id="granted-none" hidden>Nothing without asking you.</p>
      <ul id="granted-list" aria-labelledby="granted-title"></ul>
      <button type="button" id="granted-more" hidden>Show more</button>
      <button class="plain" type="button" id="granted-back" hidden>Back</button>
    </section>`

export const revoke = (projectName: string): Html => html`
    <section id="revoke" aria-labelledby="revoke-title" hidden>
      <h1 id="revoke-title" tabindex="-1">Take this back?</h1>
      <p>Then <bdi>${projectName}</bdi> may not do this any more. What it has sent before stays sent.</p>
      <div class="words" id="revoke-words"></div>
      <form id="revoke-form" novalidate>${credentialField('revoke-pin')}
        <button class="main">Take it back</button>
        <button type="button" id="revoke-no">Keep it</button>
      </form>
    </section>`

const list = (projectName: string): Html => html`
    <section id="credentials" aria-labelledby="credentials-title" hidden>
      <h1 id="credentials-title" tabindex="-1">What opens your wallets</h1>
      <p>Each of these opens your wallets at <bdi>${projectName}</bdi>. Tell them to nobody: neither <bdi>${projectName}</bdi> nor we
        ask for them by mail or phone.</p>
      <ul id="secrets" aria-labelledby="credentials-title"></ul>
      <p class="warning" id="secrets-few" hidden>Only the PIN opens your wallets. If you forget it, nobody can open them any more, not
        even <bdi>${projectName}</bdi>. So make a recovery code now.</p>
      <button type="button" id="code-make"></button>
      <button type="button" id="key-add" hidden>Let a passkey open them</button>
      <button type="button" id="pin-change">Change the PIN</button>
      <button type="button" id="pin-lost">I do not know my PIN</button>
      <button class="plain" type="button" id="credentials-back" hidden>Back</button>
    </section>`

const none = (projectName: string): Html => html`
    <section id="credentials-none" aria-labelledby="credentials-none-title" hidden>
      <h1 id="credentials-none-title" tabindex="-1">You have no wallet with a PIN</h1>
      <p>There is none of yours at <bdi>${projectName}</bdi>, so there is nothing to change here.</p>
      <button class="plain" type="button" id="credentials-none-back" hidden>Back</button>
    </section>`

const prove = html`
    <section id="prove" aria-labelledby="prove-title" hidden>
      <h1 id="prove-title" tabindex="-1"></h1>
      <p id="prove-text"></p>
      <form id="prove-form" novalidate>${credentialField('prove-pin')}
        <button class="main" id="prove-go"></button>
        <button type="button" id="prove-no">Do not change anything</button>
      </form>
    </section>`

const newPinField = (id: string, label: string): Html => html`
        <label for="${id}">${label}</label>
        <input class="digits" id="${id}" type="password" inputmode="numeric" autocomplete="one-time-code" maxlength="6"
          data-secret required>`

const newPin = html`
    <section id="new-pin" aria-labelledby="new-pin-title" hidden>
      <h1 id="new-pin-title" tabindex="-1">Set a new PIN</h1>
      <p>It has six digits: no date, and nothing that others would try first. With it your login ends on all other devices.</p>
      <form id="new-pin-form" novalidate>${newPinField('new-pin-first', 'New PIN')}${newPinField('new-pin-again', 'New PIN again')}${credentialField('new-pin-old', 'PIN until now')}
        <button class="main">Set the new PIN</button>
        <button type="button" id="new-pin-no">Do not change anything</button>
      </form>
    </section>`

const shown = (projectName: string): Html => html`
    <section id="code-shown" aria-labelledby="code-shown-title" hidden>
      <h1 id="code-shown-title" tabindex="-1">Your recovery code</h1>
      <p>It opens your wallets at <bdi>${projectName}</bdi>. Write it down or print it, and keep it where only you find it. Whoever
        has it can use your wallets. We do not show it again.</p>
      <output class="key" id="recovery-code" aria-label="Recovery code" data-secret></output>
      <button class="unprinted" type="button" id="code-copy">Copy it</button>
      <button class="unprinted" type="button" id="code-print">Print it</button>
      <button class="main unprinted" type="button" id="code-kept">I have it</button>
    </section>`

const check = html`
    <section id="code-check" aria-labelledby="code-check-title" hidden>
      <h1 id="code-check-title" tabindex="-1">Is it written down well?</h1>
      <p>The recovery code has eight groups of four. Look at what you have kept.</p>
      <form id="code-check-form" novalidate>
        <label for="code-check-field" id="code-check-label"></label>
        <input id="code-check-field" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="64" data-secret
          required>
        <button class="main">Check it</button>
        <button type="button" id="code-look">Show the code again</button>
      </form>
    </section>`

export const credentialViews = (projectName: string): readonly Html[] => [
  list(projectName),
  none(projectName),
  prove,
  newPin,
  shown(projectName),
  check,
]
