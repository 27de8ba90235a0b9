// A real OpenID provider (oidc-provider) on this machine. Whoever types a name on its page is logged in as that name.

import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import { type ClientMetadata, type InteractionResults, Provider } from 'oidc-provider'

type Client = { readonly id: string; readonly secret: string | null; readonly callback: string }

/** What a client may ask for by `resource`: its access tokens are JWTs (RFC 9068) for this audience. */
export const RESOURCE = 'https://wallets.example/'
export const RESOURCE_AUDIENCE = 'wallets'

const PAGE = `<!doctype html><html lang="en"><title>Provider</title><h1>Who are you?</h1>
<form method="post"><label>Name <input name="name"></label><button>Log in</button></form><a href="?cancel">Cancel</a>`

const metadataOf = ({ id, secret, callback }: Client): ClientMetadata => ({
  client_id: id,
  redirect_uris: [callback],
  grant_types: ['authorization_code'],
  response_types: ['code'],
  ...(secret === null ? { token_endpoint_auth_method: 'none' } : { client_secret: secret }),
})

const bodyOf = async (request: IncomingMessage): Promise<URLSearchParams> => {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  return new URLSearchParams(Buffer.concat(chunks).toString())
}

const providerOf = async (issuer: string, clients: readonly Client[]): Promise<Provider> => {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const kid = randomUUID()
  return new Provider(issuer, {
    clients: clients.map(metadataOf),
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' }] },
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => [],
        getResourceServerInfo: () => ({
          scope: 'api',
          audience: RESOURCE_AUDIENCE,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    // Nobody is asked what the client may know.
    loadExistingGrant: async ({ oidc }) => {
      const of = { clientId: oidc.client?.clientId ?? '', accountId: oidc.session?.accountId ?? '' }
      const grant = new oidc.provider.Grant(of)
      grant.addOIDCScope('openid profile')
      grant.addResourceScope(RESOURCE, 'api')
      await grant.save()
      return grant
    },
    cookies: { keys: ['a key of the test'] },
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
  })
}

const listen = async (server: Server, port: number): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown

export const startOpenidProvider = async () => {
  let answer: Answer = (_request, response) => response.writeHead(503).end()
  const serverOf = () => createServer((request, response) => answer(request, response))
  let server = serverOf()
  const port = await listen(server, 0)
  const issuer = `http://127.0.0.1:${port}`
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  return {
    issuer,
    /** Begins anew, with a key of its own and without what it knew before. */
    serve: async (clients: readonly Client[]): Promise<void> => {
      const provider = await providerOf(issuer, clients)
      const usual = provider.callback()
      const ask = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
        const finish = (result: InteractionResults) => provider.interactionFinished(request, response, result)
        if (request.method === 'POST') {
          const body = await bodyOf(request)
          const since = body.get('since')
          const ts = since === null ? {} : { ts: Number(since) }
          return finish({ login: { accountId: body.get('name') ?? '', ...ts } })
        }
        if (request.url?.endsWith('?cancel')) return finish({ error: 'access_denied' })
        response.setHeader('content-type', 'text/html').end(PAGE)
      }
      answer = (request, response) =>
        request.url?.startsWith('/interaction/') ? ask(request, response) : usual(request, response)
    },
    /** Takes no connections any more, until it is opened again. */
    shut: stop,
    open: async () => {
      server = serverOf()
      await listen(server, port)
    },
    close: stop,
  }
}

export type OpenidProvider = Awaited<ReturnType<typeof startOpenidProvider>>

type Tokens = { readonly access_token: string; readonly id_token: string }

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/**
 * Logs in at the provider as a browser does.
 * @param input.from where a client sends the browser
 * @param input.since when the user logged in there, in seconds since 1970; by default now
 * @returns where the provider sends it back
 */
export const logInAt = async (input: {
  readonly from: string
  readonly callback: string
  readonly name: string
  readonly since?: number
}): Promise<URL> => {
  const { from, callback, name, since } = input
  const cookies = new Map<string, string>()
  for (let next = from; ; ) {
    const cookie = [...cookies].map(([of, value]) => `${of}=${value}`).join('; ')
    const form = { name, ...(since !== undefined && { since: String(since) }) }
    const typed = { method: 'POST', body: new URLSearchParams(form).toString() }
    const answer = await fetch(next, {
      ...(next.includes('/interaction/') ? typed : {}),
      headers: { ...FORM, cookie },
      redirect: 'manual',
    })
    for (const text of answer.headers.getSetCookie()) {
      const [, of = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? []
      cookies.set(of, value)
    }
    const to = answer.headers.get('location')
    if (to === null) throw new Error(`the provider led nowhere: ${answer.status} ${await answer.text()}`)
    next = new URL(to, next).href
    if (next.startsWith(callback)) return new URL(next)
  }
}

/** Logs in for the app of a client without a secret, which redeems the code for an access token and an ID token. */
export const tokensFrom = async (
  { issuer }: Pick<OpenidProvider, 'issuer'>,
  input: { readonly clientId: string; readonly callback: string; readonly name: string },
): Promise<Tokens> => {
  const { clientId, callback, name } = input
  const verifier = randomBytes(32).toString('base64url')
  const of = { client_id: clientId, redirect_uri: callback, resource: RESOURCE }
  const query = new URLSearchParams({
    ...{ ...of, response_type: 'code', scope: 'openid api' },
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const back = await logInAt({ from: `${issuer}/auth?${query}`, callback, name })
  const code = back.searchParams.get('code') ?? ''
  const body = new URLSearchParams({ ...of, grant_type: 'authorization_code', code, code_verifier: verifier })
  const answer = await fetch(`${issuer}/token`, { method: 'POST', headers: FORM, body: body.toString() })
  return (await answer.json()) as Tokens
}
