// A core dump is a file with the memory of a process, including keys, PINs and tokens. The kernel writes one when a process
// crashes, or when another process of the same user asks for it. JavaScript cannot turn this off, so we call the C library.

import { platform } from 'node:process'
import { loadFromLibc } from './libc.ts'

/** The same on Linux and macOS. */
const RLIMIT_CORE = 4
/** Linux only. Also stops dumps that the kernel pipes to a program, and other processes of the user that read the memory. */
const PR_SET_DUMPABLE = 4

export const CORE_DUMPS_ALLOWED = 'core dumps cannot be turned off here: start the process with `ulimit -c 0`'

/**
 * Turns core dumps off for this process. Call it before the first key is read.
 * @returns whether the platform allowed it.
 */
export const forbidCoreDumps = async (): Promise<boolean> => {
  const setrlimit = await loadFromLibc('setrlimit', ['i32', 'pointer'])
  if (setrlimit?.(RLIMIT_CORE, new BigUint64Array([0n, 0n])) !== 0) return false
  if (platform !== 'linux') return true
  const prctl = await loadFromLibc('prctl', ['i32', 'u64', 'u64', 'u64', 'u64'])
  return prctl?.(PR_SET_DUMPABLE, 0, 0, 0, 0) === 0
}
