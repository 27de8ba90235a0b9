// Where the database, the console and the vaults are, and how vaults and their clients authenticate each other.

import { isLocal } from './hosts.ts'
import { problem, type Variables, wholeNumber } from './variables.ts'

const TLS_MODES = ['require', 'verify-ca', 'verify-full']
/** Those of libpq. */
const SSL_MODES = ['disable', 'allow', 'prefer', ...TLS_MODES]

/** A database URL may name several hosts, separated by commas. */
const areLocal = (hosts: string): boolean => hosts.split(',').every(isLocal)

/** @returns what the URL must be; null if it is right. @param input.defaultHost the host if the URL has none. */
export const rightDatabaseUrl = (
  text: string,
  input: { readonly isMainnet: boolean; readonly defaultHost: string | undefined },
): string | null => {
  const { hostname, searchParams } = new URL(text)
  const hosts = [hostname || input.defaultHost || 'localhost', ...searchParams.getAll('host')]
  const modes = searchParams.getAll('sslmode')
  const isEncrypted = modes.length > 0 && modes.every((mode) => TLS_MODES.includes(mode))
  if (input.isMainnet && !hosts.every(areLocal) && !isEncrypted) {
    return 'a URL with ?sslmode=verify-full (or verify-ca, or require) on mainnet, unless its host is this machine'
  }
  if (modes.length > 1 || modes.some((mode) => !SSL_MODES.includes(mode))) {
    return `a URL with at most one sslmode, of ${SSL_MODES.join(', ')}`
  }
  if (modes.includes('verify-ca') && !searchParams.get('sslrootcert')) {
    return 'a URL with &sslrootcert=/path beside sslmode=verify-ca: the file of the authority'
  }
  return null
}

/** A passkey works only on the host for which it was made, so this is not taken from requests. */
const readConsoleOrigin = (variables: Variables): string | null => {
  const text = variables.CONSOLE_BASE_URL?.trim()
  if (!text) return null
  const url = URL.canParse(text) ? new URL(text) : null
  const isFit = url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLocal(url.hostname)))
  if (!isFit || url.pathname !== '/') {
    throw problem('CONSOLE_BASE_URL', 'an https:// URL without a path; http:// only if its host is this machine')
  }
  return url.origin
}

/** @throws Error with one sentence that names the variable and what it must be. */
export const readConsolePlace = (variables: Variables) => {
  const consoleHost = variables.CONSOLE_HOST?.trim() || '127.0.0.1'
  const consoleOrigin = readConsoleOrigin(variables)
  // A link's secret would cross the network in plain text.
  if (!isLocal(consoleHost) && !consoleOrigin?.startsWith('https:')) {
    throw problem(
      'CONSOLE_BASE_URL',
      'an https:// URL if CONSOLE_HOST is not this machine: put a proxy with TLS before the console',
    )
  }
  return {
    consoleHost,
    /** 0 chooses a free port and logs it. */
    consolePort: wholeNumber(variables, 'CONSOLE_PORT', 3_900, 65_535, 0),
    /** null: `http://localhost` with the console's port. */
    consoleOrigin,
  }
}

const TLS = 'tls://'

/** A list in one variable, separated by commas or spaces. */
export const splitWords = (text: string): readonly string[] => text.split(/[\s,]+/).filter((word) => word !== '')

/** A host name, an IPv4 address, or an IPv6 address in brackets; then a port. */
const HOST_AND_PORT = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})$/
const DNS_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/

const parsePlace = (name: string, text: string, right: string) => {
  const [, host, port] = HOST_AND_PORT.exec(text) ?? []
  if (host === undefined || Number(port) > 65_535) throw problem(name, right)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

const readSockets = (variables: Variables): readonly string[] => {
  const sockets = splitWords(variables.VAULT_SOCKET ?? '')
  for (const socket of sockets) {
    if (!socket.includes('://')) continue
    const right = 'the path of a Unix socket, or tls://host:port'
    parsePlace('Each of VAULT_SOCKET', socket.startsWith(TLS) ? socket.slice(TLS.length) : '', right)
  }
  return sockets
}

const FILES = ['VAULT_TLS_CERT_FILE', 'VAULT_TLS_KEY_FILE', 'VAULT_TLS_CA_FILE'] as const

const readFiles = (variables: Variables, needs: string | null) => {
  const [certFile, keyFile, caFile] = FILES.map((name) => {
    const path = variables[name]?.trim()
    if (!path && needs !== null) throw problem(name, `the path of a PEM file, because ${needs}`)
    return path
  })
  return certFile && keyFile && caFile ? { certFile, keyFile, caFile } : null
}

const readListen = (variables: Variables) => {
  const text = variables.VAULT_LISTEN?.trim()
  const clients = splitWords(variables.VAULT_TLS_CLIENTS ?? '').map((client) => client.toLowerCase())
  if (!text) return null
  const place = parsePlace('VAULT_LISTEN', text, 'a host and a port, such as 10.0.4.20:7443')
  if (clients.length === 0 || !clients.every((client) => DNS_NAME.test(client))) {
    throw new Error(
      'VAULT_TLS_CLIENTS must have the DNS names of the certificates of the APIs that may connect at VAULT_LISTEN.',
    )
  }
  return { ...place, clients }
}

/** User ids of Linux have 32 bits, and the last one stands for none. */
const UID_MAX = 0xff_ff_ff_fe

const readUids = (variables: Variables): readonly number[] | null => {
  const words = splitWords(variables.VAULT_CLIENT_UIDS ?? '')
  if (!words.every((word) => /^[0-9]{1,10}$/.test(word) && Number(word) <= UID_MAX)) {
    throw problem('VAULT_CLIENT_UIDS', 'user ids, such as 998, separated by commas')
  }
  return words.length === 0 ? null : words.map(Number)
}

/** @throws Error with one sentence that names the variable and what it must be. */
export const readVaultPlaces = (variables: Variables) => {
  const vaultSockets = readSockets(variables)
  const listen = readListen(variables)
  const byTls = vaultSockets.some((socket) => socket.startsWith(TLS))
  const files = readFiles(
    variables,
    listen ? 'VAULT_LISTEN is set' : byTls ? 'VAULT_SOCKET names a vault by TLS' : null,
  )
  return {
    /** Where vaults listen: paths and `tls://host:port`. In a vault's own environment it is one path. */
    vaultSockets,
    /** The users that may connect at a vault's path; null: all that its mode allows. */
    vaultClientUids: readUids(variables),
    /** Where a vault also listens, by TLS, and which clients it allows; or null. */
    vaultListen: listen && files && { ...listen, files },
    /** The certificate of clients that connect by TLS, or null. */
    vaultTls: files,
  }
}
