// Reads a 256-bit key from `file:<path>` or `fd:<number>`: 32 raw bytes, or text in hex or base64 that may end with a
// newline. No error contains anything of what was read.

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { deriveKey, KEY_BYTES } from './kdf.ts'

const READ_BYTES_MAX = 1024
const READABLE_BY_OTHERS = 0o077
const FINGERPRINT_BYTES = 8
const HEX = /^[0-9a-fA-F]{64}$/
const HEX_OF_HALF = /^[0-9a-fA-F]{32}$/
const BASE64 = /^[A-Za-z0-9+/]{43}=$/

const readAll = (descriptor: number): Uint8Array => {
  const buffer = Buffer.alloc(READ_BYTES_MAX)
  let length = 0
  while (length < READ_BYTES_MAX) {
    const count = readSync(descriptor, buffer, length, READ_BYTES_MAX - length, null)
    if (count === 0) break
    length += count
  }
  return buffer.subarray(0, length)
}

const decode = (name: string, content: Uint8Array): Uint8Array => {
  const text = Buffer.from(content)
    .toString('latin1')
    .replace(/\r?\n$/, '')
  // 32 hex digits are a key of 16 bytes, given by mistake. Random raw bytes are all hex digits once in 10^34 times.
  if (content.length === KEY_BYTES && !HEX_OF_HALF.test(text)) return Uint8Array.from(content)
  if (HEX.test(text)) return new Uint8Array(Buffer.from(text, 'hex'))
  if (BASE64.test(text)) return new Uint8Array(Buffer.from(text, 'base64'))
  throw new Error(
    `${name} must be ${KEY_BYTES} raw bytes, or as many in hex or base64; what was read has ${content.length} bytes.`,
  )
}

const openFile = (name: string, path: string): number => {
  try {
    // Without O_NONBLOCK opening a pipe would hang here, before it can be refused.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (cause) {
    throw new Error(`The file of ${name}, ${path}, cannot be opened.`, { cause })
  }
}

const refuseOpenFile = (name: string, path: string, descriptor: number): void => {
  const stat = fstatSync(descriptor)
  if (!stat.isFile()) throw new Error(`${name} must be a regular file; ${path} is not.`)
  if ((stat.mode & READABLE_BY_OTHERS) !== 0) {
    throw new Error(
      `The file of ${name}, ${path}, is open to its group or to others: only its owner may read it (chmod 600).`,
    )
  }
}

/** Closes the descriptor, so that no child process inherits it. @returns 32 bytes that the caller zeroes. */
export const readKey = (input: { readonly name: string; readonly spec: string }): Uint8Array => {
  const { name, spec } = input
  const [, path] = /^file:(.+)$/s.exec(spec) ?? []
  const [, number] = /^fd:([0-9]{1,6})$/.exec(spec) ?? []
  if (path === undefined && number === undefined) {
    throw new Error(`${name} must say where the key is: file:/path or fd:N.`)
  }
  const descriptor = path === undefined ? Number(number) : openFile(name, path)
  try {
    if (path !== undefined) refuseOpenFile(name, path, descriptor)
    const content = readAll(descriptor)
    try {
      return decode(name, content)
    } finally {
      content.fill(0)
    }
  } finally {
    closeSync(descriptor)
  }
}

/** A name for a key, which reveals nothing of the key. */
export const fingerprintOf = (key: Uint8Array): string =>
  `key:${Buffer.from(deriveKey(key, ['fingerprint'])).toString('hex', 0, FINGERPRINT_BYTES)}`
