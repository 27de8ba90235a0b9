import { describe, expect, test } from 'bun:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import Ajv from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import { insertMetadataDocuments } from '../../db/queries/metadata.ts'
import { FAILURE_CODES } from '../../db/words.ts'
import { describeMetadata } from '../../src/assets/metadata/host.ts'
import { JWKS_MAX_AGE_SECONDS } from '../../src/identity/auth/access-token.ts'
import { ERROR_STATUS, type ErrorCode } from '../../src/platform/errors.ts'
import { EVM_NETWORKS, SUBSTRATE_NETWORKS } from '../../src/platform/networks.ts'
import { PAGE_HEADERS } from '../../src/platform/pages/page.ts'
import { accessibilityProblemsOn, hasChromium, startChromium } from '../support/chromium.ts'
import { lackFor } from '../support/document.ts'
import { isLeftOut, isLong, longTest, someOf } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { startVault } from '../support/vault.ts'

const NOWHERE = 'http://127.0.0.1:1'
/** One of so many operations is shown to axe; all in the long run. */
const AXE_EVERY = 10

/** The document as a client sees it, without types. */
// biome-ignore lint/suspicious/noExplicitAny: JSON
type Json = any

const service = await shared(startService({ rpcUrls: { Ethereum: NOWHERE } }))
const document: Json = (await service.call('/openapi/json')).json
const ajv = addFormats(new Ajv({ strict: false })).addSchema(document, 'document', undefined, false)
const operations = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
  Object.entries<Json>(methods).map(([method, operation]) => ({ method, path, operation })),
)

/** An answer of an API whose vault went away. */
const withoutVault = async (ask: (other: Service) => Promise<Answer>): Promise<Answer> => {
  const socket = `${service.variables.VAULT_SOCKET}.own`
  const vault = await startVault({ ...service.vaultVariables, VAULT_SOCKET: socket })
  const other = await startService({
    database: { ...service.database, close: async () => {} },
    variables: { ...service.variables, VAULT_SOCKET: socket },
    hasVault: false,
  })
  try {
    await vault.close()
    return await ask(other)
  } finally {
    await other.close()
  }
}

/** Operations without input, apart from the caller. */
const BODILESS = new Set([
  '/users/login-anonymously',
  '/users/login-with-discoverable-passkey',
  '/users/create-session-challenge',
  '/users/passkey/begin-registration',
  '/users/logout',
])
/** Paths that take a form with a file. */
const FORMS = new Set(['/nfts/upload'])

/** Every schema of the document, at any depth. */
const walk = (value: Json, seen: (value: Json) => void): void => {
  if (typeof value !== 'object' || value === null) return
  seen(value)
  for (const item of Object.values(value)) walk(item, seen)
}

/** What a reference names. */
const resolved = (value: Json): Json =>
  typeof value?.$ref === 'string'
    ? value.$ref
        .slice(2)
        .split('/')
        .reduce((at: Json, name: string) => at[name], document)
    : value

const unescaped = (markup: string): string =>
  markup.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&')

