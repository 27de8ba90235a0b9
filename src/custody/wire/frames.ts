// A stream of bytes as messages: each after its length, 4 bytes, big-endian.

import { moved, zeros } from '../sealing/bytes.ts'
import { Refused } from './data.ts'
import { decode, type Names } from './decode.ts'
import { createWriter, encode, type Writer } from './encode.ts'

const HEAD_BYTES = 4

/**
 * An intent is signed in one message, at each fee that it may be sent at. Those are at most 6 transactions with up to 2 MB of
 * call data each, and as many again to cancel or to replace them.
 */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

/** A larger buffer is not kept for what is sent next. */
const KEPT_BYTES_MAX = 256 * 1024

type FrameWriter = {
  /** Adds a message. @throws Refused for a value that no message can have. */
  add(value: unknown): void
  /** How much was added. */
  byteLength(): number
  /** All that was added, in one piece. Disposing of it zeroes it. */
  take(): Disposable & { readonly bytes: Buffer }
}

/** Collects the messages that are sent together. */
export const createFrameWriter = (): FrameWriter => {
  let writer = createWriter()
  let idle: Writer | null = null
  return {
    add: (value) => {
      const start = encode(writer, value, { headBytes: HEAD_BYTES, bytesMax: HEAD_BYTES + MESSAGE_BYTES_MAX })
      writer.bytes.writeUInt32BE(writer.at - start - HEAD_BYTES, start)
    },
    byteLength: () => writer.at,
    take: () => {
      const taken = writer
      writer = idle ?? createWriter()
      idle = null
      const zero = () => {
        taken.bytes.fill(0, 0, taken.at)
        taken.at = 0
        if (taken.bytes.length <= KEPT_BYTES_MAX) idle = taken
      }
      return { bytes: taken.bytes.subarray(0, taken.at), [Symbol.dispose]: zero }
    },
  }
}

/** A message that was received. */
export type Message = Disposable & {
  readonly value: unknown
  readonly byteLength: number
}

/** Zeroed when it is disposed of, with all Uint8Arrays of its value. */
const messageOf = (bytes: Uint8Array, names: Names): Message => {
  const zero = () => void bytes.fill(0)
  try {
    return { value: decode(bytes, names), byteLength: bytes.length, [Symbol.dispose]: zero }
  } catch (error) {
    zero()
    throw error
  }
}

type FrameReader = Disposable & {
  /** Adds what was received, and zeroes it where it was. */
  push(chunk: Uint8Array): void
  /** The next whole message, or null. @throws Refused, as soon as a length is too large. */
  next(): Message | null
  /** Whether something was received that is no whole message yet. */
  isAmid(): boolean
}

/** Finds the messages in what is received in any pieces. Disposing of the reader zeroes what is no whole message yet. */
export const createFrameReader = (): FrameReader => {
  const names: Names = new Map()
  let chunks: Uint8Array[] = []
  let received = 0
  /** How much must have been received to go on: the length, or the length and the message. */
  let wanted = HEAD_BYTES

  const zero = () => {
    for (const chunk of chunks) chunk.fill(0)
  }

  /** All that was received, in one piece. */
  const joined = (): Uint8Array => {
    const [first = new Uint8Array(), ...more] = chunks
    if (more.length === 0) return first
    const all = zeros(received)
    let at = 0
    for (const chunk of chunks) {
      all.set(chunk, at)
      at += chunk.length
    }
    zero()
    chunks = [all]
    return all
  }

  return {
    push: (chunk) => {
      chunks.push(moved(chunk))
      received += chunk.length
    },
    next: () => {
      if (received < wanted) return null
      const bytes = joined()
      if (wanted === HEAD_BYTES) {
        const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0)
        if (length > MESSAGE_BYTES_MAX) throw new Refused('the message is too large')
        wanted = HEAD_BYTES + length
        if (received < wanted) return null
      }
      const message = bytes.subarray(HEAD_BYTES, wanted)
      received -= wanted
      chunks = received === 0 ? [] : [bytes.subarray(wanted)]
      wanted = HEAD_BYTES
      return messageOf(message, names)
    },
    isAmid: () => received > 0,
    [Symbol.dispose]: () => {
      zero()
      chunks = []
      received = 0
      wanted = HEAD_BYTES
    },
  }
}
