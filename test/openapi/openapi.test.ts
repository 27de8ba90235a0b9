import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { type Service, startService } from '../support/service.ts'

const NOWHERE = 'http://127.0.0.1:1'

/** The document as a client sees it, without types. */
// biome-ignore lint/suspicious/noExplicitAny: JSON
type Json = any

let service: Service
let document: Json
let operations: { readonly method: string; readonly path: string; readonly operation: Json }[]

beforeAll(async () => {
  service = await startService({ rpcUrls: { Ethereum: NOWHERE } })
  document = (await service.call('/openapi/json')).json
  operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, operation]) => ({ method, path, operation })),
  )
})

afterAll(() => service.close())

/** Operations without input, apart from the caller. */
const BODILESS = new Set([
  '/users/login-anonymously',
  '/users/login-with-discoverable-passkey',
  '/users/create-session-challenge',
  '/users/passkey/begin-registration',
  '/users/logout',
])

/** Every schema of the document, at any depth. */
const walk = (value: Json, seen: (value: Json) => void): void => {
  if (typeof value !== 'object' || value === null) return
  seen(value)
  for (const item of Object.values(value)) walk(item, seen)
}

describe('the document', () => {
  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    expect(await validator.validate(document)).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  test('has every operation of the service, each with a unique name', () => {
    const served = operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
    for (const each of [
      'POST /wallets',
      'GET /wallets',
      'GET /wallets/get-by-id',
      'GET /wallets/get-by-address',
      'GET /wallets/get-by-owner-id',
      'POST /transactions/preview',
      'POST /transactions/preview-bundle',
      'POST /transactions/sign',
      'POST /transactions/sign-and-send',
      'POST /transactions/batch-sign-and-send',
      'POST /transactions/speed-up',
      'POST /transactions/sign-message',
      'GET /transactions/status-by-hash',
      'GET /transactions/status-by-id',
      'GET /nfts',
      'POST /nfts/collections',
      'POST /nfts/mint',
      'POST /nfts/transfer',
      'GET /nfts/collections',
      'GET /nfts/collection-by-address',
      'POST /policies',
      'GET /policies',
      'POST /policies/revoke',
      'GET /tokens/balances',
      'GET /addresses/metadata',
      'GET /addresses/lookup-by-name',
      'GET /activity',
      'GET /metadata/{file}',
      'GET /healthz',
      'GET /readyz',
    ]) {
      expect(served).toContain(each)
    }
    const ids = operations.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(document.paths['/activity'].get.operationId).toBe('activity_list')
  })

  test('describes each operation, its input and all of its answers, as JSON', () => {
    for (const { method, path, operation } of operations) {
      const of = `${method} ${path}`
      expect({ of, summary: operation.summary?.length > 0, tags: operation.tags?.length }).toEqual({
        of,
        summary: true,
        tags: 1,
      })
      if (method === 'post' && !BODILESS.has(path)) {
        expect(operation.requestBody.content['application/json'].schema.$ref).toBeString()
      }
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        const types = Object.keys(response.content ?? {})
        expect({ of, status, types }).toEqual({ of, status, types: ['application/json'] })
        const isError = Number(status) >= 400
        const ref = response.content['application/json'].schema.$ref
        if (isError) expect(ref).toBe('#/components/schemas/ErrorResponse')
        expect(response.description.length).toBeGreaterThan(0)
      }
      for (const parameter of operation.parameters ?? []) {
        if (parameter.in === 'query')
          expect(parameter.schema.examples?.length ?? parameter.schema.enum?.length).toBeGreaterThan(0)
      }
    }
  })

  test('has no dangling references and no keywords of our own', () => {
    walk(document, (value) => {
      if (typeof value.$ref === 'string') {
        expect(document.components.schemas[value.$ref.replace('#/components/schemas/', '')]).toBeObject()
      }
      expect(typeof value.rule).not.toBe('string')
    })
  })

  test('requires project and key where they are needed, and only there', async () => {
    const told = ({ security = document.security }: Json) => security.flatMap(Object.keys).join(' and ')
    const answers = operations.map(async ({ method, path, operation }) => {
      const headers = { authorization: undefined, 'x-walletkit-project-id': undefined }
      const body = method === 'post' ? { body: {} } : {}
      const none = (await service.call(path, { ...body, headers })).json?.code
      const project = (await service.call(path, { ...body, headers: { authorization: undefined } })).json?.code
      const asked = none !== 'project_required' ? '' : project === 'unauthorized' ? 'project and bearer' : 'project'
      return { path, asked, told: told(operation) }
    })
    for (const { path, asked, ...rest } of await Promise.all(answers))
      expect({ path, ...rest }).toEqual({ path, told: asked })
    expect(document.security).toEqual([{ project: [], bearer: [] }])
    expect(document.components.securitySchemes.project.name).toBe('X-WalletKit-Project-ID')
  })
})

