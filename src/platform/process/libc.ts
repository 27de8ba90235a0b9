// Functions of the C library, for kernel calls that JavaScript lacks.

import { arch, platform } from 'node:process'
import { loadCFunction } from '../environment/runtime.ts'

const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  linux: ['libc.so.6', `libc.musl-${arch === 'arm64' ? 'aarch64' : 'x86_64'}.so.1`],
  darwin: ['libSystem.B.dylib'],
}

/** @returns null if the system lacks the function. */
export const loadFromLibc = async (
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
