// Where a server accepts connections.

import { chmod } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { claimSocket } from './socket-file.ts'

/** A connection was refused. `name` is as the client called itself, or what the door knows of it. */
export type Refusal = { readonly why: string; readonly name: string | null }

export type Door = {
  /** @throws Error with a sentence for the operator if it cannot be opened. */
  readonly open: (on: {
    /** @param peer who it is, where the door knows that. */
    readonly onSocket: (socket: Socket, peer: string | null) => void
    readonly onRefused: (refusal: Refusal) => void
    /** It goes on accepting connections. */
    readonly onFailure: (error: unknown) => void
  }) => Promise<{
    /** Where clients find it. */
    readonly place: string
    /** Accepts no more. */
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

/** A Unix socket. @param mode 0o660 lets its group connect too. */
export const doorAtPath = ({ path, mode }: { readonly path: string; readonly mode: 0o600 | 0o660 }): Door => ({
  open: async ({ onSocket, onFailure }) => {
    await claimSocket(path)
    const server = createServer((socket) => onSocket(socket, null))
    await listening(server, (onListening) => server.listen(path, onListening))
    server.on('error', onFailure)
    await chmod(path, mode)
    return { place: path, close: () => void server.close() }
  },
})
