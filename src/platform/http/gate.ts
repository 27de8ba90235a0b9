// Refuses requests before anything is done for them, if those under way would keep them waiting for too long: their
// number times the recent time between two answers.
//
// Many requests also wait for nodes, bodies or events, and keep no other request waiting. So a request that waits for
// events or takes long counts no more, and the gate refuses none unless this process, its database or its vault is
// late: while many are under way, a probe asks both for very little, and waits for the same event loops and
// connections.

import { randomUUID } from 'node:crypto'
import { AppError } from '../errors.ts'
import { describeError } from './failure.ts'

/** What proxies and clients use as ids: UUIDs, hex, base64, and words joined by `.`, `:`, `_` or `-`. */
const SANE = /^[\w.:+/=-]{1,128}$/

/** The caller's `X-Request-Id` if it is such a token, else a new one. It only names the request in answer and log. */
export const readRequestId = (headers: Headers): string => {
  const given = headers.get('x-request-id') ?? ''
  return SANE.test(given) ? given : randomUUID()
}

type Fetch = (request: Request) => Response | Promise<Response>

const ALWAYS_MAX = 8
/** With all that waits for events, nodes and slow clients. */
const UNDER_WAY_MAX = 5_000
/** A request that takes so many times longer than a caller should wait waits for something else. */
const COUNTED_TIMES = 5
const PROBED_EVERY_MS = 50
/** A probe takes some milliseconds. */
const LATE_MS = 50
/** How much the newest answer counts in the recent time between two. */
const NEWEST_WEIGHT = 1 / 32
const RETRY_AFTER_MAX_SECONDS = 30

/** Supervisors decide by these whether the process lives. A page takes a refused preflight for a refused origin. */
const isAlwaysLetIn = ({ method, url }: Request): boolean =>
  method === 'OPTIONS' || /^[^?#]*\/(?:healthz|readyz|metrics)$/.test(url)

type GateInput = {
  readonly expectedWaitMaxMs: number
  readonly probe: () => Promise<unknown>
  readonly onRefused: () => void
}

/** How late the process is. @param input.isNeeded whether to go on looking. */
const watchLateness = ({ probe, isNeeded }: Pick<GateInput, 'probe'> & { readonly isNeeded: () => boolean }) => {
  let isLooking = false
  let begunAtMs: number | null = null
  let tookMs = 0
  const look = async (): Promise<void> => {
    const begun = performance.now()
    begunAtMs = begun
    // One that fails has waited as well.
    await probe().catch(() => {})
    tookMs = performance.now() - begun
    begunAtMs = null
    isLooking = isNeeded()
    if (isLooking) setTimeout(look, PROBED_EVERY_MS)
  }
  return {
    begin: (): void => {
      if (isLooking) return
      isLooking = true
      void look()
    },
    /** 0 unless it is late. */
    lateMs: (): number => {
      const ms = Math.max(tookMs, begunAtMs === null ? 0 : performance.now() - begunAtMs)
      return isLooking && ms > LATE_MS ? ms : 0
    },
  }
}

const leavers = new WeakMap<Request, () => void>()

/** From now on the request only waits, and keeps no other request waiting. */
export const noteWaiting = (request: Request): void => leavers.get(request)?.()

/** Lets requests in to `fetch`, or answers 503 `busy`. */
export const gated = (fetch: Fetch, { expectedWaitMaxMs, probe, onRefused }: GateInput): Fetch => {
  let underWay = 0
  /** When each of those that count began, the oldest first. */
  const counted = new Map<Request, number>()
  let endedAtMs = 0
  /** It grows from 0, so that one answer alone says little. */
  let betweenMs = 0

  const areMany = (): boolean => {
    const sinceMs = performance.now() - COUNTED_TIMES * expectedWaitMaxMs
    for (const [request, begunAtMs] of counted) {
      if (begunAtMs >= sinceMs) break
      counted.delete(request)
    }
    return counted.size >= ALWAYS_MAX
  }
  const lateness = watchLateness({ probe, isNeeded: areMany })

  /** @returns null if there is room. */
  const expectedWaitMs = (): number | null => {
    if (underWay >= UNDER_WAY_MAX) return expectedWaitMaxMs
    if (!areMany()) return null
    lateness.begin()
    const lateMs = lateness.lateMs()
    const waitMs = counted.size * betweenMs + lateMs
    return lateMs > 0 && waitMs > expectedWaitMaxMs ? waitMs : null
  }

  const noteEnd = (request: Request): void => {
    underWay -= 1
    const wereMany = areMany()
    const begunAtMs = counted.get(request)
    if (begunAtMs === undefined) return
    counted.delete(request)
    const nowMs = performance.now()
    // Before it began, nothing was missing that it could have waited for.
    if (wereMany && lateness.lateMs() > 0)
      betweenMs += (nowMs - Math.max(endedAtMs, begunAtMs) - betweenMs) * NEWEST_WEIGHT
    endedAtMs = nowMs
  }

  return async (request) => {
    if (isAlwaysLetIn(request)) return await fetch(request)
    const waitMs = expectedWaitMs()
    if (waitMs !== null) {
      onRefused()
      return refusal(request, waitMs)
    }
    underWay += 1
    counted.set(request, performance.now())
    leavers.set(request, () => counted.delete(request))
    try {
      return await fetch(request)
    } finally {
      noteEnd(request)
    }
  }
}

/** Made once: thousands may be refused in a second. */
const BUSY = describeError(new AppError('busy', 'The service has too much to do: try again later.'))
const BUSY_TEXT = JSON.stringify(BUSY.body)

const refusal = ({ headers }: Request, waitMs: number): Response => {
  const seconds = Math.min(RETRY_AFTER_MAX_SECONDS, Math.ceil(waitMs / 1000))
  return new Response(BUSY_TEXT, {
    status: BUSY.status,
    headers: {
      'content-type': 'application/json;charset=utf-8',
      'retry-after': String(seconds),
      'cache-control': 'no-store',
      'x-request-id': readRequestId(headers),
      // It says nothing that a page of any origin may not read.
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Retry-After, X-Request-Id',
    },
  })
}
