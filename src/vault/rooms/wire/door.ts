// Where a server accepts connections.

import { chmod } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { claimSocket } from './socket-file.ts'

/** A refused connection. `name`: what the client calls itself, or what the door knows of it. */
export type RefusedConnection = { readonly why: string; readonly name: string | null }

export type Door = {
  /** @throws Error with a sentence for the operator if it cannot be opened. */
  readonly open: (on: {
    /** @param peer who the client is, if the door knows. */
    readonly onSocket: (socket: Socket, peer: string | null) => void
    readonly onRefused: (refusal: RefusedConnection) => void
    /** After a failure the door goes on accepting connections. */
    readonly onFailure: (error: unknown) => void
  }) => Promise<{
    /** The path or the host and port for clients. */
    readonly place: string
    /** Stops accepting connections. */
    readonly close: () => void
  }>
}

/** Resolves when the server listens, and rejects if it cannot. */
export const listening = async (server: Server, listen: (onListening: () => void) => void): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  listen(resolve)
  await promise
  server.off('error', reject)
}

/** Users of this machine that may connect (null: all that the mode allows), and the user of a connection; null if unknown. */
export type PeerUsers = {
  readonly uids: readonly number[] | null
  readonly uidOf: (socket: Socket) => number | null
}

const CONNECTIONS_MAX = 256
/** So that one user cannot take all of them. A process has one, and one more while a vault leaves. */
const OF_ONE_USER_MAX = 64

/** @returns takes a place for a connection until it is closed; false if its peer has so many already. */
export const limitPeers = (max: number): ((socket: Socket, peer: string) => boolean) => {
  const counts = new Map<string, number>()
  return (socket, peer) => {
    const count = (counts.get(peer) ?? 0) + 1
    if (count > max) return false
    counts.set(peer, count)
    socket.once('close', () => {
      const left = (counts.get(peer) ?? 1) - 1
      if (left === 0) counts.delete(peer)
      else counts.set(peer, left)
    })
    return true
  }
}

/** A Unix socket. @param mode 0o660: its group may connect too. @param users null: nothing is known of them. */
export const doorAtPath = ({
  path,
  mode,
  users = null,
  connectionsMax = CONNECTIONS_MAX,
  ofOneUserMax = OF_ONE_USER_MAX,
}: {
  readonly path: string
  readonly mode: 0o600 | 0o660
  readonly users?: PeerUsers | null
  readonly connectionsMax?: number
  readonly ofOneUserMax?: number
}): Door => ({
  open: async ({ onSocket, onRefused, onFailure }) => {
    await claimSocket(path)
    const hasPlace = limitPeers(ofOneUserMax)
    const server = createServer((socket) => {
      const uid = users?.uidOf(socket) ?? null
      const name = `uid ${uid ?? 'unknown'}`
      const refuse = (why: string) => {
        socket.on('error', () => {})
        socket.destroy()
        onRefused({ why, name })
      }
      const uids = users?.uids ?? null
      const isAllowed = uids === null || (uid !== null && uids.includes(uid))
      if (!isAllowed) return refuse('the user of the client is not in VAULT_CLIENT_UIDS')
      if (!hasPlace(socket, name)) return refuse('there are too many connections of one user')
      onSocket(socket, uids && name)
    })
    server.maxConnections = connectionsMax
    server.on('drop', () => onRefused({ why: 'there are too many connections', name: null }))
    await listening(server, (onListening) => server.listen(path, onListening))
    server.on('error', onFailure)
    await chmod(path, mode)
    return { place: path, close: () => void server.close() }
  },
})
