// Where a server accepts connections.

import { chmod, lstat, mkdir, stat, unlink } from 'node:fs/promises'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'

// Where a server listens: a file that only its owner and group may open, in a folder that no other user may enter.

/** sun_path on Linux has 108 bytes, on macOS 104, and ends with a zero. */
const PATH_BYTES_MAX = 103

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/** Whether a process accepts connections there. */
const isAnswered = (path: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const socket = createConnection(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error) => {
      if (['ECONNREFUSED', 'ENOENT'].includes(String(codeOf(error)))) resolve(false)
      else reject(error)
    })
  })

const refuseOpenFolder = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const { mode } = await stat(folder)
  if ((mode & 0o007) === 0) return
  throw new Error(
    `The folder ${folder} of the vault's socket is open to all users of this machine: run "chmod o-rwx ${folder}", or choose another folder.`,
  )
}

/**
 * Makes a path free to listen at: makes its folder (mode 0700), and removes a socket without a listener.
 * @throws Error if other users than owner and group may enter the folder, if a process listens there, or if it is
 * another kind of file.
 */
const claimSocket = async (path: string): Promise<void> => {
  if (Buffer.byteLength(path) > PATH_BYTES_MAX) {
    throw new Error(`The path of the vault's socket, ${path}, must have at most ${PATH_BYTES_MAX} bytes.`)
  }
  await refuseOpenFolder(dirname(path))
  const file = await lstat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  })
  if (file === null) return
  if (!file.isSocket()) throw new Error(`There is a file at ${path} that is not a socket: choose another path.`)
  if (await isAnswered(path)) throw new Error(`A vault listens at ${path} already: stop it, or choose another path.`)
  await unlink(path)
}

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

/**
 * Users of this machine that may connect (null: all that the mode allows), and the user of a connection; null if
 * unknown.
 */
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
