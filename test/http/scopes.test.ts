// The scopes that each endpoint needs, tested with every set of scopes.

import { describe, expect, test } from 'bun:test'
import { API_KEY_SCOPES, type ApiKeyScope } from '../../db/words.ts'
import { createApp } from '../../src/api/app.ts'
import { createApiKey } from '../../src/identity/api-keys/api-keys.ts'
import { commonService } from '../support/common-service.ts'
import type { Service } from '../support/service.ts'

const ENDPOINTS = {
  'GET /wallets': 'read',
  'GET /wallets/get-by-id': 'read',
  'GET /wallets/get-by-address': 'read',
  'GET /wallets/get-by-owner-id': 'read',
  'GET /tokens/balances': 'read',
  'GET /addresses/metadata': 'read',
  'GET /addresses/lookup-by-name': 'read',
  'GET /nfts/collections': 'read',
  'GET /nfts/collection-by-address': 'read',
  'GET /transactions/status-by-hash': 'read',
  'GET /transactions/status-by-id': 'read',
  'GET /nfts': 'read',
  'GET /activity': 'read',
  'POST /transactions/preview': 'read',
  'POST /transactions/preview-bundle': 'read',
  'POST /transactions/preview-typed-data': 'read',
  'POST /transactions/sign': 'sign',
  'POST /transactions/sign-and-send': 'sign',
  'POST /transactions/batch-sign-and-send': 'sign',
  'POST /transactions/speed-up': 'sign',
  'POST /transactions/cancel': 'sign',
  'POST /transactions/retry': 'sign',
  'GET /transactions': 'read',
  'POST /transactions/sign-message': 'sign',
  'POST /transactions/sign-payload': 'sign',
  'POST /transactions/sign-authorization': 'sign',
  'POST /transactions/sign-typed-data': 'sign',
  'POST /nfts/collections': 'sign',
  'POST /nfts/mint': 'sign',
  'POST /nfts/transfer': 'sign',
  'POST /nfts/batch-mint': 'sign',
  'POST /nfts/upload': 'sign',
  'GET /tokens/tokens': 'read',
  'POST /tokens': 'sign',
  'POST /tokens/mint': 'sign',
  'POST /tokens/transfer': 'sign',
  'POST /tokens/batch-transfer': 'sign',
  'POST /wallets': 'admin',
  'POST /wallets/import': 'admin',
  'POST /wallets/export': 'admin',
  'POST /wallets/change-user-pin': 'admin',
  'POST /wallets/put-under-policies': 'admin',
  'GET /wallets/user-secrets': 'read',
  'POST /wallets/recovery-code': 'admin',
  'POST /wallets/recovery-code/remove': 'admin',
  'POST /wallets/passkey-secret': 'admin',
  'POST /wallets/passkey-secret/remove': 'admin',
  'GET /approvals': 'read',
  'GET /policies': 'read',
  'GET /policies/described': 'read',
  'POST /policies/describe': 'read',
  'POST /policies': 'admin',
  'POST /policies/revoke': 'admin',
  'GET /events': 'read',
  'GET /webhooks': 'read',
  'GET /webhooks/deliveries': 'read',
  'POST /webhooks': 'admin',
  'POST /webhooks/update': 'admin',
  'POST /webhooks/remove': 'admin',
  'POST /webhooks/rotate': 'admin',
  'POST /webhooks/test': 'admin',
  'POST /webhooks/replay': 'admin',
} as const satisfies Record<string, ApiKeyScope>

/** Endpoints that need a user's session and accept no API key. */
const OF_USERS = [
  'GET /wallets/get-by-network',
  'GET /credentials/wallet',
  'GET /users/passkeys',
  'GET /users/session-challenge/asker',
  'POST /users/complete-session-challenge',
  'POST /users/passkey/begin-registration',
  'POST /users/passkey/finish-registration',
  'POST /users/passkey/remove',
  'POST /approvals/begin',
  'POST /approvals/decide',
  'POST /users/add-email',
  'POST /users/verify-email',
]

/**
 * Endpoints without a bearer token, or that ignore it; all of users; and the stream of events, whose answer does not
 * end (test/events).
 */
const OPEN =
  /^(GET \/(|healthz|readyz|metrics|metadata\/:file|openapi.*|docs\/api\.md|login.*|approve|consent.*|credentials.*|events\/stream|pages\/.*|\.well-known\/.*|dev\/mailbox(\.json)?)|POST \/login\/(link|issuer)|GET \/wallets\/get-by-network|POST \/approvals\/.*|(GET|POST) \/users\/.*)$/

/** They answer without any input. */
const LISTS = ['GET /policies/described', 'GET /approvals', 'GET /transactions', 'GET /events', 'GET /webhooks']

