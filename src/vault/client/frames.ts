// A stream of bytes as messages: each after its length, 4 bytes, big-endian.

import { joined, moved, zeros } from '../../platform/sealing/bytes.ts'
import { Refused } from './data.ts'
import { decode, type Names } from './decode.ts'
import { createWriter, encode, type Writer } from './encode.ts'

const HEAD_BYTES = 4

/**
 * An intent is signed in one message, at each fee that it may be sent at. Those are at most 6 transactions with up to 2
 * MB of call data each, and as many again to cancel or to replace them.
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
}

/** Zeroed when it is disposed of, with all Uint8Arrays of its value. */
const messageOf = (bytes: Uint8Array, { names, room }: { names: Names; room: Disposable }): Message => {
  const end = () => {
    bytes.fill(0)
    room[Symbol.dispose]()
  }
  try {
    return { value: decode(bytes, names), [Symbol.dispose]: end }
  } catch (error) {
    end()
    throw error
  }
}

const NOTHING: Uint8Array = new Uint8Array()
const UNBOUNDED: Disposable = { [Symbol.dispose]: () => {} }

type FrameReader = Disposable & {
  /** Adds what was received, and zeroes it where it was. */
  push(chunk: Uint8Array): void
  /** The next whole message, or null. @throws Refused, as soon as a length is too large. */
  next(): Message | null
  /** Whether the next message found no room. */
  isWaiting(): boolean
  /** Whether it has received part of a message. */
  isAmid(): boolean
}

/** A message of which a part was received. Its place has its whole length, however small the parts are. */
type Begun = { readonly bytes: Uint8Array; received: number; readonly room: Disposable }

/**
 * Finds the messages in what is received in any pieces. Disposing of the reader zeroes an incomplete message.
 * @param takeRoom for a message of this length, until its end; null if there is none. By default there always is.
 */
export const createFrameReader = (takeRoom: (bytes: number) => Disposable | null = () => UNBOUNDED): FrameReader => {
  const names: Names = new Map()
  /** Received, and not looked at. */
  let rest = NOTHING
  let begun: Begun | null = null
  let isWaiting = false

  /** Moves what belongs to the message that has begun. @returns the other bytes. */
  const fill = (message: Begun, chunk: Uint8Array): Uint8Array => {
    const part = chunk.subarray(0, message.bytes.length - message.received)
    message.bytes.set(part, message.received)
    message.received += part.length
    part.fill(0)
    return chunk.subarray(part.length)
  }

  const end = ({ bytes, room }: Begun): Message => {
    begun = null
    return messageOf(bytes, { names, room })
  }

  return {
    push: (chunk) => {
      const more = begun === null ? chunk : fill(begun, chunk)
      if (more.length === 0) return
      const [earlier, later] = [rest, moved(more)]
      rest = earlier.length === 0 ? later : joined([earlier, later])
      if (rest === later) return
      earlier.fill(0)
      later.fill(0)
    },
    next: () => {
      if (begun !== null) return begun.received < begun.bytes.length ? null : end(begun)
      if (rest.length < HEAD_BYTES) return null
      const length = new DataView(rest.buffer, rest.byteOffset).getUint32(0)
      if (length > MESSAGE_BYTES_MAX) throw new Refused('the message is too large')
      const room = takeRoom(length)
      isWaiting = room === null
      if (room === null) return null
      const received = rest.subarray(HEAD_BYTES)
      if (received.length >= length) {
        rest = received.length === length ? NOTHING : received.subarray(length)
        return messageOf(received.subarray(0, length), { names, room })
      }
      begun = { bytes: zeros(length), received: 0, room }
      fill(begun, received)
      rest = NOTHING
      return null
    },
    isWaiting: () => isWaiting,
    isAmid: () => begun !== null || rest.length > 0,
    [Symbol.dispose]: () => {
      rest.fill(0)
      rest = NOTHING
      begun?.bytes.fill(0)
      begun?.room[Symbol.dispose]()
      begun = null
    },
  }
}
