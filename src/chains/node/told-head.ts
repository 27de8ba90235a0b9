import type { Head } from '../blocks.ts'
import type { Rpc } from './rpc.ts'

/** A chain that really is shorter by now, after an emergency of its network, is believed after this time. */
const HELD_MS = 60_000

/**
 * Reads heads that never go back because another node answers: while a node is behind what was told before, that is told
 * again. A block that was final stays so.
 */
export const createToldHead = (
  { rpc, hasSeveral }: { readonly rpc: Rpc; readonly hasSeveral: boolean },
  read: (rpc: Rpc) => Promise<Head>,
  nowMs: () => number = () => performance.now(),
): (() => Promise<Head>) => {
  if (!hasSeveral) return () => read(rpc)
  let told: { readonly head: Head; readonly atMs: number } | null = null
  return async () => {
    const head = await read(rpc)
    const before = told !== null && nowMs() - told.atMs < HELD_MS ? told.head : null
    if (before === null) {
      told = { head, atMs: nowMs() }
      return head
    }
    const isBehind = head.latest.number < before.latest.number
    const finalized = newer(before.finalized, head.finalized)
    const merged = { ...(isBehind ? before : head), finalized }
    told = { head: merged, atMs: isBehind ? (told?.atMs ?? nowMs()) : nowMs() }
    return merged
  }
}

const newer = (one: Head['finalized'], other: Head['finalized']): Head['finalized'] =>
  one === null || (other !== null && other.number >= one.number) ? other : one
