// The OpenAPI document: generated from the routes' schemas, with the generator's gaps filled in.

import { OptionalKind } from '@sinclair/typebox'
import type { ChainFamily, Network } from '../../../db/words.ts'
import type { Config } from '../../platform/config.ts'
import type { ErrorCode } from '../../platform/errors.ts'
import { codesOf } from '../../platform/http/codes.ts'
import type { CredentialsTaken, HeaderSet } from '../../platform/http/schema.ts'
import { isJson, type Json, under } from './json.ts'
import { ERROR_SCHEMAS, errorExamplesOf, HEADERS, responsesOf } from './responses.ts'

type DescribedRoute = {
  readonly method: string
  readonly path: string
  readonly body: Json | null
  readonly success: unknown
  readonly accepted: unknown
  readonly errorCodes: readonly ErrorCode[]
  readonly headerSet: HeaderSet | null
}

const TAGS = [
  { name: 'Wallets', description: 'Addresses and who controls them.' },
  { name: 'Transactions', description: 'Preview, sign, send and status.' },
  { name: 'NFTs', description: 'Collections, minting, transfers, holdings.' },
  { name: 'Policies', description: 'What the developer may do with a wallet.' },
  { name: 'Approvals', description: 'Uses of policies that people approve with their passkeys.' },
  { name: 'Webhooks', description: 'URLs that get the events of the project.' },
  { name: 'Activity', description: 'The history of an address.' },
  { name: 'Events', description: 'What happened in a project, to read or to wait for.' },
  { name: 'Tokens', description: 'Tokens and coins: creation, minting, transfers, balances.' },
  { name: 'Addresses', description: 'Descriptions of addresses, and names.' },
  { name: 'Users', description: "End users' logins and sessions." },
  { name: 'Health', description: 'For operators and load balancers.' },
]

const DESCRIPTION = [
  'Wallet custody, transaction preview and submission, NFTs and activity.',
  "Most calls need the id of your project and a bearer token: an API key of the project, or a user's access token.",
  'Every failure is an `ErrorResponse`: one sentence for people, one `code` for programs. Each operation lists its codes; docs/errors.md says what to do about each.',
].join(' ')

const SECURITY_SCHEMES = {
  project: {
    type: 'apiKey',
    in: 'header',
    name: 'X-WalletKit-Project-ID',
    description: 'Your project id. The shorter name `X-Project-ID` works as well.',
  },
  bearer: { type: 'http', scheme: 'bearer', description: "An API key of the project, or a user's access token." },
}

const has = (...names: string[]) => names.map((name) => ({ title: name, required: [name] }))

/** JSON Schema's words for which credentials a body must have. */
const CREDENTIALS: Readonly<Record<CredentialsTaken, Json>> = {
  one: { oneOf: has('developer_secret', 'user_pin', 'user_secret') },
  one_or_both: {
    anyOf: has('developer_secret', 'user_pin', 'user_secret'),
    not: { properties: { user_pin: {}, user_secret: {} }, required: ['user_pin', 'user_secret'] },
  },
  of_user: { oneOf: has('user_pin', 'user_secret') },
  old_of_user: { oneOf: has('old_user_pin', 'user_secret') },
}

const isTaken = (value: unknown): value is CredentialsTaken => typeof value === 'string' && value in CREDENTIALS

type NamedNetwork = { readonly network: Network; readonly family: ChainFamily }

const FAMILY_WORDS: Readonly<Record<ChainFamily, string>> = { evm: 'EVM networks', substrate: 'Substrate networks' }

/** The networks as a list, and in words by family, because descriptions of fields name the families. */
const networksOf = (networks: readonly NamedNetwork[]): Json => {
  const words = [...Map.groupBy(networks, ({ family }) => family)].map(
    ([family, members]) => `${FAMILY_WORDS[family]}: ${members.map(({ network }) => network).join(', ')}.`,
  )
  return { enum: networks.map(({ network }) => network), description: words.join(' ') }
}

type Known = { readonly schemas: Record<string, unknown>; readonly networks: Json }

/** Moves each schema with a title to the components, and refers to it. */
const hoist = (value: unknown, known: Known): unknown => {
  const { schemas, networks } = known
  if (Array.isArray(value)) return value.map((item) => hoist(item, known))
  if (!isJson(value)) return value
  const walked: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) {
    if (key === 'isNetwork' && item === true) Object.assign(walked, networks)
    else if (key === 'credentials' && isTaken(item)) Object.assign(walked, CREDENTIALS[item])
    // A schema's own `rule` is only for our error sentences. A property named `rule` is an object, and stays.
    else if (key !== 'rule' || typeof item !== 'string') walked[key] = hoist(item, known)
  }
  const { title, type } = walked
  if (typeof title !== 'string' || typeof type !== 'string') return walked
  schemas[title] = walked
  return { $ref: `#/components/schemas/${title}` }
}