const SETS: readonly (readonly ApiKeyScope[])[] = [
  ['read'],
  ['sign'],
  ['admin'],
  ['read', 'sign'],
  ['read', 'admin'],
  ['sign', 'admin'],
  ['read', 'sign', 'admin'],
]

const clients = new Map<string, ReturnType<Service['as']>>()

const service = await commonService()
const { projectId } = service.project
for (const scopes of SETS) {
  const input = { projectId, name: scopes.join(), scopes, expiresAt: null, actor: 'operator' }
  const { text } = await createApiKey(service.ctx, input)
  clients.set(scopes.join(), service.as({ projectId, apiKey: text }))
}

const call = (scopes: readonly ApiKeyScope[], endpoint: string, rawBody = '{') => {
  const client = clients.get(scopes.join())
  const [method = '', path = ''] = endpoint.split(' ')
  if (client === undefined) throw new Error('there is no such key')
  const headers = { 'content-type': 'application/json' }
  return client.call(path, method === 'GET' ? {} : { method, rawBody, headers })
}

test('the table has every endpoint that needs an API key', () => {
  const routes = createApp(service.ctx).routes.map(({ method, path }) => `${method} ${path}`)
  const closed = routes.filter((route) => !OPEN.test(route))
  expect([...new Set(closed)].sort()).toEqual(Object.keys(ENDPOINTS).sort())
})

describe.each(Object.entries(ENDPOINTS))('%s needs "%s"', (endpoint, scope) => {
  test.each(SETS.map((scopes) => [scopes.join(' and '), scopes] as const))(
    'with a key for %s',
    async (_name, scopes) => {
      const answer = await call(scopes, endpoint)
      if (scopes.some((each) => each === scope)) {
        // It passes authorization, and its input is checked; a list of everything needs none.
        expect(answer.json.code).not.toBe('scope_required')
        const needsNone = LISTS.includes(endpoint)
        const isForm = endpoint === 'POST /nfts/upload'
        expect(needsNone ? [200] : isForm ? [415] : [400, 501]).toContain(answer.status)
      } else {
        expect({ status: answer.status, json: answer.json }).toEqual({
          status: 403,
          json: { error: `The API key lacks the scope "${scope}", which this call needs.`, code: 'scope_required' },
        })
      }
    },
  )
})

describe('scopes', () => {
  test.each(OF_USERS)('let no key use %s', async (endpoint) => {
    for (const scopes of SETS) {
      const { status, json } = await call(scopes, endpoint)
      expect([status, json.code]).toEqual([403, 'user_session_required'])
    }
  })

  test('also apply to a path with a slash at its end', async () => {
    expect((await call(['read'], 'POST /transactions/sign/')).json.code).toBe('scope_required')
    expect((await call(['sign'], 'POST /transactions/sign/')).json.code).toBe('invalid_input')
    expect((await call(['read'], 'POST /wallets/')).json.code).toBe('scope_required')
  })

  test('do not change the answer for an unknown path or method', async () => {
    expect((await call(['read'], 'POST /nowhere')).status).toBe(404)
    expect((await call(['read'], 'GET /transactions/sign')).status).toBe(405)
  })

  test('are checked after the caller, so an unknown key learns nothing about them', async () => {
    const stranger = service.as({ projectId: service.project.projectId, apiKey: `sk_${'A'.repeat(43)}` })
    expect((await stranger.post('/transactions/sign', {})).json.code).toBe('unauthorized')
  })

  test('of a first key are all scopes', async () => {
    for (const endpoint of Object.keys(ENDPOINTS)) {
      const [method = '', path = ''] = endpoint.split(' ')
      const answer = await service.call(path, method === 'GET' ? {} : { body: {} })
      expect(answer.json.code).not.toBe('scope_required')
    }
    expect(API_KEY_SCOPES).toEqual(['read', 'sign', 'admin'])
  })

  test('let a key do its work and nothing else', async () => {
    const made = await clients.get('admin')?.newWallet({ network: 'Ethereum' })
    const body = {
      network: 'Ethereum',
      signer_wallet_address: made?.address,
      developer_secret: 'testnet-secret',
      unsigned_transaction: {
        to: made?.address,
        value: '1',
        nonce: '0',
        gasLimit: '21000',
        maxFeePerGas: '2',
        maxPriorityFeePerGas: '1',
      },
    }
    expect((await clients.get('sign')?.post('/transactions/sign', body))?.status).toBe(200)
    for (const scopes of ['read', 'admin', 'read,admin']) {
      expect((await clients.get(scopes)?.post('/transactions/sign', body))?.json.code).toBe('scope_required')
    }
    const query = { network: 'Ethereum', address: made?.address ?? '' }
    expect((await clients.get('read')?.get('/wallets/get-by-address', query))?.json.id).toBe(made?.id)
    expect((await clients.get('admin')?.get('/wallets/get-by-address', query))?.status).toBe(403)
  })
})
