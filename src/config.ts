// The only file that reads the environment, once when a process starts.

import { readFileSync } from 'node:fs'
import { ENVIRONMENTS, type Environment, type Network } from '../db/words.ts'
import {
  EVM_NETWORKS,
  furtherNetworks,
  type NetworkRow,
  networkRows,
  SUBSTRATE_NETWORKS,
  variableOf,
} from './chains/networks.ts'

/** A text that prints as `[secret]` if it is logged, joined or serialised by accident. */
export class Secret {
  readonly #text: string
  constructor(text: string) {
    this.#text = text
  }
  reveal(): string {
    return this.#text
  }
  toString(): string {
    return '[secret]'
  }
  toJSON(): string {
    return '[secret]'
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[secret]'
  }
}

/** Where the root key is: `file:/path`, `fd:3`, or a key in a key service. */
type RootKeyConfig = {
  readonly spec: string
  /** The connection to HashiCorp Vault; null for other key services. */
  readonly vault: {
    readonly token: Secret | { readonly file: string }
    readonly namespace: string | null
  } | null
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

export type Config = {
  readonly environment: Environment
  /** Local chains, where one block confirms. `http://localhost:*` is an allowed origin. */
  readonly devnet: boolean
  readonly host: string
  /** 0 chooses a free port and logs it. */
  readonly port: number
  /** The URL by which clients reach this service, without a trailing slash. */
  readonly publicBaseUrl: string
  readonly databaseUrl: Secret
  readonly databaseMaxConnections: number
  /** null in a process that opens no wallet. */
  readonly rootKey: RootKeyConfig | null
  /** The new root key during a rotation. */
  readonly nextRootKey: RootKeyConfig | null
  readonly serviceKey: string
  /** null in a process that neither creates nor verifies tokens. */
  readonly identityKey: string | null
  /** All networks of this environment, with or without a node. */
  readonly networks: readonly NetworkRow[]
  /** One node per network. A network without a node answers 501. */
  readonly rpcUrls: Readonly<Partial<Record<Network, Secret>>>
  /** Second nodes, which confirm the metadata of a Substrate network that signatures do not cover. */
  readonly secondRpcUrls: Readonly<Partial<Record<Network, Secret>>>
  /** Metadata that the operator trusts: the BLAKE2b-256 of its bytes, by runtime version. */
  readonly metadataPins: Readonly<Partial<Record<Network, ReadonlyMap<number, `0x${string}`>>>>
  /** How long to wait for a node's answer. */
  readonly nodeTimeoutMs: number
  readonly rateLimitPerSecond: number
  /** Bytes of bodies, averaged over ten seconds. */
  readonly rateLimitBytesPerSecond: number
  /** How many wrong credentials an API key may send; each process counts its own. */
  readonly wrongPinsPerHour: number
  readonly wrongSecretsPerMinute: number
  readonly workerConcurrency: number
  /** How many of the indexed blocks are checked against balances; null: the default of the network's family. */
  readonly balanceCheckPercent: number | null
  readonly logLevel: (typeof LOG_LEVELS)[number]
  /** The bearer token of `/metrics`; null if none is set. */
  readonly metricsToken: Secret | null
  /** A separate address at which an API process serves `/metrics`, or null. */
  readonly metricsListener: { readonly host: string; readonly port: number } | null
  /** Where a worker serves `/metrics`, or null. */
  readonly workerMetricsListener: Config['metricsListener']
  readonly accessTokenSeconds: number
  /** How long after login a session ends, however often it is refreshed. */
  readonly sessionDays: number
  /** How many of our own proxies are in front of this service and add to X-Forwarded-For. */
  readonly trustedProxies: number
  /** The mail server: `smtp://` or `smtps://` with user and password; null: no mail is sent. */
  readonly mailUrl: Secret | null
  /** The sender of mails. */
  readonly mailFrom: string
  /** The RPC API of an IPFS node (Kubo) that pins hosted metadata, with optional user and password, or null. */
  readonly ipfsApiUrl: Secret | null
}

type Variables = Readonly<Record<string, string | undefined>>

const problem = (name: string, right: string): Error => new Error(`${name} must be ${right}.`)

const required = (variables: Variables, name: string, right: string): string => {
  const value = variables[name]?.trim()
  if (!value) throw problem(name, right)
  return value
}

const oneOf = <Word extends string>(
  variables: Variables,
  name: string,
  words: readonly Word[],
  fallback?: Word,
): Word => {
  const value = variables[name]?.trim() || fallback
  const word = words.find((each) => each === value)
  if (word === undefined) throw problem(name, `one of ${words.join(', ')}`)
  return word
}

const wholeNumber = (variables: Variables, name: string, fallback: number, most: number, least = 1): number => {
  const text = variables[name]?.trim()
  if (!text) return fallback
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most)) throw problem(name, `a whole number from ${least} to ${most}`)
  return value
}

