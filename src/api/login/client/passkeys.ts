// Passkeys (WebAuthn Level 3). The browser reads the options from JSON; what it answers is read by passkey-json.ts.

import {
  assertionJson,
  base64urlOf,
  computedSecret,
  registrationJson,
} from '../../../identity/auth/client/passkey-json.ts'
import type { CreationOptions, RequestOptions } from '../../../identity/users/passkey-schema.ts'
import type { DecisionOptions } from '../../../signing/approvals/schema.ts'
import { callAsUser, hasFlag, type Page, setFlag } from './page.ts'
import { UserMessage, type Wire } from './wire.ts'

type Where = Pick<Page, 'wire' | 'projectId'>

/** Whether this browser supports passkeys and their JSON methods. */
export const knowsPasskeys = (): boolean =>
  'PublicKeyCredential' in window && 'parseRequestOptionsFromJSON' in PublicKeyCredential

const FAILURES: Readonly<Record<string, string>> = {
  NotAllowedError: 'No passkey was used: you cancelled, it took too long, or this page has none.',
  InvalidStateError: 'This device has a passkey of yours already.',
  SecurityError: 'Passkeys do not work at the address at which this page was opened.',
  NotSupportedError: 'This device has no way to keep such a passkey.',
  ConstraintError: 'This device does not check who uses it: set up a screen lock, a fingerprint or a PIN first.',
}

/** The errors of password managers have the same names, and may be of another class. */
const readableError = (error: unknown): unknown => {
  const sentence = FAILURES[String(Object(error).name)]
  return sentence === undefined ? error : new UserMessage(sentence)
}

const readable = <Answer>(asked: Promise<Answer>): Promise<Answer> =>
  asked.catch((error: unknown) => {
    throw readableError(error)
  })

const requireAnswer = <Json>(json: Json | null): Json => {
  if (json === null) throw new UserMessage('This browser gave no passkey. Try again.')
  return json
}

const ask = async (wire: Wire, more: CredentialRequestOptions): Promise<object> => {
  const { publicKey } = await wire<RequestOptions>('/users/login-with-discoverable-passkey', {
    ...(more.signal ? { signal: more.signal } : {}),
  })
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey)
  return requireAnswer(assertionJson(await navigator.credentials.get({ ...more, publicKey: options })))
}

/** Asks the user for one of the passkeys that the options name. @returns AuthenticationResponseJSON. */
export const assertWith = async (options: DecisionOptions['publicKey']): Promise<object> => {
  endSuggestions()
  if (!knowsPasskeys()) throw new UserMessage('This browser knows no passkeys: open this page in another one.')
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  return requireAnswer(assertionJson(await readable(navigator.credentials.get({ publicKey }))))
}

type Computed = {
  readonly passkeyId: string
  /** The handle of the passkey's user; undefined if the passkey does not say it. */
  readonly userHandle: string | undefined
  /** 32 bytes in base64url; null for a passkey that cannot compute one. */
  readonly secret: string | null
}

/** The secret that a passkey computes for a project's wallets (WebAuthn Level 3 §10.1.4, `prf`; docs/users.md). */
const compute = async (input: { readonly projectId: string; readonly rpId: string }): Promise<Computed> => {
  endSuggestions()
  const name = new TextEncoder().encode(`strongroom user_secret ${input.projectId}`)
  const first = await crypto.subtle.digest('SHA-256', name)
  const challenge = crypto.getRandomValues(new Uint8Array(32))
  const extensions = { prf: { eval: { first } } }
  const publicKey = { challenge, rpId: input.rpId, userVerification: 'required', extensions } as const
  const credential = await readable(navigator.credentials.get({ publicKey }))
  const { id: passkeyId, response } = requireAnswer(assertionJson(credential))
  return { passkeyId, userHandle: response.userHandle, secret: computedSecret(credential) }
}

export const passkeySecret = async (input: Parameters<typeof compute>[0]): Promise<string> => {
  const { secret } = await compute(input)
  if (secret === null) throw new UserMessage('This passkey cannot open wallets. Use the PIN or your recovery code.')
  return secret
}

/** The user handle of our passkeys: the 16 bytes of the user's id, in base64url. */
const handleOf = (userId: string): string =>
  base64urlOf(Uint8Array.from(userId.replaceAll('-', '').match(/../g) ?? [], (hex) => Number.parseInt(hex, 16)))

/** Takes only a passkey of this user: other users may have passkeys on this device. */
export const ownPasskeySecret = async (
  input: Parameters<typeof compute>[0] & { readonly userId: string },
): Promise<{ readonly passkey_id: string; readonly passkey_secret: string }> => {
  const { passkeyId, userHandle, secret } = await compute(input)
  if (userHandle !== handleOf(input.userId))
    throw new UserMessage('That passkey belongs to somebody else’s login. Choose one of yours.')
  if (secret === null)
    throw new UserMessage('This passkey cannot open wallets: this device or this browser does not support it.')
  return { passkey_id: passkeyId, passkey_secret: secret }
}

/** Shorter than the five minutes for which a challenge is valid. */
const SUGGESTED_MS = 240_000

/** The pending passkey suggestions at the e-mail field. Abort them before another ceremony begins. */
let suggestions: AbortController | null = null

export const endSuggestions = (): void => suggestions?.abort()

/** Asks the user for a passkey of this page. @returns AuthenticationResponseJSON. */
export const assertPasskey = async ({ wire, projectId }: Where): Promise<object> => {
  endSuggestions()
  const assertion = await readable(ask(wire, {}))
  setFlag(projectId, 'has a passkey here')
  return assertion
}

/**
 * Lets the browser suggest passkeys at the e-mail field if one was used here before: each call begins a login, and
 * logins are limited.
 * @returns AuthenticationResponseJSON, or null without suggestions or if the user chose another way.
 */
export const suggestPasskey = async ({ wire, projectId }: Where): Promise<object | null> => {
  if (suggestions !== null || !hasFlag(projectId, 'has a passkey here')) return null
  suggestions = new AbortController()
  const { signal } = suggestions
  const timer = setTimeout(endSuggestions, SUGGESTED_MS)
  try {
    if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return null
    return await ask(wire, { mediation: 'conditional', signal })
  } catch (error) {
    // The user has chosen a passkey, and it cannot be read. Other errors are of a suggestion that no user has taken.
    if (error instanceof UserMessage) throw error
    return null
  } finally {
    clearTimeout(timer)
    suggestions = null
  }
}

export const addPasskey = async (page: Where): Promise<void> => {
  endSuggestions()
  const { publicKey } = await callAsUser<CreationOptions>(page, '/users/passkey/begin-registration')
  const options = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey)
  // Some authenticators can compute a secret later only if this is asked for now.
  const extensions = { ...options.extensions, prf: {} }
  const created = await readable(navigator.credentials.create({ publicKey: { ...options, extensions } }))
  const body = requireAnswer(registrationJson(created))
  await callAsUser(page, '/users/passkey/finish-registration', { body })
  setFlag(page.projectId, 'has a passkey here')
}
