// A key of HashiCorp Vault's transit engine (or OpenBao's): type aes256-gcm96 or another one with associated data.
// https://developer.hashicorp.com/vault/api-docs/secret/transit#encrypt-data
//
// The identity is the associated data, and the context as well: a key that was made with `derived` takes its key for
// each value from the context, any other ignores it. Vault before 1.13 ignores associated data without an error; there
// only the tag of key-service.ts protects the identity. The ciphertext is Vault's `vault:v<version>:<base64>`; it is
// kept as bytes, as the same bytes can have several base64 texts.

import { readFileSync, statSync } from 'node:fs'
import { EnvelopeError, type RowIdentity } from '../../../platform/sealing/envelope.ts'
import {
  bindingOf,
  type KeyService,
  KeyServiceError,
  LIMITS,
  type Limits,
  rootKeyOf,
  type Trouble,
} from './key-service.ts'
import type { RootKey } from './root-key.ts'

const NAME = 'HashiCorp Vault'
const MARK = 4

export type VaultAccess = {
  /** The file is read for every call, because an agent may renew the token. */
  readonly token: { reveal(): string } | { readonly file: string }
  readonly namespace: string | null
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
const PATH = /^\/([A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*)\/([A-Za-z0-9_.-]+)$/
const NAMESPACE = /^\/?([A-Za-z0-9_.-]+(?:\/[A-Za-z0-9_.-]+)*)\/?$/
/** The characters that an HTTP header allows. Vault's own tokens have about a hundred. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/
const READABLE_BY_ALL = 0o007
const CIPHERTEXT = /^vault:v([1-9][0-9]{0,8}):([A-Za-z0-9+/]+={0,2})$/

const troubled = (trouble: Trouble, word?: string) => new KeyServiceError({ service: NAME, trouble, word })

const readTokenFile = (path: string): string => {
  try {
    const text = readFileSync(path, 'utf8')
    if ((statSync(path).mode & READABLE_BY_ALL) === 0) return text.trim()
  } catch (cause) {
    throw new Error('The file of VAULT_TOKEN_FILE cannot be read.', { cause })
  }
  throw new Error('The file of VAULT_TOKEN_FILE is open to all users: only its owner and its group may read it.')
}

/** @throws Error with a sentence that contains nothing of the token. */
const readToken = ({ token }: VaultAccess): string => {
  const text = 'file' in token ? readTokenFile(token.file) : token.reveal()
  if (!TOKEN.test(text)) throw new Error('VAULT_TOKEN_FILE or VAULT_TOKEN must hold a token of Vault and nothing else.')
  return text
}

/** Vault's messages for a value that does not decrypt (vault/sdk/helper/keysutil/policy.go). */
const UNDECRYPTABLE = /message authentication failed|^invalid ciphertext/
/** The same for a key that cannot be used in this way. */
const REFUSALS = [
  'encryption key not found',
  'disallowed by policy (too old)',
  'non-AEAD cipher suite',
  'not supported',
]

/** Some versions answer 500 to a wrong context: https://github.com/hashicorp/vault/issues/10842 */
const meaningOf = (status: number, messages: readonly string[]): Error => {
  if (messages.includes('invalid ciphertext: version is too new')) return new EnvelopeError('unknown key')
  if (messages.some((each) => UNDECRYPTABLE.test(each))) return new EnvelopeError('authentication failed')
  if (status === 403) return troubled('refused', 'permission denied')
  if (status === 429) return troubled('throttled')
  const word = REFUSALS.find((refusal) => messages.some((each) => each.includes(refusal)))
  if (word !== undefined) return troubled('refused', word)
  // 412: a standby that has not caught up yet.
  const mayPass = status >= 500 || status === 412
  return troubled(mayPass ? 'failing' : 'refused', `HTTP ${status}`)
}

type Json = { readonly [name: string]: unknown }

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const errorsOf = (answer: unknown): readonly string[] =>
  isJson(answer) && Array.isArray(answer.errors) ? answer.errors.filter((each) => typeof each === 'string') : []

const dataOf = (answer: unknown): Json => (isJson(answer) && isJson(answer.data) ? answer.data : {})

const base64Of = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

const bytesOf = (text: unknown): Uint8Array => {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  if (bytes.length === 0 || bytes.toString('base64') !== text) throw troubled('garbled')
  return bytes
}

type Place = { readonly origin: string; readonly mount: string; readonly keyName: string; readonly host: string }

const WRONG_PLACE =
  'ROOT_KEY must be vault-transit:https://host:port/mount/key, without user, query or fragment; plain http only to this machine.'

const placeOf = (text: string): Place => {
  const url = URL.canParse(text) ? new URL(text) : null
  const [, mount, keyName] = PATH.exec(url?.pathname ?? '') ?? []
  if (url === null || mount === undefined || keyName === undefined) throw new Error(WRONG_PLACE)
  const safe = url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.has(url.hostname))
  if (!safe || `${url.origin}${url.pathname}` !== url.href) throw new Error(WRONG_PLACE)
  return { origin: url.origin, mount, keyName, host: url.host }
}

type Call = { readonly verb: 'encrypt' | 'decrypt'; readonly body: Json; readonly signal: AbortSignal }

/** While the service runs, a token may be missing for a moment, until it is renewed. */
const tokenNow = (access: VaultAccess): string => {
  try {
    return readToken(access)
  } catch {
    throw troubled('failing', 'there is no token to ask it with')
  }
}

const createCall =
  (place: Place, access: VaultAccess) =>
  async (call: Call): Promise<Json> => {
    const headers = {
      'content-type': 'application/json',
      'x-vault-token': tokenNow(access),
      // A Vault agent in between may require it, against cross-site requests from a browser.
      'x-vault-request': 'true',
      ...(access.namespace === null ? {} : { 'x-vault-namespace': access.namespace }),
    }
    const { signal } = call
    const url = `${place.origin}/v1/${place.mount}/${call.verb}/${place.keyName}`
    // The token goes to the configured address and nowhere else.
    const options = { method: 'POST', headers, body: JSON.stringify(call.body), signal, redirect: 'manual' } as const
    const { status, text } = await fetch(url, options)
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch(() => {
        throw troubled('failing')
      })
    const answer = parseJson(text)
    if (status !== 200) throw meaningOf(status, errorsOf(answer))
    return dataOf(answer)
  }

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const boundTo = (identity: RowIdentity) => {
  const binding = base64Of(bindingOf(identity))
  return { associated_data: binding, context: binding }
}

const createService = (place: Place, access: VaultAccess): KeyService => {
  const call = createCall(place, access)
  const path = [access.namespace, place.mount, place.keyName].filter((each) => each !== null).join('/')
  return {
    name: NAME,
    id: `vault-transit:${place.host}/${path}`,
    mark: MARK,
    encrypt: async ({ key, identity, signal }) => {
      const data = await call({ verb: 'encrypt', body: { plaintext: base64Of(key), ...boundTo(identity) }, signal })
      const [, version, base64] = CIPHERTEXT.exec(String(data.ciphertext)) ?? []
      if (version === undefined) throw troubled('garbled')
      return { ciphertext: bytesOf(base64), keyVersion: Number(version) }
    },
    decrypt: async ({ ciphertext, keyVersion, identity, signal }) => {
      const body = { ciphertext: `vault:v${keyVersion}:${base64Of(ciphertext)}`, ...boundTo(identity) }
      return bytesOf((await call({ verb: 'decrypt', body, signal })).plaintext)
    },
  }
}

/** `place`: `https://host:port/mount/key`. It asks nothing yet. @throws Error if a setting or the token is wrong. */
export const openVaultTransitKey = async (input: {
  readonly place: string
  readonly access: VaultAccess | null
  readonly limits?: Limits
}): Promise<RootKey> => {
  const place = placeOf(input.place)
  if (input.access === null) throw new Error('ROOT_KEY is a key of Vault: VAULT_TOKEN_FILE or VAULT_TOKEN must be set.')
  const { token, namespace: given } = input.access
  const namespace = given === null ? null : (NAMESPACE.exec(given)?.[1] ?? null)
  if (given !== null && namespace === null) throw new Error('VAULT_NAMESPACE must be the path of a namespace.')
  const access = { token, namespace }
  readToken(access)
  return rootKeyOf(createService(place, access), input.limits ?? LIMITS)
}