const balanceCheckPercentOf = (variables: Variables): number | null =>
  variables.BALANCE_CHECK_PERCENT?.trim() ? wholeNumber(variables, 'BALANCE_CHECK_PERCENT', 0, 100, 0) : null

const url = (name: string, text: string, protocols: readonly string[]): string => {
  const parsed = URL.canParse(text) ? new URL(text) : null
  if (parsed === null || !protocols.includes(parsed.protocol)) {
    throw problem(name, `a URL that begins with ${protocols.map((each) => `${each}//`).join(' or ')}`)
  }
  return text
}

const flag = (variables: Variables, name: string): boolean =>
  oneOf(variables, name, ['true', 'false'], 'false') === 'true'

const vaultOf = (variables: Variables): RootKeyConfig['vault'] => {
  const [token, file] = [variables.VAULT_TOKEN?.trim(), variables.VAULT_TOKEN_FILE?.trim()]
  if (token && file) throw new Error('Of VAULT_TOKEN and VAULT_TOKEN_FILE only one must be set.')
  const held = file
    ? { file }
    : new Secret(required(variables, 'VAULT_TOKEN', 'a token of Vault, or VAULT_TOKEN_FILE a file with one'))
  return { token: held, namespace: variables.VAULT_NAMESPACE?.trim() || null }
}

const rootKeyOf = (variables: Variables, name: string): RootKeyConfig | null => {
  const spec = variables[name]?.trim()
  return spec ? readRootKeyConfig(spec, variables) : null
}

/** The characters of a bearer token (RFC 6750 §2.1). */
const TOKEN = /^[A-Za-z0-9._~+/=-]{16,256}$/

const tokenOf = (variables: Variables, name: string): Secret | null => {
  const text = variables[name]?.trim()
  if (!text) return null
  if (!TOKEN.test(text)) throw problem(name, '16 to 256 letters, digits or any of . _ ~ + / = -')
  return new Secret(text)
}

const EVM_PROTOCOLS = ['http:', 'https:']
/** Substrate nodes serve HTTP and WebSocket on one port. */
const SUBSTRATE_PROTOCOLS = ['ws:', 'wss:', ...EVM_PROTOCOLS]

/** The values of a per-network variable; networks without the variable are left out. */
const byNetwork = <Value>(
  networks: readonly Network[],
  input: { readonly variables: Variables; readonly what: string },
  read: (name: string, text: string, network: Network) => Value,
): Readonly<Partial<Record<Network, Value>>> =>
  Object.fromEntries(
    networks.flatMap((network) => {
      const name = variableOf(network, input.what)
      const text = input.variables[name]?.trim()
      return text ? [[network, read(name, text, network)] as const] : []
    }),
  )

const nodeUrl = (variables: Variables, name: string, text: string, protocols: readonly string[]): Secret => {
  url(name, text, protocols)
  if (isMainnet(variables)) refuseUnencrypted(name, text)
  return new Secret(text)
}

const rpcUrlsOf = (variables: Variables, rows: readonly NetworkRow[]): Config['rpcUrls'] => {
  const families = new Map(rows.map(({ network, family }) => [network, family]))
  const protocols = { evm: EVM_PROTOCOLS, substrate: SUBSTRATE_PROTOCOLS }
  return byNetwork([...families.keys()], { variables, what: 'RPC_URL' }, (name, text, network) =>
    nodeUrl(variables, name, text, protocols[families.get(network) ?? 'evm']),
  )
}

/** Gwei with at most nine decimals, so at least one wei. */
const GWEI_AMOUNT = /^([0-9]{1,9})(?:\.([0-9]{1,9}))?$/

const gweiOf = (name: string, text: string): bigint => {
  const [, whole = '', decimals = ''] = GWEI_AMOUNT.exec(text) ?? []
  if (whole === '') throw problem(name, 'a decimal number of gwei, such as 500 or 0.5')
  return BigInt(whole + decimals.padEnd(9, '0'))
}

/** Normalises a node's URL for comparison: HTTP and WebSocket share a port, and a host has several spellings. */
const placeOf = (text: string): string => {
  const { protocol, hostname, port, pathname, search } = new URL(text)
  const isTls = ['https:', 'wss:'].includes(protocol)
  return `${hostname}:${port || (isTls ? 443 : 80)}${pathname}${search}`
}

const secondRpcUrlsOf = (variables: Variables): Config['secondRpcUrls'] =>
  byNetwork(SUBSTRATE_NETWORKS, { variables, what: 'SECOND_RPC_URL' }, (name, text, network) => {
    const second = nodeUrl(variables, name, text, SUBSTRATE_PROTOCOLS)
    const first = variables[variableOf(network, 'RPC_URL')]?.trim() ?? ''
    if (URL.canParse(first) && placeOf(first) === placeOf(text)) {
      throw problem(name, `another node than ${variableOf(network, 'RPC_URL')}`)
    }
    return second
  })

/** A runtime version and the hash of its metadata. */
const PIN = /^([0-9]{1,9}):(0x[0-9a-f]{64})$/i

const metadataPinsOf = (variables: Variables): Config['metadataPins'] =>
  byNetwork(SUBSTRATE_NETWORKS, { variables, what: 'METADATA_PIN' }, (name, text) => {
    const pins = new Map<number, `0x${string}`>()
    for (const each of text.split(/[\s,]+/).filter((word) => word !== '')) {
      const [, version, hash] = PIN.exec(each) ?? []
      if (version === undefined || hash === undefined || pins.has(Number(version))) {
        throw problem(name, 'one pin for each version of the runtime, as "cli runtime pin" prints them: 1002006:0x…')
      }
      pins.set(Number(version), `0x${hash.slice(2).toLowerCase()}`)
    }
    return pins
  })

/** The networks of an environment, with the operator's fee caps. */
export const readNetworks = (variables: Variables = process.env): readonly NetworkRow[] => {
  const further = furtherNetworksOf(variables)
  const names = [...EVM_NETWORKS, ...further.map(({ network }) => network)]
  const maxFeesPerGasWei = byNetwork(names, { variables, what: 'MAX_FEE_GWEI' }, gweiOf)
  return networkRows({ ...settingOf(variables), further, maxFeesPerGasWei })
}

const furtherNetworksOf = (variables: Variables) => {
  const path = variables.NETWORKS_FILE?.trim()
  if (!path) return []
  return furtherNetworks({ name: `NETWORKS_FILE ${path}`, text: textOf(path) })
}

const textOf = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw new Error(`NETWORKS_FILE must be the path of a file that can be read; ${path} is not${why}.`)
  }
}

