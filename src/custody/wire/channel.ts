// A socket as a stream of messages, for client and server.

import type { Socket } from 'node:net'
import { Refused } from './data.ts'
import { createFrameReader, frameOf, type Message } from './frames.ts'

export type Channel = {
  /** Sends a value unless it has ended, and zeroes its bytes when they are written. @throws Refused for a value that no message can have. */
  send(value: unknown): void
  /** Goes on to take messages, after `mayTake` was false. */
  take(): void
  /** Whether what was sent waits for the other side to read it. */
  isClogged(): boolean
  /** Waits until it is not, or until the channel is closed. */
  flowing(): Promise<void>
  /** Ends it after what was sent. */
  end(): void
  destroy(): void
}

type Handlers = {
  /** While it is false nothing is read, so that the other side has to wait. */
  readonly mayTake: () => boolean
  /** Whoever takes a message disposes of it. @throws Refused */
  readonly onMessage: (message: Message) => void
  /** The other side sent something that may not come. */
  readonly onRefused: (why: string) => void
  readonly onClosed: () => void
}

export const openChannel = (socket: Socket, handlers: Handlers): Channel => {
  const reader = createFrameReader()
  let flow = Promise.withResolvers<void>()

  const refusing = (act: () => void): void => {
    try {
      act()
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      handlers.onRefused(error.message)
    }
  }

  const takeAll = (): void => {
    while (!socket.destroyed) {
      if (!handlers.mayTake()) {
        socket.pause()
        return
      }
      const message = reader.next()
      if (message === null) break
      handlers.onMessage(message)
    }
    socket.resume()
  }

  const take = () => refusing(takeAll)

  const flows = () => {
    flow.resolve()
    flow = Promise.withResolvers()
  }

  socket.on('data', (chunk: Buffer) => {
    reader.push(new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length))
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
    flows()
    handlers.onClosed()
  })

  return {
    send: (value) => {
      if (!socket.writable) return
      const frame = frameOf(value)
      socket.write(frame, () => void frame.fill(0))
    },
    take,
    isClogged: () => socket.writableNeedDrain,
    flowing: async () => {
      while (socket.writableNeedDrain && !socket.destroyed) await flow.promise
    },
    end: () => void socket.end(),
    destroy: () => void socket.destroy(),
  }
}
