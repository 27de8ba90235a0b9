// The only file that reads the environment, once when a process starts.

import { readFileSync } from 'node:fs'
import { ENVIRONMENTS, type Network } from '../../db/words.ts'
import { isLocal, isPrivate, type ListedHosts, listedHosts } from './environment/hosts.ts'
import { readConsolePlace, readVaultPlaces, rightDatabaseUrl, splitWords } from './environment/places.ts'
import {
  flag,
  oneOf,
  problem,
  recorded,
  refuseRootKey,
  required,
  url,
  type Variables,
  wholeNumber,
} from './environment/variables.ts'
import { parseGwei } from './networks/network.ts'
import {
  EVM_NETWORKS,
  furtherNetworks,
  type NetworkRow,
  networkRows,
  SUBSTRATE_NETWORKS,
  variableOf,
} from './networks.ts'
import { readTracing } from './tracing/settings.ts'

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

const readVault = (variables: Variables): RootKeyConfig['vault'] => {
  const [token, file] = [variables.VAULT_TOKEN?.trim(), variables.VAULT_TOKEN_FILE?.trim()]
  if (token && file) throw new Error('Of VAULT_TOKEN and VAULT_TOKEN_FILE only one must be set.')
  const held = file
    ? { file }
    : new Secret(required(variables, 'VAULT_TOKEN', 'a token of Vault, or VAULT_TOKEN_FILE a file with one'))
  return { token: held, namespace: variables.VAULT_NAMESPACE?.trim() || null }
}

const readRootKey = (variables: Variables, name: string): RootKeyConfig | null => {
  const spec = variables[name]?.trim()
  return spec ? { spec, vault: spec.startsWith('vault-transit:') ? readVault(variables) : null } : null
}

/** The characters of a bearer token (RFC 6750 §2.1). */
const TOKEN = /^[A-Za-z0-9._~+/=-]{16,256}$/

const readMetricsToken = ({ METRICS_TOKEN: given }: Variables): Secret | null => {
  const text = given?.trim()
  if (!text) return null
  if (!TOKEN.test(text)) throw problem('METRICS_TOKEN', '16 to 256 letters, digits or any of . _ ~ + / = -')
  return new Secret(text)
}

const NODE_PROTOCOLS = ['ws:', 'wss:', 'http:', 'https:']

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

const nodeUrl = (variables: Variables, name: string, text: string): Secret => {
  url(name, text, NODE_PROTOCOLS)
  if (isMainnet(variables)) refuseUnencrypted(name, text)
  return new Secret(text)
}

/** Nodes of one network; each is asked for its newest block every few seconds. */
const NODES_MAX = 8

const readRpcUrls = (variables: Variables, rows: readonly NetworkRow[]) => {
  const networks = rows.map(({ network }) => network)
  return byNetwork(networks, { variables, what: 'RPC_URL' }, (name, text) => {
    const urls = splitWords(text).map((each) => nodeUrl(variables, name, each))
    if (urls.length > NODES_MAX) throw problem(name, `at most ${NODES_MAX} URLs`)
    if (new Set(urls.map((each) => placeOf(each.reveal()))).size < urls.length) {
      throw problem(name, 'URLs of different nodes: one is there twice')
    }
    return urls
  })
}

/** Gwei with at most nine decimals, so at least one wei. */
const GWEI_AMOUNT = /^[0-9]{1,9}(?:\.[0-9]{1,9})?$/

const readGwei = (name: string, text: string): bigint => {
  if (!GWEI_AMOUNT.test(text)) throw problem(name, 'a decimal number of gwei, such as 500 or 0.5')
  return parseGwei(text)
}

/** Normalises a node's URL for comparison: HTTP and WebSocket share a port, and a host has several spellings. */
const placeOf = (text: string): string => {
  const { protocol, hostname, port, pathname, search } = new URL(text)
  const isTls = ['https:', 'wss:'].includes(protocol)
  return `${hostname}:${port || (isTls ? 443 : 80)}${pathname}${search}`
}

/** A runtime version and the hash of its metadata. */
const PIN = /^([0-9]{1,9}):(0x[0-9a-f]{64})$/i