const settingOf = (variables: Variables) => ({
  environment: oneOf(variables, 'ENVIRONMENT', ENVIRONMENTS),
  devnet: flag(variables, 'DEVNET'),
})

const mailUrlOf = (variables: Variables): Secret | null => {
  const text = variables.MAIL_URL?.trim()
  return text ? new Secret(url('MAIL_URL', text, ['smtp:', 'smtps:'])) : null
}

const ipfsApiUrlOf = (variables: Variables): Secret | null => {
  const text = variables.IPFS_API_URL?.trim()
  if (!text) return null
  const parsed = new URL(url('IPFS_API_URL', text, ['http:', 'https:']))
  if (isMainnet(variables)) refuseUnencrypted('IPFS_API_URL', text)
  if (parsed.search !== '' || parsed.hash !== '') throw problem('IPFS_API_URL', 'a URL without ? and #')
  try {
    decodeURIComponent(`${parsed.username}:${parsed.password}`)
  } catch {
    throw problem('IPFS_API_URL', 'a URL whose user and password are percent-encoded UTF-8')
  }
  return new Secret(text)
}

/** Reads a root key location that was given as an argument. */
export const readRootKeyConfig = (spec: string, variables: Variables = process.env): RootKeyConfig => ({
  spec,
  vault: spec.startsWith('vault-transit:') ? vaultOf(variables) : null,
})

const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]|::1)$/i

/** Whether traffic to a host stays on this machine: a loopback name or address, or the path of a Unix socket. */
const isLocal = (host: string): boolean => LOOPBACK.test(host) || /^(?:\/|%2f)/i.test(host)

/** A database URL may name several hosts, separated by commas. */
const areLocal = (hosts: string): boolean => hosts.split(',').every(isLocal)

const isMainnet = (variables: Variables): boolean => variables.ENVIRONMENT?.trim() === 'mainnet'

/** On mainnet, traffic to other machines must be encrypted. */
const refuseUnencrypted = (name: string, text: string): void => {
  const { protocol, hostname } = new URL(text)
  if (['https:', 'wss:'].includes(protocol) || isLocal(hostname)) return
  throw problem(name, 'a URL with https or wss on mainnet, unless its host is this machine')
}

const TLS_MODES = ['require', 'verify-ca', 'verify-full']

/** The same for the database, whose clients also take the host from other places than the URL. */
const refuseUnencryptedDatabase = (variables: Variables, text: string): void => {
  const { hostname, searchParams } = new URL(text)
  const hosts = [hostname || variables.PGHOST || 'localhost', ...searchParams.getAll('host')]
  const modes = searchParams.getAll('sslmode')
  if (hosts.every(areLocal) || (modes.length > 0 && modes.every((mode) => TLS_MODES.includes(mode)))) return
  throw problem(
    'DATABASE_URL',
    'a URL with ?sslmode=verify-full (or verify-ca, or require) on mainnet, unless its host is this machine',
  )
}

