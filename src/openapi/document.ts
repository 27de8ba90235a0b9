// The OpenAPI document: generated from the routes' schemas, with the generator's gaps filled in.

import type { Config } from '../config.ts'

type Json = { readonly [key: string]: unknown }
type DescribedRoute = { readonly method: string; readonly path: string; readonly body: Json | null }

const MEANING: Readonly<Record<string, string>> = {
  200: 'Success.',
  400: 'The input is not valid; `code` says why.',
  401: 'The caller is unknown: the bearer token or the project is wrong, or the login failed.',
  403: 'The caller or the credential may not do this.',
  404: 'The project has no such thing.',
  409: 'It conflicts with what exists.',
  413: 'The body is too large.',
  415: 'The body is not JSON.',
  429: 'Too many requests; see the header Retry-After.',
  500: 'An error on our side; nothing was done.',
  501: 'This deployment does not offer it.',
  503: 'A required part is unavailable at the moment; try again.',
}

const TAGS = [
  { name: 'Wallets', description: 'Addresses and who controls them.' },
  { name: 'Transactions', description: 'Preview, sign, send and status.' },
  { name: 'NFTs', description: 'Collections, minting, transfers, holdings.' },
  { name: 'Policies', description: 'What a wallet owner lets the developer do without the PIN.' },
  { name: 'Activity', description: 'The history of an address.' },
  { name: 'Tokens', description: 'Balances.' },
  { name: 'Addresses', description: 'Descriptions of addresses, and names.' },
  { name: 'Users', description: "End users' logins and sessions." },
  { name: 'Health', description: 'For operators and load balancers.' },
]

const DESCRIPTION = [
  'Wallet custody, transaction preview and submission, NFTs and activity.',
  "Press **Authorize** and enter your project id and an API key, or a user's access token; then you can try each call below.",
  'Every failure is an `ErrorResponse`: one sentence for people, one `code` for programs.',
].join(' ')

const SECURITY_SCHEMES = {
  project: { type: 'apiKey', in: 'header', name: 'X-WalletKit-Project-ID', description: 'Your project id.' },
  bearer: { type: 'http', scheme: 'bearer', description: "An API key of the project, or a user's access token." },
}

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

type Known = { readonly schemas: Record<string, unknown>; readonly networks: readonly string[] }

/** Moves each schema with a title to the components, and refers to it. */
const hoist = (value: unknown, known: Known): unknown => {
  const { schemas, networks } = known
  if (Array.isArray(value)) return value.map((item) => hoist(item, known))
  if (!isJson(value)) return value
  const walked: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    if (key === 'isNetwork' && item === true) walked.enum = networks
    // A schema's own `rule` is only for our error sentences. A property named `rule` is an object, and stays.
    else if (key !== 'rule' || typeof item !== 'string') walked[key] = hoist(item, known)
  }
  const { title, type } = walked
  if (typeof title !== 'string' || typeof type !== 'string') return walked
  schemas[title] = walked
  return { $ref: `#/components/schemas/${title}` }
}

/** All answers are JSON; the generator would declare texts as plain text. */
const asJson = (content: unknown): Json =>
  isJson(content) ? { content: { 'application/json': Object.values(content)[0] } } : {}

/** Each value of an object, changed; what is no object is taken for an empty one. */
const mapped = (value: unknown, change: (each: Json, name: string) => unknown): Json =>
  Object.fromEntries(
    Object.entries(isJson(value) ? value : {}).map(([name, each]) => [name, change(isJson(each) ? each : {}, name)]),
  )

const withMeanings = (responses: unknown): Json =>
  mapped(responses, (response, status) => ({
    ...response,
    ...asJson(response.content),
    description: MEANING[status] ?? status,
  }))

/** Names of operations that cannot be derived from the path. */
const OPERATIONS: Readonly<Record<string, string>> = {
  'get /activity': 'activity_list',
  'get /wallets': 'wallets_list',
  'post /wallets': 'wallets_create',
  'get /nfts': 'nfts_list',
  'post /nfts/collections': 'nfts_create_collection',
  'get /nfts/collections': 'nfts_list_collections',
  'get /policies': 'policies_list',
  'post /policies': 'policies_create',
  'get /metadata/{file}': 'metadata_get',
}

const operationIdOf = (method: string, path: string): string =>
  OPERATIONS[`${method} ${path}`] ?? path.slice(1).replaceAll(/[/-]/g, '_')

/** @param paths from the generator, which does not know that our own parser reads JSON. */
export const describe = (input: {
  readonly config: Pick<Config, 'publicBaseUrl'>
  readonly paths: Json
  /** The networks of this deployment. */
  readonly networks: readonly string[]
  readonly routes: readonly DescribedRoute[]
  /** The credentials that a path needs; null: project and bearer token. */
  readonly securityOf: (path: string) => readonly Json[] | null
}): Json => {
  const schemas: Record<string, unknown> = {}
  const known = { schemas, networks: input.networks }
  const bodies = new Map(input.routes.map(({ method, path, body }) => [`${method.toLowerCase()} ${path}`, body]))
  const operationOf = (path: string, method: string, operation: Json): Json => {
    const body = bodies.get(`${method} ${path}`) ?? null
    const security = input.securityOf(path)
    return {
      ...operation,
      operationId: operationIdOf(method, path),
      ...(body === null ? {} : { requestBody: { required: true, content: { 'application/json': { schema: body } } } }),
      responses: withMeanings(operation.responses),
      ...(security === null ? {} : { security }),
    }
  }
  const paths = mapped(input.paths, (operations, path) =>
    mapped(operations, (operation, method) => hoist(operationOf(path, method, operation), known)),
  )
  return {
    openapi: '3.1.0',
    info: { title: 'Strongroom', version: '0.0.1', description: DESCRIPTION },
    servers: [{ url: input.config.publicBaseUrl }],
    tags: TAGS,
    security: [{ project: [], bearer: [] }],
    paths,
    components: { securitySchemes: SECURITY_SCHEMES, schemas },
  }
}
