// The login methods. Each ends with one proof for verify-login.

import type { Session, SessionChallenge } from '../../../identity/users/schema.ts'
import { bindingOf, byIssuer, newVerifier } from './issuers.ts'
import type { Page } from './page.ts'
import { assertPasskey, knowsPasskeys, suggestPasskey } from './passkeys.ts'
import {
  button,
  copyCode,
  element,
  input,
  onPress,
  onSubmit,
  pause,
  setText,
  show,
  showProblem,
  showStatus,
  toggle,
  typedCode,
} from './views.ts'
import { addressOf, signIn, type Wallet, wallets, watchWallets } from './wallet.ts'
import { isPassing, messageFor, Refused, UserMessage } from './wire.ts'

const POLL_SECONDS = 1

export const verify = async (page: Page, proof: object): Promise<void> =>
  page.enter(await page.wire<Session>('/users/verify-login', { body: proof }))

const typedAddress = (): string => {
  const field = input('email')
  const address = field.value.trim()
  if (address !== '' && field.validity.valid) return address
  throw new UserMessage('Type your e-mail address, like name@example.com.')
}

/** Asks until there is an answer. @returns null if the user left the view. */
const untilAnswered = async <Answer>(ask: () => Promise<Answer>, signal: AbortSignal): Promise<Answer | null> => {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!signal.aborted && !isPassing(error)) throw error
      await pause(error instanceof Refused ? (error.retryAfterSeconds ?? POLL_SECONDS) : POLL_SECONDS, signal)
      if (signal.aborted) return null
    }
  }
}

/** Polls a challenge each second until it is completed. @returns false if it expired or the user left the view. */
const isCompleted = async (page: Page, code: string, signal: AbortSignal): Promise<boolean> => {
  const path = `/users/session-challenge?${new URLSearchParams({ code })}`
  // The loop ends because challenges expire.
  for (;;) {
    await pause(POLL_SECONDS, signal)
    if (signal.aborted) return false
    const look = () => page.wire<SessionChallenge>(path, { method: 'GET', signal })
    const challenge = await untilAnswered(look, signal)
    if (challenge === null || challenge.expired) return false
    if (challenge.completed) return true
  }
}

const waitFor = (
  page: Page,
  { code, ...secret }: { readonly code: string; readonly code_verifier?: string },
  signal: AbortSignal,
): void => {
  const wait = async (): Promise<void> => {
    if (await isCompleted(page, code, signal)) {
      const body = { session_challenge_code: code, ...secret }
      const session = await untilAnswered(() => page.wire<Session>('/users/verify-login', { body }), signal)
      if (session !== null) await page.enter(session)
    } else if (!signal.aborted) {
      showStatus('')
      showProblem('Nobody confirmed this in time. Start again.')
    }
  }
  wait().catch((error: unknown) => {
    if (signal.aborted) return
    showStatus('')
    showProblem(messageFor(error))
  })
}

const byCode = (page: Page): void => {
  let userId = ''
  const mail = async (): Promise<void> => {
    const email = typedAddress()
    userId = (await page.wire<{ user_id: string }>('/users/login-with-email', { body: { email } })).user_id
    setText('code-email', email)
    input('code-field').value = ''
    show('code')
  }
  onSubmit('email-form', 'email', mail)
  onPress('code-again', async () => {
    await mail()
    showStatus('Another code is on its way; the one before is not good any more.')
  })
  onSubmit('code-form', 'code-field', async (typed) => {
    const code = typedCode(typed)
    if (!/^[0-9]{6}$/.test(code)) throw new UserMessage('The code has six digits.')
    await verify(page, { user_id: userId, verification_code: code })
  })
}

const byLink = (page: Page): void => {
  onPress('link-start', async () => {
    let email: string
    try {
      email = typedAddress()
    } catch (error) {
      return showProblem(messageFor(error), input('email'))
    }
    const { code } = await page.wire<SessionChallenge>('/users/login-with-magic-link', { body: { email } })
    setText('link-email', email)
    waitFor(page, { code }, show('link'))
    showStatus('Waiting for you to open the link…')
  })
}

const byDevice = (page: Page): void => {
  onPress('device-start', async () => {
    // A stranger who sees the code on this screen lacks the secret.
    const { verifier, codeChallenge } = await newVerifier()
    const body = bindingOf(codeChallenge)
    const { code } = await page.wire<SessionChallenge>('/users/create-session-challenge', { body })
    setText('device-code', code)
    waitFor(page, { code, code_verifier: verifier }, show('device'))
    showStatus('Waiting for your other device…')
  })
  onPress('device-copy', () => {
    const code = document.getElementById('device-code')?.textContent ?? ''
    return copyCode(code, 'The code is copied. Waiting for your other device…')
  })
}

const byPasskey = (page: Page): void => {
  const isOffered = page.rpId !== null && knowsPasskeys()
  toggle('passkey-start', isOffered)
  if (!isOffered) return
  const enter = (assertion: object) => verify(page, { passkey_credential_assertion_response: assertion })
  onPress('passkey-start', async () => enter(await assertPasskey(page)))
  document.getElementById('email')?.addEventListener('focus', () => {
    suggestPasskey(page)
      .then((assertion) => (assertion === null ? undefined : enter(assertion)))
      .catch((error: unknown) => showProblem(messageFor(error)))
  })
}

const byWallet = (page: Page): void => {
  watchWallets(() => {
    const isThere = wallets().length > 0
    toggle('wallet-start', isThere)
    toggle('wallet-none', !isThere)
  })
  const logIn = async ({ provider }: Wallet): Promise<void> => {
    const address = await addressOf(provider)
    const { nonce } = await page.wire<{ nonce: string }>('/users/login-with-wallet', {
      body: { sign_in_wallet: address },
    })
    showStatus('Your wallet asks you to sign.')
    await verify(page, await signIn(provider, { ...page, address, nonce }))
  }
  onPress('wallet-start', async () => {
    const [first, ...others] = wallets()
    if (first === undefined) return
    if (others.length === 0) return logIn(first)
    const choices = [first, ...others].map((wallet) => button({ text: wallet.name, task: () => logIn(wallet) }))
    element('wallets', HTMLElement).replaceChildren(...choices)
    show('wallet')
  })
}

export const offerWays = (page: Page, input: { readonly challengeOf: () => string | null }): void => {
  if (document.getElementById('email-form') !== null) {
    byCode(page)
    byLink(page)
  }
  byDevice(page)
  byPasskey(page)
  byWallet(page)
  byIssuer(page, input.challengeOf)
  for (const id of ['code-back', 'link-back', 'device-back', 'wallet-back']) onPress(id, () => void show('ways'))
  show('ways')
}
