// HashiCorp Vault's transit engine over HTTP. Where each shape comes from:
// - paths, fields and answers: https://developer.hashicorp.com/vault/api-docs/secret/transit#encrypt-data
// - what it does, and its error texts: the engine's source as OpenBao carries it (path_encrypt.go, path_decrypt.go,
//   sdk/helper/keysutil/policy.go): `vault:v1:` and base64 of nonce, ciphertext and tag; the context is ignored unless
//   the key is derived, and then required; version 0 is read as 1; a wrong context is 400 "cipher: message
//   authentication failed" (500 in some versions: https://github.com/hashicorp/vault/issues/10842)
// - associated data exists since 1.13 (https://github.com/hashicorp/vault/pull/17638); before, it is dropped unread
// - 403 for a wrong token or policy, 429 for a quota, 503 where it is sealed: sdk/logical/response_util.go
// - X-Vault-Token, X-Vault-Namespace, X-Vault-Request: https://developer.hashicorp.com/vault/api-docs

import { createHmac } from 'node:crypto'
import { openVaultTransitKey } from '../../../src/vault/rooms/root/vault-transit.ts'
import { json, serve, type TestService, VersionedKey } from './service.ts'

export const VAULT_TOKEN = 'hvs.a-token-that-nobody-may-see'
export const NAMESPACE = 'team/wallets'
const MOUNT = 'keys/transit'
const KEY_NAMES = { first: 'strongroom', second: 'other' } as const

type Kind = {
  /** A derived key: the key for each value is derived from the context. */
  readonly derived?: boolean
  /** Before 1.13: no associated data. */
  readonly old?: boolean
  /** Some versions answer 500 to a wrong context. */
  readonly statusOfWrongContext?: 400 | 500
}

type Body = Readonly<Record<string, string | undefined>>

const refusal = (status: number, ...errors: readonly string[]) => json(status, { errors })

const answer = (data: unknown) =>
  json(200, {
    request_id: '8375227a-4a9f-a108-0b89-84c448419e80',
    lease_id: '',
    renewable: false,
    lease_duration: 0,
    data,
    wrap_info: null,
    warnings: null,
    auth: null,
  })

export type Vault = TestService & {
  readonly place: string
  /** Sets the tokens that are accepted from now on. */
  accept(token: string): void
  require(leastVersion: number): void
}

/** What the value is bound to: the associated data, and the context for a derived key. */
const boundBytes = (kind: Kind, body: Body): Buffer => {
  const associated = kind.old === true ? Buffer.alloc(0) : Buffer.from(body.associated_data ?? '', 'base64')
  if (kind.derived !== true) return associated
  const derived = createHmac('sha256', 'derivation')
    .update(Buffer.from(body.context ?? '', 'base64'))
    .digest()
  return Buffer.concat([derived, associated])
}

export const startVault = async (kind: Kind = {}): Promise<Vault> => {
  const keys = new Map<string, VersionedKey>(Object.values(KEY_NAMES).map((name) => [name, new VersionedKey()]))
  let undecryptable = 0
  let accepted = VAULT_TOKEN

  const encrypt = (body: Body, key: VersionedKey): Response => {
    const plaintext = Buffer.from(body.plaintext ?? '', 'base64')
    const ciphertext = key.encrypt({ plaintext, bound: boundBytes(kind, body) })
    return answer({ ciphertext: `vault:v${key.newest}:${ciphertext.toString('base64')}`, key_version: key.newest })
  }

  const decrypt = (body: Body, key: VersionedKey): Response => {
    if (!body.ciphertext?.startsWith('vault:v')) return refusal(400, 'invalid ciphertext: no prefix')
    const [, number = '', base64] = /^vault:v([^:]*):(.*)$/s.exec(body.ciphertext) ?? []
    if (base64 === undefined) return refusal(400, 'invalid ciphertext: wrong number of fields')
    if (!/^[0-9]+$/.test(number)) return refusal(400, 'invalid ciphertext: version number could not be decoded')
    const version = Number(number) === 0 ? 1 : Number(number)
    if (version > key.newest) return refusal(400, 'invalid ciphertext: version is too new')
    if (version < key.leastVersion) {
      return refusal(400, 'ciphertext or signature version is disallowed by policy (too old)')
    }
    const ciphertext = Buffer.from(base64, 'base64')
    if (ciphertext.length < 12) return refusal(400, 'invalid ciphertext length')
    const plaintext = key.decrypt({ version, ciphertext, bound: boundBytes(kind, body) })
    if (plaintext === null) {
      undecryptable += 1
      return refusal(kind.statusOfWrongContext ?? 400, 'cipher: message authentication failed')
    }
    return answer({ plaintext: plaintext.toString('base64') })
  }

  const server = serve(({ request, body: text, behaviour }) => {
    const path = new RegExp(`^/v1/${MOUNT}/(encrypt|decrypt)/([^/]+)$`).exec(new URL(request.url).pathname)
    if (path === null || request.headers.get('x-vault-namespace') !== NAMESPACE) {
      return refusal(404, `no handler for route "${new URL(request.url).pathname}". route entry not found.`)
    }
    const [, verb, name = ''] = path
    server.calls[verb === 'encrypt' ? 'encrypt' : 'decrypt'] += 1
    if (request.headers.get('x-vault-request') !== 'true') return refusal(412, "missing 'X-Vault-Request' header")
    const denied = request.headers.get('x-vault-token') !== accepted || behaviour === 'denying'
    if (denied) return refusal(403, '1 error occurred:\n\t* permission denied\n\n')
    if (behaviour === 'failing') return refusal(503, 'Vault is sealed')
    if (behaviour === 'throttling') return refusal(429, 'request path "keys/transit": rate limit quota exceeded')
    const key = behaviour === 'disabled' ? undefined : keys.get(name)
    if (key === undefined) return refusal(400, 'encryption key not found')
    const body: Body = JSON.parse(text)
    if (kind.derived === true && !body.context) return refusal(400, "missing 'context' for key derivation")
    return verb === 'encrypt' ? encrypt(body, key) : decrypt(body, key)
  })

  const placeOf = (name: string) => `${server.url}/${MOUNT}/${name}`
  return {
    name: 'HashiCorp Vault',
    place: placeOf(KEY_NAMES.first),
    calls: server.calls,
    heard: server.heard,
    behave: server.behave,
    undecryptable: () => undecryptable,
    told: { mark: 4, versions: true },
    rotate: () => keys.get(KEY_NAMES.first)?.rotate(),
    accept: (token) => {
      accepted = token
    },
    require: (leastVersion) => {
      const key = keys.get(KEY_NAMES.first)
      if (key !== undefined) key.leastVersion = leastVersion
    },
    open: ({ key = 'first', limits } = {}) =>
      openVaultTransitKey({
        place: placeOf(KEY_NAMES[key]),
        access: { token: { reveal: () => VAULT_TOKEN }, namespace: NAMESPACE },
        ...(limits === undefined ? {} : { limits }),
      }),
    stop: () => server.stop(),
  }
}
