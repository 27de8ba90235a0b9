// An identity provider on this machine: discovery, keys and tokens, each of which a test can make wrong.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose'

export const AUDIENCE = 'my-app'

type KeyPair = { readonly privateKey: CryptoKey; readonly jwk: JWK }

export const newKey = async (kid: string, alg = 'ES256'): Promise<KeyPair> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

export type Answer = (response: ServerResponse, request: IncomingMessage) => void

export const answerJson =
  (value: () => unknown): Answer =>
  (response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(value()))
  }

type What = 'discovery' | 'keys' | 'authorize' | 'token'
type Answers = { readonly [Each in What]?: Answer }

const WHAT: Readonly<Record<string, What>> = {
  '/.well-known/openid-configuration': 'discovery',
  '/authorize': 'authorize',
  '/token': 'token',
}

export type TestIssuer = Awaited<ReturnType<typeof startIssuer>>

/** @param input.path what follows the host in its URL. */
export const startIssuer = async (input: { readonly alg?: string; readonly path?: string } = {}) => {
  const { alg = 'ES256', path = '' } = input
  let key = await newKey('first', alg)
  let published: readonly JWK[] = [key.jwk]
  let answers: Answers = {}
  const asked = { discovery: 0, keys: 0, authorize: 0, token: 0 }
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', origin)
    const what = WHAT[pathname.slice(path.length)] ?? 'keys'
    asked[what] += 1
    const answer = answers[what] ?? answerJson(() => (what === 'discovery' ? document() : { keys: published }))
    answer(response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const issuer = `${origin}${path}`

  const document = () => ({
    issuer,
    jwks_uri: `${issuer}/keys`,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    id_token_signing_alg_values_supported: [alg],
  })

  return {
    issuer,
    origin,
    asked,
    document,
    key: () => key,
    publish: (...keys: readonly JWK[]) => {
      published = keys
    },
    /** Signs with a new key from now on. */
    rotate: async (kid: string, { isPublished = true } = {}) => {
      key = await newKey(kid, alg)
      if (isPublished) published = [key.jwk]
      return key
    },
    /** Answers in another way; without an argument as usual again. */
    answer: (others: Answers = {}) => {
      answers = others
    },
    /** @param claims replace the usual ones; undefined leaves one out. */
    token: (claims: Record<string, unknown> = {}, header: Partial<JWTHeaderParameters> = {}) => {
      const seconds = Math.floor(Date.now() / 1_000)
      const usual = { iss: issuer, aud: AUDIENCE, sub: 'alice', iat: seconds, exp: seconds + 3_600 }
      return new SignJWT({ ...usual, ...claims })
        .setProtectedHeader({ alg, kid: key.jwk.kid ?? '', ...header })
        .sign(key.privateKey)
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
