// A real OpenID provider (oidc-provider) on this machine. Whoever types a name on its page is logged in as that name.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import { type ClientMetadata, type InteractionResults, Provider } from 'oidc-provider'

type Client = { readonly id: string; readonly secret: string | null; readonly callback: string }

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
  return new Provider(issuer, {
    clients: clients.map(metadataOf),
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'of-the-test', alg: 'RS256', use: 'sig' }] },
    features: { devInteractions: { enabled: false } },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    // Nobody is asked what the client may know.
    loadExistingGrant: async ({ oidc }) => {
      const of = { clientId: oidc.client?.clientId ?? '', accountId: oidc.session?.accountId ?? '' }
      const grant = new oidc.provider.Grant(of)
      grant.addOIDCScope('openid profile')
      await grant.save()
      return grant
    },
    cookies: { keys: ['a key of the test'] },
    ttl: { Interaction: 600, Session: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
  })
}

export const startOpenidProvider = async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    issuer,
    serve: async (clients: readonly Client[]): Promise<void> => {
      const provider = await providerOf(issuer, clients)
      const answer = provider.callback()
      const ask = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
        const finish = (result: InteractionResults) => provider.interactionFinished(request, response, result)
        if (request.method === 'POST')
          return finish({ login: { accountId: (await bodyOf(request)).get('name') ?? '' } })
        if (request.url?.endsWith('?cancel')) return finish({ error: 'access_denied' })
        response.setHeader('content-type', 'text/html').end(PAGE)
      }
      server.on('request', (request, response) =>
        request.url?.startsWith('/interaction/') ? ask(request, response) : answer(request, response),
      )
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
