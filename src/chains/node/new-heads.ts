// Wakes followers when a node has a new block, by the subscriptions of nodes with a WebSocket URL. This is only a hint:
// followers ask for the block as they do without it. So a subscription that is lost, silent or wrong costs time at
// most: a follower that is not woken looks again after its interval.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Head } from '../blocks.ts'
import type { Rpc } from './rpc.ts'
import { isWebSocketUrl, openSocket } from './web-socket.ts'
import { isRecord } from './wire.ts'

/** A JSON-RPC request after which the node announces each new block. */
export type Subscription = { readonly method: string; readonly params: readonly unknown[] }

export type NextBlockInput = {
  /** On the monotonic clock: a block announced after this is new. */
  readonly sinceMs: number
  /** The longest wait. */
  readonly waitMs: number
  /** Ends the wait early. */
  readonly signal: AbortSignal
}

/** A node that announces no block for so long is asked by another connection: this one may be half open. */
const SILENT_MS = 60_000
/** No code waited for a block for so long: another process follows the network now. */
const UNUSED_MS = 60_000
const REOPEN_MIN_MS = 1_000
const REOPEN_MAX_MS = 60_000
/** Hints that come faster are reported together, later, so that no node can keep a follower busy. */
const HINTS_APART_MS = 100

const isNotification = (data: unknown): boolean => {
  try {
    const body: unknown = JSON.parse(String(data))
    return isRecord(body) && typeof body.method === 'string'
  } catch {
    return false
  }
}

/** Listens to one node while it is tended. @returns the function that tends it: it opens what is closed or silent. */
const listen = (input: {
  readonly rpcUrl: string
  readonly subscription: Subscription
  readonly report: () => void
}): (() => void) => {
  let socket: WebSocket | null = null
  let failures = 0
  let heardAtMs = 0
  let tendedAtMs = 0
  let reopensAtMs = Number.NEGATIVE_INFINITY

  const close = (): void => {
    const closed = socket
    socket = null
    failures += 1
    reopensAtMs = performance.now() + Math.min(REOPEN_MIN_MS * 2 ** (failures - 1), REOPEN_MAX_MS)
    closed?.close()
  }

  const open = (): void => {
    const opened = openSocket(input.rpcUrl)
    if (opened === null) {
      close()
      return
    }
    socket = opened
    heardAtMs = performance.now()
    const end = (): void => {
      if (socket === opened) close()
    }
    opened.addEventListener('open', () => {
      opened.send(JSON.stringify({ jsonrpc: '2.0', id: 1, ...input.subscription }))
    })
    opened.addEventListener('error', end)
    opened.addEventListener('close', end)
    opened.addEventListener('message', ({ data }) => {
      if (socket !== opened || !isNotification(data)) return
      heardAtMs = performance.now()
      failures = 0
      input.report()
      if (heardAtMs - tendedAtMs > UNUSED_MS) close()
    })
  }

  return () => {
    tendedAtMs = performance.now()
    if (socket !== null && tendedAtMs - heardAtMs > SILENT_MS) close()
    if (socket === null && tendedAtMs >= reopensAtMs) open()
  }
}

/** Creates the function that waits for the next block of a network. It connects at the first wait. */
export const createNewHeads = (input: {
  readonly rpcUrls: readonly string[]
  readonly subscription: Subscription
}): ((wait: NextBlockInput) => Promise<void>) => {
  const { subscription } = input
  const waiting = new Set<() => void>()
  let wokenAtMs = Number.NEGATIVE_INFINITY
  let isWakeDue = false
  const report = async (): Promise<void> => {
    if (isWakeDue) return
    isWakeDue = true
    const earlyMs = wokenAtMs + HINTS_APART_MS - performance.now()
    // Not left out: the node that is asked may have the block only now, after another one announced it.
    if (earlyMs > 0) await sleep(earlyMs, undefined, { ref: false })
    isWakeDue = false
    wokenAtMs = performance.now()
    for (const wake of waiting) wake()
  }
  const tenders = input.rpcUrls.filter(isWebSocketUrl).map((rpcUrl) => listen({ rpcUrl, subscription, report }))

  return async ({ sinceMs, waitMs, signal }) => {
    for (const tend of tenders) tend()
    if (wokenAtMs > sinceMs) return
    const woken = new AbortController()
    const wake = () => woken.abort()
    waiting.add(wake)
    await sleep(waitMs, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(() => {})
    waiting.delete(wake)
  }
}

/** After this time a lower head is accepted: the chain may really be shorter, after an emergency of its network. */
const HELD_MS = 60_000

/**
 * Reads heads that never go back because another node answers: if a node is behind the last head that was returned,
 * that one is returned again. A block that was final stays final.
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