/** Checks a value by the schema of the document at a path of names. */
const problemsOf = (path: readonly string[], value: Json): Json => {
  const pointer = path.map((name) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
  const validate = ajv.getSchema(`document#/${pointer}`)
  if (validate === undefined) throw new Error(`the document has no ${pointer}`)
  return validate(value) ? null : validate.errors
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
      'POST /transactions/preview-typed-data',
      'POST /transactions/sign',
      'POST /transactions/sign-and-send',
      'POST /transactions/batch-sign-and-send',
      'POST /transactions/speed-up',
      'POST /transactions/sign-payload',
      'POST /transactions/cancel',
      'POST /transactions/retry',
      'GET /transactions',
      'POST /transactions/sign-message',
      'POST /transactions/sign-authorization',
      'POST /transactions/sign-typed-data',
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
      'GET /.well-known/jwks.json',
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
        const type = FORMS.has(path) ? 'multipart/form-data' : 'application/json'
        expect(Object.keys(operation.requestBody.content)).toEqual([type])
        expect(operation.requestBody.content[type].schema.$ref).toBeString()
      }
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        const types = Object.keys(response.content ?? {})
        expect({ of, status, types }).toEqual({ of, status, types: status === '304' ? [] : ['application/json'] })
        const { schema } = response.content?.['application/json'] ?? {}
        if (Number(status) >= 400) expect(schema.allOf[0].$ref).toBe('#/components/schemas/ErrorResponse')
        expect(response.description.length).toBeGreaterThan(0)
      }
      for (const parameter of operation.parameters ?? []) {
        const { examples, enum: words } = resolved(parameter.schema)
        if (parameter.in === 'query') expect(examples?.length ?? words?.length).toBeGreaterThan(0)
      }
    }
  })

  test('has no dangling references and no keywords of our own', () => {
    walk(document, (value) => {
      if (typeof value.$ref === 'string') expect(resolved(value)).toBeObject()
      expect(typeof value.rule).not.toBe('string')
      for (const own of ['isNetwork', 'credentials', 'errorCodes', 'headerSet']) expect(value).not.toHaveProperty(own)
    })
  })

  test('names the networks once', () => {
    const enums: Json[] = []
    walk(document, (value) => Array.isArray(value.enum) && value.enum.includes('Polygon') && enums.push(value))
    expect(enums).toEqual([document.components.schemas.Network])
    const words = `EVM networks: ${EVM_NETWORKS.join(', ')}. Substrate networks: ${SUBSTRATE_NETWORKS.join(', ')}.`
    expect(enums[0]?.description).toBe(words)
    expect(document.components.schemas.Wallet.properties.network).toEqual({ $ref: '#/components/schemas/Network' })
  })

  test('lists the codes of a failed transaction', () => {
    expect(document.components.schemas.TransactionStatusById.properties.code.enum).toEqual([...FAILURE_CODES])
  })

  test('requires project and key where they are needed, and only there', async () => {
    const told = ({ security = document.security }: Json) => security.flatMap(Object.keys).join(' and ')
    const answers = someOf(operations, 3).map(async ({ method, path, operation }) => {
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
    for (const { method, path, operation } of someOf(operations, 5)) {
      if (method === 'post' && !BODILESS.has(path) && !FORMS.has(path)) {
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
        const query = required.map((parameter: Json) => [parameter.name, resolved(parameter.schema).examples[0]])
        const answer = await service.get(path, Object.fromEntries(query))
        if (!['/nfts', '/wallets/get-by-owner-id'].includes(path)) {
          expect({ path, code: answer.json.code }).not.toEqual({ path, code: 'invalid_input' })
        }
      }
    }
  })

  test('fit their schemas, whole, in requests and in answers', () => {
    const unfit: Json[] = []
    let checked = 0
    const check = (path: readonly string[], example: Json): void => {
      checked += 1
      const problems = problemsOf([...path, 'content', 'application/json', 'schema'], example)
      if (problems !== null) unfit.push({ path, example, problems })
    }
    for (const { method, path, operation } of someOf(operations, 8)) {
      const { schema } = operation.requestBody?.content['application/json'] ?? {}
      for (const example of resolved(schema)?.examples ?? []) check(['paths', path, method, 'requestBody'], example)
      for (const [status, response] of Object.entries<Json>(operation.responses)) {
        if (response.content === undefined) continue
        const { example, examples } = response.content['application/json']
        const all = examples === undefined ? [example] : Object.values<Json>(examples).map((one) => resolved(one).value)
        for (const each of all) check(['paths', path, method, 'responses', status], each)
      }
    }
    expect(unfit).toEqual([])
    expect(checked).toBeGreaterThan(isLong ? 500 : 60)
    // Compiling a thousand schemas takes seconds.
  }, 60_000)

  test('of a new wallet creates one', async () => {
    const [example] = document.components.schemas.CreateWallet.examples
    const made = await service.post('/wallets', example)
    const found = await service.get('/wallets/get-by-owner-id', { network: example.network, ownerID: example.owner_id })
    expect([200, 409]).toContain(made.status)
    expect(found.json).toMatchObject({ name: example.name, owner_id: example.owner_id })
  })
})

