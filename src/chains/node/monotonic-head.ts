import type { Head } from '../blocks.ts'
import type { Rpc } from './rpc.ts'

/** After this time a lower head is accepted: the chain may really be shorter, after an emergency of its network. */
const HELD_MS = 60_000

/**
 * Reads heads that never go back because another node answers: if a node is behind the last head that was returned, that one is
 * returned again. A block that was final stays final.
 */
export const createMonotonicHead = (
  { certain, hasSeveral }: { readonly certain: Rpc; readonly hasSeveral: boolean },
  read: (rpc: Rpc) => Promise<Head>,
  nowMs: () => number = () => performance.now(),
): (() => Promise<Head>) => {
  if (!hasSeveral) return () => read(certain)
  let last: { readonly head: Head; readonly atMs: number } | null = null
  return async () => {
    const head = await read(certain)
    const before = last !== null && nowMs() - last.atMs < HELD_MS ? last.head : null
    if (before === null) {
      last = { head, atMs: nowMs() }
      return head
    }
    const isBehind = head.latest.number < before.latest.number
    const finalized = newer(before.finalized, head.finalized)
    const merged = { ...(isBehind ? before : head), finalized }
    last = { head: merged, atMs: isBehind ? (last?.atMs ?? nowMs()) : nowMs() }
    return merged
  }
}

const newer = (one: Head['finalized'], other: Head['finalized']): Head['finalized'] =>
  one === null || (other !== null && other.number >= one.number) ? other : one
