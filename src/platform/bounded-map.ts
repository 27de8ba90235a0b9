type Entry<Value> = { readonly value: Value; readonly endsAtMs: number; readonly timer: NodeJS.Timeout | null }

/** A new entry replaces the least recently used one. With a lifetime, an entry is removed so long after it was set. */
export const createBoundedMap = <Value>(bounds: { readonly max: number; readonly lifetimeMs?: number }) => {
  const { max, lifetimeMs = null } = bounds
  /** In the order of their last use. */
  const entries = new Map<string, Entry<Value>>()

  const current = (key: string): Entry<Value> | null => {
    const entry = entries.get(key)
    return entry !== undefined && entry.endsAtMs > performance.now() ? entry : null
  }

  const remove = (key: string): void => {
    const timer = entries.get(key)?.timer
    if (timer) clearTimeout(timer)
    entries.delete(key)
  }

  return {
    get: (key: string): Value | undefined => {
      const entry = current(key)
      if (entry === null) return undefined
      entries.delete(key)
      entries.set(key, entry)
      return entry.value
    },
    set: (key: string, value: Value): void => {
      remove(key)
      const timer = lifetimeMs === null ? null : setTimeout(remove, lifetimeMs, key)
      // The timer does not keep the process alive.
      timer?.unref()
      entries.set(key, { value, endsAtMs: performance.now() + (lifetimeMs ?? Number.POSITIVE_INFINITY), timer })
      const [oldest] = entries.keys()
      if (entries.size > max && oldest !== undefined) remove(oldest)
    },
    remove,
    /** 0 for an absent key. */
    remainingMs: (key: string): number => (current(key)?.endsAtMs ?? performance.now()) - performance.now(),
    size: (): number => entries.size,
  }
}
