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

/** Users of this machine that may connect, and the user of a connection; null if unknown. */
export type PeerUsers = {
  readonly uids: readonly number[]
  readonly uidOf: (socket: Socket) => number | null
}

/** A Unix socket. @param mode 0o660: its group may connect too. @param users null: all that the mode allows. */
export const doorAtPath = ({
  path,
  mode,
  users = null,
}: {
  readonly path: string
  readonly mode: 0o600 | 0o660
  readonly users?: PeerUsers | null
}): Door => ({
  open: async ({ onSocket, onRefused, onFailure }) => {
    await claimSocket(path)
    const server = createServer((socket) => {
      if (users === null) return onSocket(socket, null)
      const uid = users.uidOf(socket)
      const name = `uid ${uid ?? 'unknown'}`
      if (uid !== null && users.uids.includes(uid)) return onSocket(socket, name)
      socket.on('error', () => {})
      socket.destroy()
      onRefused({ why: 'the user of the client is not in VAULT_CLIENT_UIDS', name })
    })
    await listening(server, (onListening) => server.listen(path, onListening))
    server.on('error', onFailure)
    await chmod(path, mode)
    return { place: path, close: () => void server.close() }
  },
})
