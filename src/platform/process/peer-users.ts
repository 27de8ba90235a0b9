// Finds the user at the other end of a Unix socket, as Linux recorded it when the other end connected.

import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { platform } from 'node:process'
import { loadFromLibc } from './libc.ts'

/** Equal on x86-64 and ARM64. */
const SOL_SOCKET = 1
const SO_PEERCRED = 17
/** struct ucred: pid, uid, gid, of 4 bytes each. */
const UCRED_WORDS = 3

/** Undocumented, but both runtimes have `_handle.fd`. */
const descriptorOf = (socket: Socket): number | null => {
  const handle: unknown = Reflect.get(socket, '_handle')
  const descriptor: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : undefined
  return typeof descriptor === 'number' && descriptor >= 0 ? descriptor : null
}

/** Whether this `uid_map` has a user. In a user namespace the kernel shows all users that it lacks as 65534. */
export const isMapped = (uid: number, uidMap: string): boolean =>
  uidMap
    .trim()
    .split('\n')
    .some((line) => {
      const [first = 0, , count = 0] = line.trim().split(/\s+/).map(Number)
      return uid >= first && uid < first + count
    })

/**
 * The users that may connect (null: all), and the user of a connection (null if the kernel does not say).
 * @returns null if the kernel does not say it of any connection.
 * @throws Error with a sentence for the operator if the kernel cannot distinguish the users that may connect.
 */
export const peerUsers = async (uids: readonly number[] | null) => {
  const getsockopt =
    platform === 'linux' ? await loadFromLibc('getsockopt', ['i32', 'i32', 'i32', 'pointer', 'pointer']) : null
  if (getsockopt === null && uids === null) return null
  if (getsockopt === null) throw new Error('VAULT_CLIENT_UIDS needs Linux: do without it on this machine.')
  const uidMap = readFileSync('/proc/self/uid_map', 'utf8')
  const unmapped = uids?.find((uid) => !isMapped(uid, uidMap))
  if (unmapped !== undefined) {
    throw new Error(
      `VAULT_CLIENT_UIDS has ${unmapped}, a user that this process cannot distinguish from others: set PrivateUsers=no in its unit.`,
    )
  }
  const uidOf = (socket: Socket): number | null => {
    const descriptor = descriptorOf(socket)
    if (descriptor === null) return null
    const credentials = new Uint32Array(UCRED_WORDS)
    const size = new Uint32Array([credentials.byteLength])
    const answer = getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, credentials, size)
    return answer === 0 && size[0] === credentials.byteLength ? (credentials[1] ?? null) : null
  }
  return { uids, uidOf }
}
