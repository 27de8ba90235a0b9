// The views for what a user has granted: the list, and taking something back. The words are filled in by client/words-view.ts.

import { type Html, html } from '../../platform/pages/page.ts'

/**
 * The field for what opens the user's wallets, with other ways; client/credential.ts reads it. With `one-time-code` browsers do
 * not offer to keep it.
 */
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