/** For commands that need only the database. */
export const readDatabaseUrl = (variables: Variables = process.env): Secret => {
  const text = url('DATABASE_URL', required(variables, 'DATABASE_URL', 'the URL of a PostgreSQL database'), [
    'postgres:',
    'postgresql:',
  ])
  if (isMainnet(variables)) refuseUnencryptedDatabase(variables, text)
  return new Secret(text)
}

const publicBaseUrlOf = (variables: Variables, port: number): string => {
  const text = variables.PUBLIC_BASE_URL?.trim() || `http://localhost:${port}`
  const { protocol, hostname } = new URL(url('PUBLIC_BASE_URL', text, ['http:', 'https:']))
  if (isMainnet(variables) && (protocol !== 'https:' || isLocal(hostname))) {
    throw problem('PUBLIC_BASE_URL', 'the https:// URL on mainnet by which callers reach the API')
  }
  return text.replace(/\/+$/, '')
}

const metricsListenerOf = (variables: Variables, name: string): Config['metricsListener'] =>
  variables[name]?.trim()
    ? {
        host: variables.METRICS_HOST?.trim() || '127.0.0.1',
        port: wholeNumber(variables, name, 0, 65_535, 0),
      }
    : null

/** @throws Error with one sentence that names the variable and what it must be, never its value. */
export const readConfig = (variables: Variables = process.env): Config => {
  const { environment, devnet } = settingOf(variables)
  if (devnet && environment === 'mainnet') throw new Error('DEVNET must be false where ENVIRONMENT is mainnet.')
  const networks = readNetworks(variables)
  const host = variables.HOST?.trim() || '127.0.0.1'
  const port = wholeNumber(variables, 'PORT', 3000, 65_535, 0)
  const publicBaseUrl = publicBaseUrlOf(variables, port)
  return {
    environment,
    devnet,
    host,
    port,
    publicBaseUrl,
    databaseUrl: readDatabaseUrl(variables),
    databaseMaxConnections: wholeNumber(variables, 'DATABASE_MAX_CONNECTIONS', 20, 500),
    rootKey: rootKeyOf(variables, 'ROOT_KEY'),
    nextRootKey: rootKeyOf(variables, 'ROOT_KEY_NEXT'),
    serviceKey: required(variables, 'SERVICE_KEY', 'where the service key is: file:/path or fd:N'),
    identityKey: variables.IDENTITY_KEY?.trim() || null,
    networks,
    rpcUrls: rpcUrlsOf(variables, networks),
    secondRpcUrls: secondRpcUrlsOf(variables),
    metadataPins: metadataPinsOf(variables),
    nodeTimeoutMs: wholeNumber(variables, 'NODE_TIMEOUT_MS', 15_000, 45_000),
    rateLimitPerSecond: wholeNumber(variables, 'RATE_LIMIT_PER_SECOND', 50, 1_000_000),
    rateLimitBytesPerSecond: wholeNumber(variables, 'RATE_LIMIT_BYTES_PER_SECOND', 8_388_608, 999_999_999, 500_000),
    wrongPinsPerHour: wholeNumber(variables, 'WRONG_PINS_PER_HOUR', devnet ? 10_000 : 100, 1_000_000),
    wrongSecretsPerMinute: wholeNumber(variables, 'WRONG_SECRETS_PER_MINUTE', devnet ? 10_000 : 60, 1_000_000),
    workerConcurrency: wholeNumber(variables, 'WORKER_CONCURRENCY', 24, 500),
    balanceCheckPercent: balanceCheckPercentOf(variables),
    logLevel: oneOf(variables, 'LOG_LEVEL', LOG_LEVELS, 'info'),
    metricsToken: tokenOf(variables, 'METRICS_TOKEN'),
    metricsListener: metricsListenerOf(variables, 'METRICS_PORT'),
    workerMetricsListener: metricsListenerOf(variables, 'WORKER_METRICS_PORT'),
    accessTokenSeconds: wholeNumber(variables, 'ACCESS_TOKEN_SECONDS', 86_400, 604_800, 60),
    sessionDays: wholeNumber(variables, 'SESSION_DAYS', 90, 3_650),
    trustedProxies: wholeNumber(variables, 'TRUSTED_PROXIES', 0, 10, 0),
    mailUrl: mailUrlOf(variables),
    mailFrom: variables.MAIL_FROM?.trim() || `Strongroom <no-reply@${new URL(publicBaseUrl).hostname}>`,
    ipfsApiUrl: ipfsApiUrlOf(variables),
  }
}
