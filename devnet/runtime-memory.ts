/**
 * The memory of a runtime, for one call after the other: engines make only a few at a time. The host allocates in it,
 * also for the runtime. Most arguments and results are bytes, named by one number: their place in the lower half, their
 * length in the upper one.
 */
export type RuntimeMemory = {
  readonly memory: WebAssembly.Memory
  /** Forgets the last call. */
  readonly clear: () => void
  /** Says where the heap begins, before the first allocation. */
  readonly startHeap: (at: number) => void
  readonly allocate: (length: number) => number
  readonly free: (at: number) => void
  /** A view, until the next allocation. */
  readonly read: (bytes: bigint) => Buffer
  readonly readAt: (at: number, length: number) => Buffer
  /** @returns the place of a copy */
  readonly place: (bytes: Uint8Array) => number
  /** @returns the place and length of a copy */
  readonly give: (bytes: Uint8Array) => bigint
}

const PAGE_BYTES = 65_536
/** More than any runtime asks for at its start. */
const FIRST_PAGES = 64
/** Substrate's allocator has a header before each block. Today's compiled runtimes go wrong where two blocks adjoin. */
const HEADER_BYTES = 8
/** The least block is of 8 bytes. */
const LEAST_ORDER = 3

/**
 * Creates an empty memory. Blocks have powers of two as lengths; a freed one is used again for the next of its length.
 */
export const createRuntimeMemory = (): RuntimeMemory => {
  const memory = new WebAssembly.Memory({ initial: FIRST_PAGES })
  const orders = new Map<number, number>()
  const freed = new Map<number, number[]>()
  let end = 0

  const allocate = (length: number): number => {
    const order = Math.max(LEAST_ORDER, 32 - Math.clz32(Math.max(length, 1) - 1))
    const again = freed.get(order)?.pop()
    if (again !== undefined) return again
    const at = end + HEADER_BYTES
    end = at + 2 ** order
    const lacking = end - memory.buffer.byteLength
    if (lacking > 0) memory.grow(Math.max(FIRST_PAGES, Math.ceil(lacking / PAGE_BYTES)))
    orders.set(at, order)
    return at
  }
  const free = (at: number): void => {
    const order = orders.get(at)
    if (order === undefined) throw new Error('The runtime freed what was not allocated.')
    const list = freed.get(order)
    if (list === undefined) freed.set(order, [at])
    else list.push(at)
  }

  const readAt = (at: number, length: number) => Buffer.from(memory.buffer, at >>> 0, length)
  const read = (bytes: bigint) => readAt(Number(bytes & 0xffffffffn), Number((bytes >> 32n) & 0xffffffffn))
  const place = (bytes: Uint8Array): number => {
    const at = allocate(bytes.length)
    readAt(at, bytes.length).set(bytes)
    return at
  }
  const give = (bytes: Uint8Array) => (BigInt(bytes.length) << 32n) | BigInt(place(bytes))
  const clear = () => {
    readAt(0, Math.min(end, memory.buffer.byteLength)).fill(0)
    orders.clear()
    freed.clear()
  }
  const startHeap = (at: number) => {
    end = Math.ceil(at / 8) * 8
  }
  return { memory, clear, startHeap, allocate, free, read, readAt, place, give }
}