const readMetadataPins = (variables: Variables) =>
  byNetwork(
    SUBSTRATE_NETWORKS,
    { variables, what: 'METADATA_PIN' },
    (name, text): ReadonlyMap<number, `0x${string}`> => {
      const pins = new Map<number, `0x${string}`>()
      for (const each of splitWords(text)) {
        const [, version, hash] = PIN.exec(each) ?? []
        if (version === undefined || hash === undefined || pins.has(Number(version))) {
          throw problem(name, 'one pin for each version of the runtime, as "cli runtime pin" prints them: 1002006:0x…')
        }
        pins.set(Number(version), `0x${hash.slice(2).toLowerCase()}`)
      }
      return pins
    },
  )

/** A week. */
const STALLED_MAX_SECONDS = 604_800

export const readNetworks = (variables: Variables = process.env): readonly NetworkRow[] => {
  const further = readFurtherNetworks(variables)
  const names = [...EVM_NETWORKS, ...further.map(({ network }) => network)]
  const maxFeesPerGasWei = byNetwork(names, { variables, what: 'MAX_FEE_GWEI' }, readGwei)
  const stalledAfterSeconds = byNetwork(
    [...names, ...SUBSTRATE_NETWORKS],
    { variables, what: 'STALLED_AFTER_SECONDS' },
    (name) => wholeNumber(variables, name, 0, STALLED_MAX_SECONDS),
  )
  return networkRows({ ...readSetting(variables), further, maxFeesPerGasWei, stalledAfterSeconds })
}

const readFurtherNetworks = (variables: Variables) => {
  const path = variables.NETWORKS_FILE?.trim()
  if (!path) return []
  return furtherNetworks({ name: `NETWORKS_FILE ${path}`, text: readText(path) })
}

const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw new Error(`NETWORKS_FILE must be the path of a file that can be read; ${path} is not${why}.`)
  }
}

const readSetting = (variables: Variables) => ({
  environment: oneOf(variables, 'ENVIRONMENT', ENVIRONMENTS),
  devnet: flag(variables, 'DEVNET'),
})

const readMailUrl = ({ MAIL_URL: text }: Variables): Secret | null =>
  text?.trim() ? new Secret(url('MAIL_URL', text.trim(), ['smtp:', 'smtps:'])) : null