describe('credentials', () => {
  test('are one or the other, or one or both, as the service asks for them', async () => {
    const { address } = await service.newWallet({ network: 'Ethereum', ownerId: 'one', pin: '604913' })
    const [secret, pin] = [{ developer_secret: 'testnet-secret' }, { user_pin: '604913' }]
    const ONE = [false, true, true, false, true, false, false]
    const ONE_OR_BOTH = [false, true, true, false, true, true, true]
    const OF_USER = [false, true, true, false]
    const code = { user_secret: '99ET-KPZD-JM0J-SUD6-QDXF-TH38-WQ77-REHX' }
    const sign = { network: 'Ethereum', signer_wallet_address: address, unsigned_transaction: { to: address } }
    const policy = {
      network: 'Ethereum',
      wallet_address: address,
      argument_rules: [{ argument: 'value', operator: 'le', value: '1' }],
    }
    const cases = [
      { path: '/transactions/sign', title: 'SignTransaction', rest: sign, wanted: ONE },
      { path: '/policies', title: 'CreatePolicy', rest: policy, wanted: ONE_OR_BOTH },
      {
        path: '/wallets/export',
        title: 'ExportWallet',
        rest: { network: 'Ethereum', address },
        wanted: ONE_OR_BOTH,
      },
      {
        path: '/wallets/recovery-code',
        title: 'MakeRecoveryCode',
        rest: { network: 'Ethereum', address },
        wanted: OF_USER,
      },
    ]
    for (const { path, title, rest, wanted } of someOf(cases, 2)) {
      const all = [{}, pin, code, { ...pin, ...code }, secret, { ...secret, ...pin }, { ...secret, ...code }]
      const bodies = all.slice(0, wanted.length).map((credentials) => ({ ...rest, ...credentials }))
      const fit = bodies.map((body) => problemsOf(['components', 'schemas', title], body) === null)
      expect({ path, fit }).toEqual({ path, fit: wanted })
      // What fits may still be refused for this wallet; what does not fit always is.
      const unfit = bodies.filter((_, index) => wanted[index] === false)
      const answers = await Promise.all(unfit.map((body) => service.post(path, body)))
      for (const { json } of answers) expect(json.code).toMatch(/^credential_(?:required|ambiguous)$/)
    }
  })
})

describe('the error codes of an operation', () => {
  const codesOf = ({ responses }: Json): Record<string, string[]> =>
    Object.fromEntries(
      Object.entries<Json>(responses)
        .filter(([status]) => Number(status) >= 400)
        .map(([status, { content }]) => [status, content['application/json'].schema.allOf[1].properties.code.enum]),
    )

  test('stand at their status', () => {
    for (const { method, path, operation } of operations) {
      const codes = codesOf(operation)
      for (const [status, each] of Object.entries(codes)) {
        const misplaced = each.filter((code) => String(ERROR_STATUS[code as ErrorCode]) !== status)
        expect({ of: `${method} ${path}`, misplaced }).toEqual({ of: `${method} ${path}`, misplaced: [] })
      }
    }
    expect(codesOf(document.paths['/users/login-anonymously'].post)['403']).toEqual([
      'origin_not_allowed',
      'anonymous_login_off',
    ])
  })

  test('leave out only what no operation answers', () => {
    const answered = new Set(operations.flatMap(({ operation }) => Object.values(codesOf(operation)).flat()))
    const others = Object.keys(ERROR_STATUS).filter((code) => !answered.has(code))
    expect(others.sort()).toEqual(['body_incomplete', 'method_not_allowed'])
  })

  test('are checked for each answer that a test gets', async () => {
    const [method, path] = ['POST', '/wallets?x=1']
    const given = await service.post('/wallets', {})
    const lack = (answer: Partial<typeof given>) => lackFor(document, { method, path, answer: { ...given, ...answer } })
    expect(lack({})).toBeNull()
    expect(lack({ json: { error: '', code: 'nonce_gap' } })).toContain('POST /wallets answered 400 nonce_gap')
    expect(lack({ status: 404 })).toContain('no such status')
    expect(lack({ headers: new Headers() })).toContain('without the header X-Request-Id')
    expect(lack({ status: 429, json: { code: 'rate_limited' } })).toContain('without the header Retry-After')
  })
})