/** Each value of an object, changed; another value is taken for an empty one. */
const mapped = (value: unknown, change: (each: Json, name: string) => unknown): Json =>
  Object.fromEntries(
    Object.entries(isJson(value) ? value : {}).map(([name, each]) => [name, change(isJson(each) ? each : {}, name)]),
  )

const OPERATIONS: Readonly<Record<string, string>> = {
  'get /activity': 'activity_list',
  'get /events': 'events_list',
  'get /wallets': 'wallets_list',
  'post /wallets': 'wallets_create',
  'get /transactions': 'transactions_list',
  'get /nfts': 'nfts_list',
  'post /nfts/collections': 'nfts_create_collection',
  'get /nfts/collections': 'nfts_list_collections',
  'post /tokens': 'tokens_create',
  'get /tokens/tokens': 'tokens_get',
  'get /policies': 'policies_list',
  'get /approvals': 'approvals_list',
  'post /policies': 'policies_create',
  'get /webhooks': 'webhooks_list',
  'post /webhooks': 'webhooks_create',
  'get /metadata/{file}': 'metadata_get',
  'get /.well-known/jwks.json': 'jwks_get',
}

const operationIdOf = (method: string, path: string): string =>
  OPERATIONS[`${method} ${path}`] ?? path.slice(1).replaceAll(/[/-]/g, '_')

const bodyTypeOf = (body: Json): string =>
  Object.values(under(body, 'properties')).some((field) => isJson(field) && field.format === 'binary')
    ? 'multipart/form-data'
    : 'application/json'

const requestBodyOf = (body: Json): Json => ({
  required: !(OptionalKind in body),
  content: { [bodyTypeOf(body)]: { schema: body } },
})

const takesHeader = ({ parameters }: Json, header: string): boolean =>
  Array.isArray(parameters) && parameters.some((each) => isJson(each) && each.name === header)

/** @param paths from the generator, which does not know that our own parser reads JSON. */
export const describe = (input: {
  readonly config: Pick<Config, 'publicBaseUrl'>
  readonly paths: Json
  readonly networks: readonly NamedNetwork[]
  readonly routes: readonly DescribedRoute[]
  /** What the service posts to receivers, by name. */
  readonly webhooks: Json
  /** The credentials that a path needs; null: project and bearer token. */
  readonly securityOf: (path: string) => readonly Json[] | null
}): Json => {
  const schemas: Record<string, unknown> = { ...ERROR_SCHEMAS }
  const answered = new Set<ErrorCode>()
  const known = { schemas, networks: networksOf(input.networks) }
  const routes = new Map(input.routes.map((route) => [`${route.method.toLowerCase()} ${route.path}`, route]))
  const operationOf = (path: string, method: string, { errorCodes: _, headerSet: __, ...operation }: Json): Json => {
    const route = routes.get(`${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`)
    if (route === undefined) throw new Error(`no route is ${method} ${path}`)
    const { body, success, accepted, headerSet } = route
    const security = input.securityOf(path)
    const codes = codesOf({
      own: route.errorCodes,
      hasBody: method === 'post',
      hasIdempotencyKey: takesHeader(operation, 'Idempotency-Key'),
      caller: security === null ? 'bearer' : security.length === 0 ? 'none' : 'project',
    })
    for (const code of codes) answered.add(code)
    return {
      ...operation,
      operationId: operationIdOf(method, path),
      ...(body === null ? {} : { requestBody: requestBodyOf(body) }),
      responses: responsesOf({ success, accepted, codes, headerSet }),
      ...(security === null ? {} : { security }),
    }
  }
  const paths = mapped(input.paths, (operations, path) =>
    mapped(operations, (operation, method) => hoist(operationOf(path, method, operation), known)),
  )
  return {
    openapi: '3.1.0',
    info: {
      title: 'Strongroom',
      version: '0.0.1',
      description: DESCRIPTION,
      contact: { name: 'The operator of this service', url: input.config.publicBaseUrl },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: input.config.publicBaseUrl }],
    tags: TAGS,
    security: [{ project: [], bearer: [] }],
    paths,
    webhooks: hoist(input.webhooks, known),
    components: { securitySchemes: SECURITY_SCHEMES, headers: HEADERS, examples: errorExamplesOf(answered), schemas },
  }
}
