// Passkeys (WebAuthn Level 3), by the browser's own JSON methods.

import type { CreationOptions, RequestOptions } from '../../users/passkey-schema.ts'
import type { Wire } from './wire.ts'
import { Told } from './words.ts'

/** Whether this browser has passkeys, and their JSON. */
export const knowsPasskeys = (): boolean =>
  'PublicKeyCredential' in window && 'parseRequestOptionsFromJSON' in PublicKeyCredential

const FAILURES: Readonly<Record<string, string>> = {
  NotAllowedError: 'No passkey was used: it was cancelled, took too long, or there is none for this page.',
  InvalidStateError: 'This device has a passkey of yours already.',
  SecurityError: 'Passkeys do not work at the address at which this page was opened.',
  NotSupportedError: 'This device has no way to keep such a passkey.',
  ConstraintError: 'This device does not check who uses it: set up a screen lock, a fingerprint or a PIN first.',
}

const told = (error: unknown): unknown => {
  const sentence = error instanceof DOMException ? FAILURES[error.name] : undefined
  return sentence === undefined ? error : new Told(sentence)
}

const jsonOf = (credential: Credential | null): object => {
  if (!(credential instanceof PublicKeyCredential)) throw new Told('This browser gave no passkey. Try again.')
  return credential.toJSON()
}

const ask = async (wire: Wire, more: CredentialRequestOptions): Promise<object> => {
  const { publicKey } = await wire<RequestOptions>('/users/login-with-discoverable-passkey', {
    ...(more.signal ? { signal: more.signal } : {}),
  })
  return jsonOf(
    await navigator.credentials.get({ ...more, publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey) }),
  )
}

/** Before the challenge is over, which is good for five minutes. */
const SUGGESTED_MS = 240_000

/** The suggestions of passkeys that wait at the e-mail field; they end before another ceremony begins. */
let suggestions: AbortController | null = null

export const endSuggestions = (): void => suggestions?.abort()

/** Asks the user for a passkey of this page. @returns AuthenticationResponseJSON. */
export const assertPasskey = async (wire: Wire): Promise<object> => {
  endSuggestions()
  return ask(wire, {}).catch((error: unknown) => {
    throw told(error)
  })
}

/**
 * Lets the browser suggest passkeys where the e-mail address is typed.
 * @returns AuthenticationResponseJSON, or null where there are no suggestions, or another way was chosen.
 */
export const suggestPasskey = async (wire: Wire): Promise<object | null> => {
  if (suggestions !== null || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return null
  suggestions = new AbortController()
  const timer = setTimeout(endSuggestions, SUGGESTED_MS)
  try {
    return await ask(wire, { mediation: 'conditional', signal: suggestions.signal })
  } catch {
    return null
  } finally {
    clearTimeout(timer)
    suggestions = null
  }
}

/** Makes a passkey for the user who is logged in. */
export const addPasskey = async (wire: Wire, token: string): Promise<void> => {
  endSuggestions()
  const { publicKey } = await wire<CreationOptions>('/users/passkey/begin-registration', { token })
  const created = await navigator.credentials
    .create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) })
    .catch((error: unknown) => {
      throw told(error)
    })
  await wire('/users/passkey/finish-registration', { token, body: jsonOf(created) })
}
