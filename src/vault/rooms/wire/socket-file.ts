// Where a server listens: a file that only its owner and group may open, in a folder that no others may enter.

import { lstat, mkdir, stat, unlink } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { dirname } from 'node:path'

/** sun_path on Linux has 108 bytes, on macOS 104, and ends with a zero. */
const PATH_BYTES_MAX = 103

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/** Whether somebody accepts connections there. */
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
 * Makes a path free to listen at: makes its folder (mode 0700), and removes a socket that nobody listens at any more.
 * @throws Error if others than owner and group may enter the folder, if somebody listens there, or if it is another kind of file.
 */
export const claimSocket = async (path: string): Promise<void> => {
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
