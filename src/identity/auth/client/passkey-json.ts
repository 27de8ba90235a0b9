// Reads a passkey's answer as WebAuthn's JSON (Level 3 §5.1.8 and §5.1.9), field by field. A password manager may
// answer in place of the browser with an object of another class. There `instanceof` says nothing, and `toJSON` and
// inherited getters throw.

import type { AssertionJson, RegistrationJson } from '../webauthn.ts'

export const base64urlOf = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

/** The field's value, or what its method returns; undefined if the object has none of its own. */
const read = (from: unknown, field: string): unknown => {
  try {
    const value: unknown = Reflect.get(Object(from), field)
    return typeof value === 'function' ? value.call(from) : value
  } catch {
    return undefined
  }
}

/** A buffer of an extension can be of another realm, whose classes are not this page's. */
const isBuffer = (value: unknown): value is ArrayBuffer =>
  Object.prototype.toString.call(value) === '[object ArrayBuffer]'

const encode = (value: unknown): string | null => {
  if (ArrayBuffer.isView(value)) return base64urlOf(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  return isBuffer(value) ? base64urlOf(new Uint8Array(value)) : null
}

export const registrationJson = (
  credential: unknown,
): (RegistrationJson & { readonly response: { readonly transports: readonly string[] } }) | null => {
  const response = read(credential, 'response')
  const id = encode(read(credential, 'rawId'))
  const clientDataJSON = encode(read(response, 'clientDataJSON'))
  const attestationObject = encode(read(response, 'attestationObject'))
  if (id === null || clientDataJSON === null || attestationObject === null) return null
  const transports: unknown = read(response, 'getTransports')
  const words = Array.isArray(transports) ? transports.filter((each) => typeof each === 'string') : []
  return { id, rawId: id, type: 'public-key', response: { clientDataJSON, attestationObject, transports: words } }
}

export const assertionJson = (credential: unknown): AssertionJson | null => {
  const response = read(credential, 'response')
  const id = encode(read(credential, 'rawId'))
  const clientDataJSON = encode(read(response, 'clientDataJSON'))
  const authenticatorData = encode(read(response, 'authenticatorData'))
  const signature = encode(read(response, 'signature'))
  if (id === null || clientDataJSON === null || authenticatorData === null || signature === null) return null
  const userHandle = encode(read(response, 'userHandle'))
  const user = userHandle === null ? {} : { userHandle }
  return { id, rawId: id, type: 'public-key', response: { clientDataJSON, authenticatorData, signature, ...user } }
}

/** What the passkey computed (§10.1.4, `prf`), in base64url; null if it did not. */
export const computedSecret = (credential: unknown): string | null => {
  const results = read(read(read(credential, 'getClientExtensionResults'), 'prf'), 'results')
  return encode(read(results, 'first'))
}