describe('the headers of an answer', () => {
  test('are checked for each answer that a test gets', async () => {
    const given = await service.post('/wallets', {}, { 'content-encoding': 'gzip' })
    const lack = (changes: Record<string, string | null>) => {
      const headers = new Headers(given.headers)
      for (const [name, value] of Object.entries(changes))
        value === null ? headers.delete(name) : headers.set(name, value)
      return lackFor(document, { method: 'POST', path: '/wallets', answer: { ...given, headers } })
    }
    expect(lack({})).toBeNull()
    expect(lack({ 'accept-encoding': null })).toContain('without the header Accept-Encoding')
    expect(lack({ 'cache-control': null })).toContain('without the header Cache-Control')
    expect(lack({ 'x-other': '1' })).toContain('with the header x-other, which the document lacks')
  })

  longTest('have each optional one that the document names, at each status', async () => {
    const optional = new Set<string>()
    for (const { operation } of operations)
      for (const [status, { headers }] of Object.entries<Json>(operation.responses))
        for (const [name, header] of Object.entries<Json>(headers))
          if (resolved(header).required !== true) optional.add(`${status} ${name}`)

    const { address } = await service.newWallet({ network: 'Ethereum', ownerId: 'guessed', pin: '604913' })
    const wrong = { network: 'Ethereum', address, user_pin: '918273' }
    for (let guess = 0; guess < 5; guess += 1) await service.post('/wallets/export', wrong)
    const locked = await service.post('/wallets/export', wrong)
    const compressed = await service.post('/wallets', {}, { 'content-encoding': 'gzip' })
    const away = await withoutVault((other) => other.get('/readyz'))

    const seen = [locked, compressed, away].flatMap(({ status, headers }) =>
      ['Retry-After', 'Accept-Encoding'].filter((name) => headers.has(name)).map((name) => `${status} ${name}`),
    )
    expect(seen.sort()).toEqual([...optional].sort())
  })

  test('of hosted metadata agree with the document, also for clients that have it already', async () => {
    const hosted = describeMetadata(service.ctx.config, { name: 'A door', description: '', image: 'ar://door' })
    await insertMetadataDocuments(service.ctx.db, [hosted])
    const path = new URL(hosted.uri).pathname
    const etag = `"${hosted.digest}"`
    // The tests' client compares each with the document.
    const found = await service.call(path)
    const known = await service.call(path, { headers: { 'if-none-match': etag } })
    const other = await service.call(path.replace(hosted.digest, '0'.repeat(64)))
    const shown = [found, known, other].map(({ status, headers }) => [
      status,
      headers.get('etag'),
      headers.get('cache-control'),
    ])
    const keep = 'public, max-age=31536000, immutable'
    expect(shown).toEqual([
      [200, etag, keep],
      [304, etag, keep],
      [404, null, 'no-store'],
    ])
  })

  test('that a page of another origin can read are in the document', async () => {
    const { headers } = await service.call('/wallets', { headers: { origin: 'http://localhost:3000' } })
    const named = operations.flatMap(({ operation }) =>
      Object.values<Json>(operation.responses).flatMap((response) => Object.keys(response.headers)),
    )
    const exposed = headers.get('access-control-expose-headers')?.split(', ') ?? []
    expect(exposed).toEqual(['Retry-After', 'WWW-Authenticate', 'X-Request-Id'])
    expect(exposed.filter((name) => !named.includes(name))).toEqual([])
  })

  test('say how long caches may keep it, and which answers never change', () => {
    const headersOf = (path: string, status: number) => {
      const { headers } = document.paths[path].get.responses[status]
      return Object.entries<Json>(headers).map(([name, header]) => `${name}: ${resolved(header).schema.examples[0]}`)
    }
    const [, ...kept] = headersOf('/metadata/{file}', 200)
    expect(kept).toEqual([
      'Cache-Control: public, max-age=31536000, immutable',
      expect.stringMatching(/^ETag: "\w{64}"$/),
    ])
    expect(headersOf('/metadata/{file}', 304)).toEqual(headersOf('/metadata/{file}', 200))
    expect(headersOf('/metadata/{file}', 404)[1]).toBe('Cache-Control: no-store')
    expect(headersOf('/.well-known/jwks.json', 200)[1]).toBe(`Cache-Control: public, max-age=${JWKS_MAX_AGE_SECONDS}`)
    expect(headersOf('/readyz', 200)[1]).toBe('Cache-Control: no-store')
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
      ['network', 'from', 'to', 'contract', 'function_name', 'arguments', 'simulation', 'policy', 'warnings'].sort(),
    )
    expect(fields('Token')).toEqual(
      [
        'uuid',
        'network',
        'contract_address',
        'name',
        'symbol',
        'decimals',
        'decimals_unknown',
        'display_decimals',
        'logo_url',
      ].sort(),
    )
    expect(fields('WalletActivityItem')).toEqual(
      [
        'uuid',
        'network',
        'type',
        'timestamp',
        'wallet_address',
        'transaction_hash',
        'from',
        'to',
        'initiated_by',
        'metadata',
        'token',
      ].sort(),
    )
  })
})

