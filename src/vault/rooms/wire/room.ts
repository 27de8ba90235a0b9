// Memory for messages, from the time when their length is known until their request has ended.
//
// A client that reaches the socket can begin messages and not end them, on many connections. So each connection has a
// little memory of its own, where small messages always have room, and larger messages take theirs from room that all
// connections share. One peer can have half of it. A message without room is not read until other messages have ended,
// first come, first served. It waits for a few at most: what is begun must end in time (listen.ts).

/** Some hundreds of usual requests. */
const OWN_BYTES = 256 * 1024
/** Two of the largest messages. */
const SHARED_BYTES = 128 * 1024 * 1024

/** The part of one connection. Disposing of it leaves its messages their room. */
type Share = Disposable & {
  /**
   * Takes room for a message until the result is disposed of. null if there is none: `onRoom` follows, then it is asked
   * again.
   */
  take(bytes: number): Disposable | null
}

export type Room = {
  /**
   * @param onRoom there is room for the message that had none.
   * @param peer the client; null if it is unknown: then the connection counts as one.
   */
  enter(onRoom: () => void, peer: string | null): Share
}

type Waiting = { readonly peer: string | Share; readonly bytes: number; readonly grant: (room: Disposable) => void }

/** The room of all connections, and the messages that wait for it. */
const createShared = (sharedBytes: number) => {
  let free = sharedBytes
  const usedBy = new Map<Waiting['peer'], number>()
  const waiting = new Map<Share, Waiting>()

  const add = (peer: Waiting['peer'], bytes: number): void => {
    free -= bytes
    const used = (usedBy.get(peer) ?? 0) + bytes
    if (used === 0) usedBy.delete(peer)
    else usedBy.set(peer, used)
  }

  const takeShared = ({ peer, bytes }: Waiting): Disposable => {
    add(peer, bytes)
    const give = () => {
      add(peer, -bytes)
      wake()
    }
    return { [Symbol.dispose]: give }
  }

  const wake = (): void => {
    /** Peers that have their half, and whose messages wait behind each other. */
    const full = new Set<Waiting['peer']>()
    for (const [share, message] of waiting) {
      const { peer, bytes } = message
      if ((usedBy.get(peer) ?? 0) + bytes > sharedBytes / 2) full.add(peer)
      if (full.has(peer)) continue
      if (bytes > free) return
      waiting.delete(share)
      message.grant(takeShared(message))
    }
  }

  return { waiting, wake }
}

export const createRoom = ({ ownBytes = OWN_BYTES, sharedBytes = SHARED_BYTES } = {}): Room => {
  const { waiting, wake } = createShared(sharedBytes)

  const enter: Room['enter'] = (onRoom, peer) => {
    let ownUsed = 0
    /** For the message that waited. */
    let granted: Disposable | null = null
    const takeOwn = (bytes: number): Disposable => {
      ownUsed += bytes
      const give = () => {
        ownUsed -= bytes
        if (waiting.has(share)) queueMicrotask(onRoom)
      }
      return { [Symbol.dispose]: give }
    }
    const grant: Waiting['grant'] = (room) => {
      granted = room
      queueMicrotask(onRoom)
    }
    const share: Share = {
      take: (bytes) => {
        if (granted === null && ownUsed + bytes <= ownBytes) {
          waiting.delete(share)
          return takeOwn(bytes)
        }
        if (granted === null && !waiting.has(share)) {
          waiting.set(share, { peer: peer ?? share, bytes, grant })
          wake()
        }
        const room = granted
        granted = null
        return room
      },
      [Symbol.dispose]: () => {
        waiting.delete(share)
        granted?.[Symbol.dispose]()
        granted = null
        wake()
      },
    }
    return share
  }

  return { enter }
}
