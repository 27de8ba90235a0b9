// A core dump is the memory of a process in a file: keys, PINs and tokens. The kernel writes one when a process crashes, or
// when another of the same user asks for it. JavaScript has no call for this, so the C library's is used.

import { arch, platform } from 'node:process'
import { loadCFunction } from '../runtime.ts'

/** The same on Linux and macOS. */
const RLIMIT_CORE = 4
/** Linux alone: no dump, also where the kernel hands dumps to a program, and no other process of the user reads the memory. */
const PR_SET_DUMPABLE = 4

const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  linux: ['libc.so.6', `libc.musl-${arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`],
  darwin: ['libSystem.B.dylib'],
}

export const CORE_DUMPS_ALLOWED = 'core dumps cannot be turned off here: start the process with `ulimit -c 0`'

/**
 * Makes this process leave no core dump. Call it before the first key is read.
 * @returns whether the platform let it.
 */
export const forbidCoreDumps = async (): Promise<boolean> => {
  const limit = new BigUint64Array([0n, 0n])
  for (const library of LIBRARIES[platform] ?? []) {
    try {
      const setrlimit = await loadCFunction(library, 'setrlimit', ['i32', 'pointer'])
      if (setrlimit(RLIMIT_CORE, limit) !== 0) return false
      if (platform !== 'linux') return true
      const prctl = await loadCFunction(library, 'prctl', ['i32', 'u64', 'u64', 'u64', 'u64'])
      return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) === 0
    } catch {
      // Of another C library: the next one.
    }
  }
  return false
}