describe('the page', () => {
  /** What a reader follows and finds. */
  const read = async () => {
    const page = await service.call('/openapi')
    const ids = [...page.text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id ?? '')
    const links = [...page.text.matchAll(/ href="([^"]+)"/g)].map(([, link]) => link ?? '')
    return { ...page, ids, links }
  }

  test('shows each operation, each field and each code of the document', async () => {
    const { text, ids } = await read()
    expect(ids.filter((id, index) => ids.indexOf(id) < index)).toEqual([])
    const named = operations.map(({ operation }) => operation.operationId)
    expect(named.filter((id) => !ids.includes(id))).toEqual([])
    expect(Object.keys(ERROR_STATUS).filter((code) => !ids.includes(`error-${code}`))).toEqual([])
    const names = new Set<string>()
    walk([document.paths, document.components.schemas], ({ properties, parameters }) => {
      for (const name of Object.keys(properties ?? {})) names.add(name)
      for (const { name } of Array.isArray(parameters) ? parameters : []) names.add(name)
    })
    expect([...names].filter((name) => !text.includes(`<code class="name">${name}</code>`)).sort()).toEqual([])
    expect(text).toContain(
      'exactly one of <code>developer_secret</code>, <code>user_pin</code>, <code>user_secret</code>',
    )
  })

  test('shows each answer of an operation with its body, and among the errors only errors with their codes', async () => {
    const { text } = await read()
    for (const { operation } of operations) {
      const [, article = ''] = text.split(`<article id="${operation.operationId}">`)
      const [shown = ''] = article.split('</article>')
      const [before = '', errors = ''] = shown.split('<h4>Errors</h4>')
      for (const [status, { content, description }] of Object.entries<Json>(operation.responses)) {
        const of = { id: operation.operationId, status }
        const { example, examples } = content?.['application/json'] ?? {}
        if (Number(status) < 400) {
          expect({ ...of, body: unescaped(shown).includes(JSON.stringify(example, null, 2) ?? '') }).toEqual({
            ...of,
            body: true,
          })
          if (status !== '200') expect({ ...of, said: before.includes(description) }).toEqual({ ...of, said: true })
        }
        const [, links = ''] = errors.match(new RegExp(`<dt>${status}</dt><dd>(.*?)</dd>`)) ?? []
        const codes = Number(status) < 400 ? [] : Object.keys(examples)
        expect({ ...of, codes: [...links.matchAll(/>(\w+)</g)].map(([, code]) => code) }).toEqual({ ...of, codes })
        expect({ ...of, listed: errors.includes(`<dt>${status}</dt>`) }).toEqual({ ...of, listed: codes.length > 0 })
      }
    }
    expect(operations.filter(({ operation }) => operation.responses[202] !== undefined).length).toBeGreaterThan(5)
  })

  test('has no script, loads nothing from other origins, and has no dead link', async () => {
    const { text, ids, links, headers } = await read()
    expect(headers.get('content-security-policy')).toBe(PAGE_HEADERS['content-security-policy'] ?? null)
    expect(text).not.toMatch(/<script|<style|style=|\son[a-z]+=|src=/)
    const dead = links.filter((link) => link.startsWith('#') && !ids.includes(link.slice(1)))
    expect(dead).toEqual([])
    const others = [...new Set(links.filter((link) => !link.startsWith('#')))]
    expect(others).toEqual(['data:,', '/pages/style.css', '/pages/api.css', '/openapi/json'])
    for (const path of others.slice(1)) expect((await service.call(path)).status).toBe(200)
  })

  test('has lines for a shell that make the call', async () => {
    const { text } = await read()
    const lines = [...text.matchAll(/<code>(curl [\s\S]*?)<\/code>/g)].map(([, line]) => unescaped(line ?? ''))
    expect(lines.length).toBe(operations.length)
    const { projectId, apiKey } = service.project
    const run = async (line: string) => {
      const typed = line.replace(document.servers[0].url, service.baseUrl)
      const shell = Bun.spawn(['bash', '-c', typed], { env: { ...process.env, project: projectId, key: apiKey } })
      return JSON.parse(await new Response(shell.stdout).text())
    }
    const lineOf = (path: string) => lines.find((line) => line.includes(`${path}"`) || line.includes(`${path}?`)) ?? ''
    expect(await run(lineOf('/wallets'))).not.toMatchObject({ code: 'invalid_input' })
    expect(await run(lineOf('/wallets/get-by-owner-id'))).toMatchObject({ owner_id: 'user-1' })
    expect(await run(lineOf('/policies/revoke'))).toMatchObject({ code: 'not_found' })
  })

  test.skipIf(!hasChromium() || isLeftOut('axe on the page of the API'))(
    'has no accessibility problems, wide and light, and on a phone and dark',
    async () => {
      const browser = await startChromium()
      try {
        for (const [width, colorScheme] of [
          [1440, 'light'],
          [390, 'dark'],
        ] as const) {
          const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
          await page.goto(`${service.baseUrl}/openapi`)
          expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
          // On a phone the contents are behind everything else.
          if (width === 390) await page.getByRole('link', { name: 'Contents', exact: true }).click()
          const link = page.getByRole('link', { name: 'GET List wallets', exact: true })
          expect(await link.evaluate((it) => it.getBoundingClientRect().top < innerHeight)).toBe(true)
          await link.click()
          const top = () => page.locator('#wallets_list').evaluate((it) => Math.abs(it.getBoundingClientRect().top))
          expect(await top()).toBeLessThan(100)
          // On so long a page axe takes most of the test's time.
          if (!isLong)
            await page.evaluate((every) => {
              for (const [index, operation] of document.querySelectorAll('article').entries())
                if (index % every > 0) operation.remove()
            }, AXE_EVERY)
          expect({ width, problems: await accessibilityProblemsOn(page) }).toEqual({ width, problems: [] })
        }
      } finally {
        await browser.close()
      }
    },
  )
})
