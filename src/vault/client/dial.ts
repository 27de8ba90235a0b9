// A client's way to a server: a Unix socket by its path, or TLS by `tls://host:port`.

import { createConnection, Socket } from 'node:net'
import { connect } from 'node:tls'
import { readTls, type TlsFiles } from './tls-files.ts'

const TLS = 'tls://'

/** Whether a server is reached by TLS, and not by the path of a Unix socket. */
export const isByTls = (place: string): boolean => place.startsWith(TLS)

type Dialled = {
  readonly socket: Socket
  /** The event that comes when the server's identity is verified. */
  readonly openedBy: 'connect' | 'secureConnect'
}

/** Reads the files for each connection, so that renewed ones are used. @throws Error for files that cannot be used. */
const dialTls = (place: string, files: TlsFiles): Socket => {
  const { hostname, port } = new URL(place)
  const host = hostname.replace(/^\[|\]$/g, '')
  const socket = connect({
    ...readTls(files),
    host,
    port: Number(port),
    minVersion: 'TLSv1.3',
    // The certificate must name the host. NODE_TLS_REJECT_UNAUTHORIZED is ignored.
    rejectUnauthorized: true,
  })
  return socket.setNoDelay(true)
}

/** Never throws: a socket that cannot be opened emits 'error'. */
export const dial = (place: string, tls: TlsFiles | null): Dialled => {
  if (!isByTls(place)) return { socket: createConnection(place), openedBy: 'connect' }
  const openedBy = 'secureConnect'
  try {
    if (tls === null) throw new Error(`${place} needs a certificate.`)
    return { socket: dialTls(place, tls), openedBy }
  } catch (error) {
    const socket = new Socket()
    setImmediate(() => socket.destroy(error instanceof Error ? error : new Error('no socket')))
    return { socket, openedBy }
  }
}
