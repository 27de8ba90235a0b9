// A stream of bytes as messages: each after its length, 4 bytes, big-endian.

import { Refused } from './data.ts'
import { decode } from './decode.ts'
import { encode } from './encode.ts'

const HEAD_BYTES = 4

/**
 * An intent is signed in one message, at each fee that it may be sent at. Those are at most 6 transactions with up to 2 MB of
 * call data each, and as many again to cancel or to replace them.
 */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

/** A message with its length. Whoever sends it zeroes it. @throws Refused for a value that no message can have. */
export const frameOf = (value: unknown): Buffer => {
  const frame = encode(value, { headBytes: HEAD_BYTES, bytesMax: HEAD_BYTES + MESSAGE_BYTES_MAX })
  frame.writeUInt32BE(frame.length - HEAD_BYTES)
  return frame
}

/** A message that was received. */
export type Message = Disposable & {
  readonly value: unknown
  readonly byteLength: number
}

/** Zeroed when it is disposed of, with all Uint8Arrays of its value. */
const messageOf = (bytes: Uint8Array): Message => {
  const zero = () => void bytes.fill(0)
  try {
    return { value: decode(bytes), byteLength: bytes.length, [Symbol.dispose]: zero }
  } catch (error) {
    zero()
    throw error
  }
}

type FrameReader = Disposable & {
  /** Adds what was received. It belongs to the reader from now on. */
  push(chunk: Uint8Array): void
  /** The next whole message, or null. @throws Refused, as soon as a length is too large. */
  next(): Message | null
  /** Whether something was received that is no whole message yet. */
  isAmid(): boolean
}

/**
 * Finds the messages in what is received in any pieces. A message within one piece is not copied, others are once. Disposing
 * of the reader zeroes what is no whole message yet.
 */
export const createFrameReader = (): FrameReader => {
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
    const all = Buffer.concat(chunks)
    zero()
    chunks = [all]
    return all
  }

  return {
    push: (chunk) => {
      chunks.push(chunk)
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
      chunks = [bytes.subarray(wanted)]
      received -= wanted
      wanted = HEAD_BYTES
      return messageOf(message)
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
