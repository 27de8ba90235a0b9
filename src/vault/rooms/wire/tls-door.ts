// A port where clients of other machines connect by TLS 1.3. Both sides show a certificate of an authority that serves
// only them; a client's certificate must also have one of the allowed names. Other clients are refused before any of
// their bytes is read as a message.
//
// If a client's host dies, its connection stays idle until the kernel gives up sending, after some minutes.

import { constants } from 'node:crypto'
import type { Socket } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { readTls, type TlsFiles, type TlsParts } from '../../client/tls-files.ts'
import { type Door, limitPeers, listening } from './door.ts'

const HANDSHAKE_MS = 5_000
/** Connections at once, including those that have not shown a certificate yet. */
const CONNECTIONS_MAX = 512
/** So that one host cannot take all of them. An API has one, and one more while a vault leaves. */
const OF_ONE_ADDRESS_MAX = 64
const RENEW_EVERY_MS = 5_000

export type TlsDoor = {
  readonly host: string
  /** 0 chooses a free port. */
  readonly port: number
  readonly files: TlsFiles
  /** DNS names. A client's certificate must have one of them. */
  readonly clients: readonly string[]
  readonly renewEveryMs?: number
  readonly connectionsMax?: number
  readonly ofOneAddressMax?: number
}

const optionsOf = (parts: TlsParts) =>
  ({
    ...parts,
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    // No resumption: the certificate of a resumed session may have expired.
    secureOptions: constants.SSL_OP_NO_TICKET,
    handshakeTimeout: HANDSHAKE_MS,
  }) as const

/** A client's name must be a DNS name of its certificate: no wildcard, and not the subject's common name. */
const EXACTLY = { subject: 'never', wildcards: false, partialWildcards: false } as const

/** The allowed name in a client's certificate, or null. */
const nameOf = (socket: TLSSocket, clients: readonly string[]): string | null => {
  const certificate = socket.authorized ? socket.getPeerX509Certificate() : undefined
  if (certificate?.subjectAltName === undefined) return null
  return clients.find((client) => certificate.checkHost(client, EXACTLY) !== undefined) ?? null
}

/** The errors of X509_verify_cert_error_string(3) that an operator may meet. Deno reports fewer. */
const WHY: Readonly<Record<string, string>> = {
  ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE: 'TLS: the client has no certificate',
  CERT_HAS_EXPIRED: 'TLS: the certificate of the client has expired',
  CERT_NOT_YET_VALID: 'TLS: the certificate of the client is not valid yet',
  INVALID_PURPOSE: 'TLS: the certificate of the client is not for clients',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLS: the certificate of the client is of another authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'TLS: the certificate of the client is of another authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLS: the certificate of the client is of another authority',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS: the certificate of the client is of another authority',
}
const NO_HANDSHAKE = 'TLS: there was no handshake'

const whyOf = (error: object): string => ('code' in error ? WHY[String(error.code)] : undefined) ?? NO_HANDSHAKE

const isSame = (one: TlsParts, other: TlsParts): boolean =>
  one.cert.equals(other.cert) && one.key.equals(other.key) && one.ca.equals(other.ca)

/** Looks for renewed files, and reports once those that cannot be used. */
const renewing = (
  { files, parts, everyMs }: { readonly files: TlsFiles; readonly parts: TlsParts; readonly everyMs: number },
  on: { readonly onRenewed: (parts: TlsParts) => void; readonly onFailure: (error: unknown) => void },
): NodeJS.Timeout => {
  let used = parts
  let failure = ''
  return setInterval(() => {
    try {
      const found = readTls(files)
      failure = ''
      if (isSame(found, used)) return
      on.onRenewed(found)
      used = found
    } catch (error) {
      if (String(error) !== failure) on.onFailure(error)
      failure = String(error)
    }
  }, everyMs)
}

/** Closes the connections of an address beyond `max`, before their handshake. */
const limitAddresses = (server: Server, max: number, onBeyond: (address: string) => void): void => {
  const hasPlace = limitPeers(max)
  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    if (hasPlace(socket, address)) return
    socket.on('error', () => {})
    socket.destroy()
    onBeyond(address)
  })
}

/** A door by TLS. Renewed files are used for new connections within seconds. */
export const doorByTls = ({ host, port, files, clients, ...bounds }: TlsDoor): Door => ({
  open: async ({ onSocket, onRefused, onFailure }) => {
    const { renewEveryMs: everyMs = RENEW_EVERY_MS } = bounds
    const { connectionsMax = CONNECTIONS_MAX, ofOneAddressMax = OF_ONE_ADDRESS_MAX } = bounds
    const parts = readTls(files)
    const server = createServer(optionsOf(parts), (socket) => {
      const client = nameOf(socket, clients)
      if (client !== null) return onSocket(socket.setNoDelay(true), client)
      const name = socket.remoteAddress ?? null
      socket.on('error', () => {})
      socket.destroy()
      onRefused({ why: 'TLS: the certificate of the client has no name in VAULT_TLS_CLIENTS', name })
    })
    server.maxConnections = connectionsMax
    server.on('drop', (dropped) => {
      onRefused({ why: 'TLS: there are too many connections', name: dropped?.remoteAddress ?? null })
    })
    /** A failed handshake of each of these is reported as well. */
    let closedByUs = 0
    limitAddresses(server, ofOneAddressMax, (name) => {
      closedByUs += 1
      onRefused({ why: 'TLS: there are too many connections of one address', name })
    })
    server.on('tlsClientError', (error, socket) => {
      if (socket.destroyed && closedByUs > 0) {
        closedByUs -= 1
        return
      }
      const name = socket.remoteAddress ?? null
      socket.destroy()
      onRefused({ why: whyOf(error), name })
    })
    await listening(server, (onListening) => server.listen(port, host, onListening)).catch((cause: unknown) => {
      const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : ''
      throw new Error(`The vault cannot listen at VAULT_LISTEN, ${host}:${port}${why}.`, { cause })
    })
    server.on('error', onFailure)
    const timer = renewing(
      { files, parts, everyMs },
      { onRenewed: (next) => server.setSecureContext(optionsOf(next)), onFailure },
    )
    const address = server.address()
    const taken = typeof address === 'object' && address !== null ? address.port : port
    const close = () => {
      clearInterval(timer)
      server.close()
    }
    return { place: `tls://${host.includes(':') ? `[${host}]` : host}:${taken}`, close }
  },
})
