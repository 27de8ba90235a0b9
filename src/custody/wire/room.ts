// Memory for messages, from the time when their length is known until their request has ended.
//
// A process that reaches the socket can begin messages and not end them, on many connections. So a connection has a little memory of its
// own, enough for usual requests, and what is beyond that comes from room that all connections share. A message for which there is
// none is not read until others have ended, first come, first served. Nobody waits for more than a few: what is begun must end in
// time (listen.ts).

/** Some hundreds of usual requests. */
const OWN_BYTES = 256 * 1024
/** Two of the largest messages. */
const SHARED_BYTES = 128 * 1024 * 1024

/** The part of one connection. Disposing of it leaves its messages their room. */
type Share = Disposable & {
  /** Takes room for a message until the result is disposed of. null if there is none: `onRoom` follows, then it is asked again. */
  take(bytes: number): Disposable | null
}

export type Room = {
  /** @param onRoom there is room for the message that had none. */
  enter(onRoom: () => void): Share
}

type Waiting = { readonly fits: () => boolean; readonly grant: () => void }

export const createRoom = ({ ownBytes = OWN_BYTES, sharedBytes = SHARED_BYTES } = {}): Room => {
  let free = sharedBytes
  const waiting = new Map<Share, Waiting>()

  const wake = (): void => {
    for (const [share, { fits, grant }] of waiting) {
      if (!fits()) return
      waiting.delete(share)
      grant()
    }
  }

  const enter: Room['enter'] = (onRoom) => {
    let used = 0
    /** Taken already, for the message that waited. */
    let granted = 0
    const sharedOf = (bytes: number): number => Math.max(0, used + bytes - ownBytes) - Math.max(0, used - ownBytes)
    const add = (bytes: number): void => {
      free -= sharedOf(bytes)
      used += bytes
    }
    const give = (bytes: number): void => {
      add(-bytes)
      wake()
    }
    const share: Share = {
      take: (bytes) => {
        if (granted === 0) {
          const needed = sharedOf(bytes)
          if (needed > 0 && (waiting.size > 0 || needed > free)) {
            const grant = () => {
              add(bytes)
              granted = bytes
              queueMicrotask(onRoom)
            }
            if (!waiting.has(share)) waiting.set(share, { fits: () => sharedOf(bytes) <= free, grant })
            return null
          }
          waiting.delete(share)
          add(bytes)
        }
        granted = 0
        return { [Symbol.dispose]: () => give(bytes) }
      },
      [Symbol.dispose]: () => {
        waiting.delete(share)
        give(granted)
        granted = 0
      },
    }
    return share
  }

  return { enter }
}
