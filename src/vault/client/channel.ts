// A socket as a stream of messages, for client and server.

import type { Socket } from 'node:net'
import { Refused } from './data.ts'
import { createFrameReader, createFrameWriter, type Message } from './frames.ts'

const TOGETHER_BYTES_MAX = 64 * 1024

export type Channel = {
  /**
   * Sends a value unless it has ended, together with others of this turn of the event loop: so those that arrive
   * together stay together. Its bytes are zeroed when they are written. @throws Refused for a value that no message can
   * have.
   */
  send(value: unknown): void
  /** Goes on to take messages, after `mayTake` was false. */
  take(): void
  /** Whether what was sent waits for the other side to read it. */
  isClogged(): boolean
  /** Waits until it is not, or until the channel is closed. */
  flowing(): Promise<void>
  /**
   * To be called again and again. @returns for how many calls the other side has left a message unfinished, or has not
   * read what was sent. So a process that stood still itself does not accuse its peer.
   */
  stalled(): number
  /** Ends it after what was sent. */
  end(): void
  destroy(): void
}

type Handlers = {
  /** While it is false nothing is read, so that the other side has to wait. */
  readonly mayTake: () => boolean
  /** Takes part in the room for messages; by default there is always some. */
  readonly enterRoom?: (
    onRoom: () => void,
  ) => Disposable & { readonly take: NonNullable<Parameters<typeof createFrameReader>[0]> }
  /** The code that takes a message disposes of it. @throws Refused */
  readonly onMessage: (message: Message) => void
  /** The other side sent something that may not come. */
  readonly onRefused: (why: string) => void
  readonly onClosed: () => void
}

/** Writes in one piece what is sent in one turn of the event loop. */
const createSending = (socket: Socket): Pick<Channel, 'send'> & { readonly flush: () => void } => {
  const writer = createFrameWriter()
  let isDue = false

  const flush = () => {
    isDue = false
    const together = writer.take()
    const zero = () => together[Symbol.dispose]()
    if (socket.writable && together.bytes.length > 0) socket.write(together.bytes, zero)
    else zero()
  }

  const send = (value: unknown) => {
    if (!socket.writable) return
    writer.add(value)
    if (writer.byteLength() > TOGETHER_BYTES_MAX) flush()
    if (!isDue) setImmediate(flush)
    isDue = true
  }

  return { send, flush }
}

/** How often in succession the other side was seen to keep this one waiting. */
const createStalls = (isStalled: () => boolean) => {
  let calls = 0
  return {
    count: (): number => {
      calls = isStalled() ? calls + 1 : 0
      return calls
    },
    end: () => {
      calls = 0
    },
  }
}

export const openChannel = (socket: Socket, handlers: Handlers): Channel => {
  const share = handlers.enterRoom?.(() => take())
  const reader = createFrameReader(share?.take)
  const sending = createSending(socket)
  let flow = Promise.withResolvers<void>()
  const stalls = createStalls(() => socket.writableNeedDrain || (reader.isAmid() && !socket.isPaused()))

  const takeAll = (): void => {
    while (!socket.destroyed) {
      const mayTake = handlers.mayTake()
      const message = mayTake ? reader.next() : null
      if (!mayTake || reader.isWaiting()) return void socket.pause()
      if (message === null) break
      stalls.end()
      handlers.onMessage(message)
    }
    socket.resume()
  }

  const take = () => {
    try {
      takeAll()
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      handlers.onRefused(error.message)
    }
  }

  const flows = () => {
    stalls.end()
    flow.resolve()
    flow = Promise.withResolvers()
  }

  socket.on('data', (chunk: Buffer) => {
    reader.push(chunk)
    take()
  })
  socket.on('end', () => {
    if (reader.isAmid()) handlers.onRefused('the connection ended within a message')
  })
  socket.on('drain', () => {
    flows()
    take()
  })
  // 'close' follows.
  socket.on('error', () => {})
  socket.on('close', () => {
    reader[Symbol.dispose]()
    share?.[Symbol.dispose]()
    flows()
    handlers.onClosed()
  })

  return {
    send: sending.send,
    take,
    isClogged: () => socket.writableNeedDrain,
    flowing: async () => {
      while (socket.writableNeedDrain && !socket.destroyed) await flow.promise
    },
    stalled: stalls.count,
    end: () => {
      sending.flush()
      socket.end()
    },
    destroy: () => void socket.destroy(),
  }
}
