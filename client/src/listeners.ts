type Listener = (value: unknown) => void

/** What EIP-1193 asks of a provider, and the other methods of Node's EventEmitter that dapps call. */
export type EventSource = {
  on(event: string, listener: Listener): void
  once(event: string, listener: Listener): void
  removeListener(event: string, listener: Listener): void
  /** The same as `removeListener`. */
  off(event: string, listener: Listener): void
  /** Of one event, or of all. */
  removeAllListeners(event?: string): void
}

type Entry = { readonly event: string; readonly listener: Listener; readonly isOnce: boolean }

export const createListeners = () => {
  let entries: readonly Entry[] = []
  const add = (entry: Entry) => {
    entries = [...entries, entry]
  }
  const removeListener = (event: string, listener: Listener) => {
    // A listener that was added twice stays once, as with Node.
    const last = entries.findLast((each) => each.event === event && each.listener === listener)
    entries = entries.filter((each) => each !== last)
  }
  const source: EventSource = {
    on: (event, listener) => add({ event, listener, isOnce: false }),
    once: (event, listener) => add({ event, listener, isOnce: true }),
    removeListener,
    off: removeListener,
    removeAllListeners: (event) => {
      entries = event === undefined ? [] : entries.filter((each) => each.event !== event)
    },
  }
  const emit = (event: string, value: unknown) => {
    const called = entries.filter((each) => each.event === event)
    entries = entries.filter((each) => !(each.isOnce && called.includes(each)))
    for (const { listener } of called) listener(value)
  }
  return { source, emit }
}
