// A TCP connection's middle: it can go silent, as a network does that loses every packet. Nothing is closed and nothing
// refused. Or it is far away: all answers come late, however many are under way.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { byTcp } from './postgres.ts'

export type TcpProxy = {
  /** The address of the target, with the proxy's host and port. */
  readonly url: string
  /** From now on nothing passes, in both directions; new connections are accepted, and get no answer. */
  readonly freeze: () => void
  /** From now on nothing passes on the connections that are open, as if their host was lost; new ones work. */
  readonly silence: () => void
  /** From now on new connections go to this port of the host. */
  readonly turnTo: (port: number) => void
  /** Ends all connections. New ones are accepted. */
  readonly cut: () => void
  /** Lets pass what has waited. */
  readonly thaw: () => void
  readonly stop: () => Promise<void>
}

/**
 * @param target a URL with host and port, as of PostgreSQL. @param answerDelayMs how much later what the target sends
 * arrives.
 */
export const startTcpProxy = async (target: string, answerDelayMs = 0): Promise<TcpProxy> => {
  const { hostname, port: given } = byTcp(target)
  let port = Number(given)
  const sockets = new Set<Socket>()
  let isFrozen = false
  let waiting: (() => void)[] = []

  const join = (client: Socket): void => {
    const server = connect({ host: hostname, port })
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(from)
      const isLate = from === server && answerDelayMs > 0
      from.on('data', (bytes) => (isLate ? setTimeout(() => to.write(bytes), answerDelayMs) : to.write(bytes)))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  }

  const listener = createServer((client) => {
    client.on('error', () => {})
    if (!isFrozen) return join(client)
    client.pause()
    waiting.push(() => {
      if (client.destroyed) return
      join(client)
      client.resume()
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))

  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((listener.address() as AddressInfo).port)
  return {
    url: url.href,
    freeze: () => {
      isFrozen = true
      for (const socket of sockets) socket.pause()
    },
    silence: () => {
      for (const socket of sockets) socket.pause()
    },
    turnTo: (other) => {
      port = other
    },
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    thaw: () => {
      isFrozen = false
      for (const socket of sockets) socket.resume()
      for (const go of waiting) go()
      waiting = []
    },
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
