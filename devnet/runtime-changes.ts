/** Bytes in hexadecimal. */
export type Hex = `0x${string}`

/** The values of a block by their keys. */
export type State = {
  readonly get: (key: Hex) => Hex | null
  /** The next key in order; null after the last one. */
  readonly nextKey: (key: Hex) => Hex | null
}

type Entries = readonly (readonly [Hex, Hex | null])[]

/** What calls of a runtime change, above a state that stays as it is. */
export type Changes = State & {
  /** @param value null deletes */
  readonly set: (key: Hex, value: Hex | null) => void
  /** Opens a layer of changes, which `commit` adds to those below it and `rollback` drops. */
  readonly begin: () => void
  readonly commit: () => void
  readonly rollback: () => void
  readonly setAll: (entries: Entries) => void
  readonly all: () => Entries
}

/** No changes yet. */
export const createChanges = (below: State): Changes => {
  const base = new Map<Hex, Hex | null>()
  const open: Map<Hex, Hex | null>[] = []
  const top = () => open.at(-1) ?? base
  const drop = () => {
    const layer = open.pop()
    if (layer === undefined) throw new Error('The runtime ended a transaction of its storage that it had not begun.')
    return layer
  }

  const get = (key: Hex): Hex | null => {
    for (let at = open.length - 1; at >= 0; at -= 1) {
      const value = open[at]?.get(key)
      if (value !== undefined) return value
    }
    const value = base.get(key)
    return value === undefined ? below.get(key) : value
  }

  const nextKey = (key: Hex): Hex | null => {
    let next = below.nextKey(key)
    for (const layer of [base, ...open]) {
      for (const each of layer.keys()) if (each > key && (next === null || each < next)) next = each
    }
    return next === null || get(next) !== null ? next : nextKey(next)
  }

  const set = (key: Hex, value: Hex | null) => void top().set(key, value)
  const setAll = (entries: Iterable<Entries[number]>) => {
    for (const [key, value] of entries) set(key, value)
  }

  return {
    get,
    nextKey,
    set,
    setAll,
    begin: () => void open.push(new Map()),
    commit: () => setAll(drop()),
    rollback: () => void drop(),
    all: () => [...base],
  }
}