describe('its examples', () => {
  test('are accepted as they are', async () => {
    for (const { method, path, operation } of operations) {
      if (method === 'post' && !BODILESS.has(path)) {
        const name = operation.requestBody.content['application/json'].schema.$ref.split('/').at(-1)
        const { examples } = document.components.schemas[name]
        expect({ path, examples: examples?.length > 0 }).toEqual({ path, examples: true })
        for (const example of examples) {
          const answer = await service.post(path, example)
          // Without a node and a wallet, only the form of the request can be right.
          expect({ path, code: answer.json.code }).not.toEqual({ path, code: 'invalid_input' })
        }
      } else if (method === 'get' && !path.includes('{')) {
        const required = (operation.parameters ?? []).filter((parameter: Json) => parameter.required)
        const query = required.map((parameter: Json) => [parameter.name, parameter.schema.examples[0]])
        const answer = await service.get(path, Object.fromEntries(query))
        if (!['/nfts', '/wallets/get-by-owner-id'].includes(path)) {
          expect({ path, code: answer.json.code }).not.toEqual({ path, code: 'invalid_input' })
        }
      }
    }
  })

  test('of a new wallet creates one', async () => {
    const [example] = document.components.schemas.CreateWallet.examples
    const made = await service.post('/wallets', example)
    const found = await service.get('/wallets/get-by-owner-id', { network: example.network, ownerID: example.owner_id })
    expect([200, 409]).toContain(made.status)
    expect(found.json).toMatchObject({ name: example.name, owner_id: example.owner_id })
  })
})

describe('answers', () => {
  test('have exactly the fields of the document', async () => {
    const { required, properties } = document.components.schemas.Wallet
    expect(Object.keys(properties).sort()).toEqual([...required].sort())
    const wallet = await service.newWallet({ network: 'Ethereum' })
    expect(Object.keys(wallet).sort()).toEqual([...required].sort())
    expect(Object.keys(properties).sort()).toEqual(['address', 'created_at', 'id', 'name', 'network', 'owner_id'])
    const fields = (name: string) => Object.keys(document.components.schemas[name].properties).sort()
    expect(fields('NftOperationResult')).toEqual(['network', 'status', 'transaction_id'])
    expect(fields('TransactionStatus')).toEqual(['contract_address', 'network', 'status', 'transaction_hash'])
    expect(fields('PreviewResult')).toEqual(
      ['network', 'from', 'to', 'contract', 'function_name', 'arguments', 'simulation'].sort(),
    )
    expect(fields('Token')).toEqual(
      ['uuid', 'network', 'contract_address', 'name', 'symbol', 'decimals', 'display_decimals', 'logo_url'].sort(),
    )
    expect(fields('WalletActivityItem')).toEqual(
      ['uuid', 'network', 'type', 'timestamp', 'wallet_address', 'transaction_hash', 'metadata', 'token'].sort(),
    )
  })
})

describe('the page', () => {
  test('loads nothing from other origins', async () => {
    const page = await service.call('/openapi')
    expect(page.headers.get('content-type')).toContain('text/html')
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("connect-src 'self'")
    expect(page.text).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
    const files = [...page.text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1] ?? '')
    expect(files.length).toBeGreaterThan(1)
    for (const path of files) {
      const asset = await service.call(path)
      expect({ path, status: asset.status }).toEqual({ path, status: 200 })
      expect(asset.text.length).toBeGreaterThan(1_000)
    }
  })

  test('has a content security policy with the digest of its script', async () => {
    const page = await service.call('/openapi')
    const script = /<script>([\s\S]*?)<\/script>/.exec(page.text)?.[1] ?? ''
    const digest = new Bun.CryptoHasher('sha256').update(script).digest('base64')
    expect(page.headers.get('content-security-policy')).toContain(`'sha256-${digest}'`)
  })
})