const readIpfsApiUrl = (variables: Variables): Secret | null => {
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

const readOutgoingHosts = (variables: Variables): ListedHosts => {
  const name = 'OUTGOING_ALLOWED_HOSTS'
  const listed = listedHosts(splitWords(variables[name] ?? ''))
  if (listed !== null) return listed
  throw problem(name, 'host names, IP addresses and networks, such as id.internal, 10.1.2.3 or fd00::/8, without ports')
}

const isMainnet = (variables: Variables): boolean => variables.ENVIRONMENT?.trim() === 'mainnet'

/** On mainnet, traffic to other machines must be encrypted. */
const refuseUnencrypted = (name: string, text: string): void => {
  const { protocol, hostname } = new URL(text)
  if (['https:', 'wss:'].includes(protocol) || isLocal(hostname)) return
  throw problem(name, 'a URL with https or wss on mainnet, unless its host is this machine')
}

const readTraceSettings = (variables: Variables) => {
  const tracing = readTracing(variables)
  if (tracing !== null && isMainnet(variables)) refuseUnencrypted('OTEL_EXPORTER_OTLP_ENDPOINT', tracing.url)
  return tracing
}

/** For commands that need only the database. */
export const readDatabaseUrl = (variables: Variables = process.env): Secret => {
  const text = url('DATABASE_URL', required(variables, 'DATABASE_URL', 'the URL of a PostgreSQL database'), [
    'postgres:',
    'postgresql:',
  ])
  const right = rightDatabaseUrl(text, { isMainnet: isMainnet(variables), defaultHost: variables.PGHOST })
  if (right !== null) throw problem('DATABASE_URL', right)
  return new Secret(text)
}

const readPublicBaseUrl = (variables: Variables, { port, reader }: { port: number; reader: Reader }): string => {
  const text = variables.PUBLIC_BASE_URL?.trim() || `http://localhost:${port}`
  const { protocol, hostname } = new URL(url('PUBLIC_BASE_URL', text, ['http:', 'https:']))
  // It is written into token URIs, for good, but not by a vault or a console.
  if (
    reader !== 'vault' &&
    reader !== 'console' &&
    isMainnet(variables) &&
    (protocol !== 'https:' || isPrivate(hostname))
  ) {
    throw problem(
      'PUBLIC_BASE_URL',
      'set on mainnet to the https:// URL by which everybody reaches the API, not to a host of a private network',
    )
  }
  return text.replace(/\/+$/, '')
}

const readMetricsListener = (
  variables: Variables,
  name: string,
): { readonly host: string; readonly port: number } | null => {
  const host = variables.METRICS_HOST?.trim() || '127.0.0.1'
  return variables[name]?.trim() ? { host, port: wholeNumber(variables, name, 0, 65_535, 0) } : null
}

const readNodes = (variables: Variables) => {
  const networks = readNetworks(variables)
  return {
    /** All networks of this environment, with or without a node. */
    networks,
    /** The nodes of each network, in the order of preference. A network without a node answers 501. */
    rpcUrls: readRpcUrls(variables, networks),
    /** Metadata that the operator trusts: the BLAKE2b-256 of its bytes, by runtime version. */
    metadataPins: readMetadataPins(variables),
    nodeTimeoutMs: wholeNumber(variables, 'NODE_TIMEOUT_MS', 15_000, 45_000),
    /** How many of the indexed blocks are checked against balances; null: the default of the network's family. */
    balanceCheckPercent: variables.BALANCE_CHECK_PERCENT?.trim()
      ? wholeNumber(variables, 'BALANCE_CHECK_PERCENT', 0, 100, 0)
      : null,
  }
}

/** A vault holds a connection only while a statement runs; most jobs wait for nodes, and hold none. */
const CONNECTIONS = { vault: 6, api: 12, worker: 9, command: 12, console: 6 }

type Reader = keyof typeof CONNECTIONS

const readLimits = (
  variables: Variables,
  { devnet, reader }: { readonly devnet: boolean; readonly reader: Reader },
) => ({
  databaseMaxConnections: wholeNumber(variables, 'DATABASE_MAX_CONNECTIONS', CONNECTIONS[reader], 500),
  workerConcurrency: wholeNumber(variables, 'WORKER_CONCURRENCY', 24, 500),
  rateLimitPerSecond: wholeNumber(variables, 'RATE_LIMIT_PER_SECOND', 50, 1_000_000),
  /** Bytes of bodies, averaged over ten seconds. */
  rateLimitBytesPerSecond: wholeNumber(variables, 'RATE_LIMIT_BYTES_PER_SECOND', 8_388_608, 999_999_999, 500_000),
  expectedWaitMaxMs: wholeNumber(variables, 'EXPECTED_WAIT_MAX_MS', 1_000, 60_000),
  /** How many wrong credentials an API key may send; each process counts its own. */
  wrongPinsPerHour: wholeNumber(variables, 'WRONG_PINS_PER_HOUR', devnet ? 10_000 : 100, 1_000_000),
  wrongSecretsPerMinute: wholeNumber(variables, 'WRONG_SECRETS_PER_MINUTE', devnet ? 10_000 : 60, 1_000_000),
  accessTokenSeconds: wholeNumber(variables, 'ACCESS_TOKEN_SECONDS', 86_400, 604_800, 60),
  /** How long after login a session ends, however often it is refreshed. */
  sessionDays: wholeNumber(variables, 'SESSION_DAYS', 90, 3_650),
  eventDays: wholeNumber(variables, 'EVENT_DAYS', 30, 365),
})

export type Config = Readonly<ReturnType<typeof readConfig>>

export type HasConfig = { readonly config: Config }

/** A process by its settings, and by its name in the log and in pg_stat_activity. */
export type Process = HasConfig & { readonly process: string }

/** @throws Error with one sentence that names the variable and what it must be, never its value. */
export const readConfig = (given: Variables = process.env, reader: Reader = 'command') => {
  const { variables, unknown } = recorded(given)
  return {
    ...readSettings(variables, reader),
    /** Names that look like the service's, perhaps misspelt. */
    unknownVariables: unknown(),
  }
}

const readSettings = (variables: Variables, reader: Reader) => {
  if (reader === 'api' || reader === 'worker' || reader === 'console') refuseRootKey(variables)
  const { environment, devnet } = readSetting(variables)
  if (devnet && environment === 'mainnet') throw new Error('DEVNET must be false where ENVIRONMENT is mainnet.')
  const port = wholeNumber(variables, 'PORT', 3000, 65_535, 0)
  const publicBaseUrl = readPublicBaseUrl(variables, { port, reader })
  return {
    environment,
    /** Local chains, where one block confirms. `http://localhost:*` is an allowed origin. */
    devnet,
    /** Whether `/openapi` is served, where people read about each call. */
    hasApiPage: flag(variables, 'API_PAGE', environment === 'mainnet' ? 'false' : 'true'),
    host: variables.HOST?.trim() || '127.0.0.1',
    /** 0 chooses a free port and logs it. */
    port,
    /** The URL by which clients reach this service, without a trailing slash. */
    publicBaseUrl,
    databaseUrl: readDatabaseUrl(variables),
    ...readVaultPlaces(variables),
    /** The file of a vault's journal, or copies of it; empty: it has none. */
    vaultJournals: splitWords(variables.VAULT_JOURNAL ?? ''),
    /** null in every process but the vault. */
    rootKey: readRootKey(variables, 'ROOT_KEY'),
    nextRootKey: readRootKey(variables, 'ROOT_KEY_NEXT'),
    /** null in a process that only reads. */
    serviceKey: variables.SERVICE_KEY?.trim() || null,
    /** The service key before or after it, while it is changed. */
    otherServiceKey: variables.SERVICE_KEY_OTHER?.trim() || null,
    /** null in a process that neither creates nor verifies tokens, as a vault or a worker. */
    identityKey: variables.IDENTITY_KEY?.trim() || null,
    /** The identity key before or after it, while it is changed. */
    otherIdentityKey: variables.IDENTITY_KEY_OTHER?.trim() || null,
    ...readNodes(variables),
    ...readLimits(variables, { devnet, reader }),
    logLevel: oneOf(variables, 'LOG_LEVEL', ['trace', 'debug', 'info', 'warn', 'error', 'silent'], 'info'),
    accessLog: flag(variables, 'ACCESS_LOG'),
    tracing: readTraceSettings(variables),
    /** The bearer token of `/metrics`; null if none is set. */
    metricsToken: readMetricsToken(variables),
    /** Where an API process serves `/metrics` besides its main address. */
    metricsListener: readMetricsListener(variables, 'METRICS_PORT'),
    workerMetricsListener: readMetricsListener(variables, 'WORKER_METRICS_PORT'),
    ...readConsolePlace(variables),
    /** Hosts to which requests may go although they are not of the public Internet. */
    outgoingHosts: readOutgoingHosts(variables),
    /** How long an API process that is about to end still accepts requests, while it says that it is not ready. */
    shutdownGraceSeconds: wholeNumber(variables, 'SHUTDOWN_GRACE_SECONDS', devnet ? 0 : 5, 300, 0),
    /** How many of our own proxies are in front of this service and add to X-Forwarded-For. */
    trustedProxies: wholeNumber(variables, 'TRUSTED_PROXIES', 0, 10, 0),
    /** The mail server: `smtp://` or `smtps://` with user and password; null: no mail is sent. */
    mailUrl: readMailUrl(variables),
    mailFrom: variables.MAIL_FROM?.trim() || `Strongroom <no-reply@${new URL(publicBaseUrl).hostname}>`,
    /** The RPC API of an IPFS node (Kubo) that pins hosted metadata, with optional user and password, or null. */
    ipfsApiUrl: readIpfsApiUrl(variables),
  }
}
