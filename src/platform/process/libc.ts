// Functions of the C library, for kernel calls that JavaScript lacks.

import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { arch, platform } from 'node:process'
import { loadCFunction } from '../environment/runtime.ts'

const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  linux: ['libc.so.6', `libc.musl-${arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`],
  darwin: ['libSystem.B.dylib'],
}

/** @returns null if the system lacks the function. */
const loadFromLibc = async (
  name: string,
  parameters: Parameters<typeof loadCFunction>[2],
): Promise<Awaited<ReturnType<typeof loadCFunction>> | null> => {
  for (const library of LIBRARIES[platform] ?? []) {
    try {
      return await loadCFunction(library, name, parameters)
    } catch {
      // The system has another C library: try the next one.
    }
  }
  return null
}

// Finds the user at the other end of a Unix socket, as Linux recorded it when the other end connected.

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

/** @returns null if the kernel says no users. @throws Error if it cannot distinguish those that may connect. */
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

// A core dump is a file with the memory of a process, including keys, PINs and tokens. The kernel writes one when a
// process crashes, or when another process of the same user asks for it. JavaScript cannot turn this off, so we call
// the C library.

/** The same on Linux and macOS. */
const RLIMIT_CORE = 4
/** Linux only. Also stops dumps to a program, and other processes of the user from reading the memory. */
const PR_SET_DUMPABLE = 4

export const CORE_DUMPS_ALLOWED = 'core dumps cannot be turned off here: start the process with `ulimit -c 0`'

/** Call it before the first key is read. @returns whether the platform allowed it. */
export const forbidCoreDumps = async (): Promise<boolean> => {
  const setrlimit = await loadFromLibc('setrlimit', ['i32', 'pointer'])
  if (setrlimit?.(RLIMIT_CORE, new BigUint64Array([0n, 0n])) !== 0) return false
  if (platform !== 'linux') return true
  const prctl = await loadFromLibc('prctl', ['i32', 'u64', 'u64', 'u64', 'u64'])
  return prctl?.(PR_SET_DUMPABLE, 0, 0, 0, 0) === 0
}
