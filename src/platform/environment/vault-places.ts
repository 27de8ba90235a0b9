// Where vaults listen, and how vaults and their clients authenticate each other.

const TLS = 'tls://'

type Variables = Readonly<Record<string, string | undefined>>

/** A list in one variable, separated by commas or spaces. */
export const wordsOf = (text: string): readonly string[] => text.split(/[\s,]+/).filter((word) => word !== '')

/** A host name, an IPv4 address, or an IPv6 address in brackets; then a port. */
const HOST_AND_PORT = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})$/
const DNS_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/

const placeOf = (name: string, text: string, right: string) => {
  const [, host, port] = HOST_AND_PORT.exec(text) ?? []
  if (host === undefined || Number(port) > 65_535) throw new Error(`${name} must be ${right}.`)
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
}

const socketsOf = (variables: Variables): readonly string[] => {
  const sockets = wordsOf(variables.VAULT_SOCKET ?? '')
  for (const socket of sockets) {
    if (!socket.includes('://')) continue
    const right = 'the path of a Unix socket, or tls://host:port'
    placeOf('Each of VAULT_SOCKET', socket.startsWith(TLS) ? socket.slice(TLS.length) : '', right)
  }
  return sockets
}

const FILES = ['VAULT_TLS_CERT_FILE', 'VAULT_TLS_KEY_FILE', 'VAULT_TLS_CA_FILE'] as const

/** The files of this process's own certificate. */
const filesOf = (variables: Variables, needs: string | null) => {
  const [certFile, keyFile, caFile] = FILES.map((name) => {
    const path = variables[name]?.trim()
    if (!path && needs !== null) throw new Error(`${name} must be the path of a PEM file, because ${needs}.`)
    return path
  })
  return certFile && keyFile && caFile ? { certFile, keyFile, caFile } : null
}

const listenOf = (variables: Variables) => {
  const text = variables.VAULT_LISTEN?.trim()
  const clients = wordsOf(variables.VAULT_TLS_CLIENTS ?? '').map((client) => client.toLowerCase())
  if (!text) return null
  const place = placeOf('VAULT_LISTEN', text, 'a host and a port, such as 10.0.4.20:7443')
  if (clients.length === 0 || !clients.every((client) => DNS_NAME.test(client))) {
    throw new Error(
      'VAULT_TLS_CLIENTS must have the DNS names of the certificates of the APIs that may connect at VAULT_LISTEN.',
    )
  }
  return { ...place, clients }
}

/** User ids of Linux have 32 bits, and the last one stands for none. */
const UID_MAX = 0xff_ff_ff_fe

const uidsOf = (variables: Variables): readonly number[] | null => {
  const words = wordsOf(variables.VAULT_CLIENT_UIDS ?? '')
  if (!words.every((word) => /^[0-9]{1,10}$/.test(word) && Number(word) <= UID_MAX)) {
    throw new Error('VAULT_CLIENT_UIDS must be user ids, such as 998, separated by commas.')
  }
  return words.length === 0 ? null : words.map(Number)
}

/** @throws Error with one sentence that names the variable and what it must be. */
export const vaultPlacesOf = (variables: Variables) => {
  const vaultSockets = socketsOf(variables)
  const listen = listenOf(variables)
  const byTls = vaultSockets.some((socket) => socket.startsWith(TLS))
  const files = filesOf(variables, listen ? 'VAULT_LISTEN is set' : byTls ? 'VAULT_SOCKET names a vault by TLS' : null)
  return {
    /** Where vaults listen: paths and `tls://host:port`. In a vault's own environment it is one path. */
    vaultSockets,
    /** The users that may connect at a vault's path; null: all that its mode allows. */
    vaultClientUids: uidsOf(variables),
    /** Where a vault also listens, by TLS, and which clients it allows; or null. */
    vaultListen: listen && files && { ...listen, files },
    /** The certificate of clients that connect by TLS, or null. */
    vaultTls: files,
  }
}
