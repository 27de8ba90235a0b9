// Passkeys (WebAuthn Level 3), by the browser's own JSON methods.

import type { CreationOptions, RequestOptions } from '../../users/passkey-schema.ts'
import { remember, remembers } from './memory.ts'
import type { Page } from './page.ts'
import type { Wire } from './wire.ts'
import { Told } from './words.ts'

type Where = Pick<Page, 'wire' | 'projectId'>

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
export const assertPasskey = async ({ wire, projectId }: Where): Promise<object> => {
  endSuggestions()
  const assertion = await ask(wire, {}).catch((error: unknown) => {
    throw told(error)
  })
  remember(projectId, 'has a passkey here')
  return assertion
}

/**
 * Lets the browser suggest passkeys where the e-mail address is typed. Only where one was used before: each time begins a
 * login, of which an address has a limited number, and most who type an e-mail address have no passkey.
 * @returns AuthenticationResponseJSON, or null where there are no suggestions, or another way was chosen.
 */
export const suggestPasskey = async ({ wire, projectId }: Where): Promise<object | null> => {
  if (suggestions !== null || !remembers(projectId, 'has a passkey here')) return null
  suggestions = new AbortController()
  const { signal } = suggestions
  const timer = setTimeout(endSuggestions, SUGGESTED_MS)
  try {
    if (!(await PublicKeyCredential.isConditionalMediationAvailable?.())) return null
    return await ask(wire, { mediation: 'conditional', signal })
  } catch {
    return null
  } finally {
    clearTimeout(timer)
    suggestions = null
  }
}

/** Makes a passkey for the user who is logged in. */
export const addPasskey = async ({ wire, projectId }: Where, token: string): Promise<void> => {
  endSuggestions()
  const { publicKey } = await wire<CreationOptions>('/users/passkey/begin-registration', { token })
  const created = await navigator.credentials
    .create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) })
    .catch((error: unknown) => {
      throw told(error)
    })
  await wire('/users/passkey/finish-registration', { token, body: jsonOf(created) })
  remember(projectId, 'has a passkey here')
}
