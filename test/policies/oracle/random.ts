// Random choices that a seed repeats.

/** mulberry32. */
const numbersOf = (seed: number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export type Random = ReturnType<typeof randomOf>

export const randomOf = (seed: number) => {
  const next = numbersOf(seed)
  /** From 0 to below a bound. */
  const below = (bound: number): number => Math.floor(next() * bound)
  const one = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item
  const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => below(256)))
  return {
    below,
    one,
    bytes,
    isLikely: (percent: number): boolean => next() * 100 < percent,
    some: <Item>(items: readonly Item[], count: number): readonly Item[] =>
      items.length === 0 ? [] : Array.from({ length: count }, () => one(items)),
    /** An integer of so many bits, often at a bound. */
    integer: (bits: number, isSigned = false): bigint => {
      const width = BigInt(bits)
      const drawn = one([0n, 1n, 5n, (1n << width) - 1n, 1n << (width - 1n), (1n << (width - 1n)) - 1n])
      const number = next() < 0.5 ? drawn : BigInt(`0x${bytes(32).toString('hex')}`)
      return isSigned ? BigInt.asIntN(bits, number) : BigInt.asUintN(bits, number)
    },
  }
}
