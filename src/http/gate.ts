// Refuses requests before anything is done for them, when those that are under way would keep them waiting for too long.
//
// How long is the number of requests under way times the recent time between two answers. But many requests also wait for what is
// not ours (a slow node, a body, events), and these keep nobody else waiting. So it counts only while this process, its database
// or its vault is late: while enough is under way, a probe asks both for very little, and so waits for the event loops, the
// connections and the processors as everybody does.

import { AppError } from '../errors.ts'
import { answerOf } from './failure.ts'
import { requestIdOf } from './request-id.ts'

type Fetch = (request: Request) => Response | Promise<Response>

/** Fewer than this are never too many. */
const ALWAYS_MAX = 8
/** With all that waits for events, nodes and slow clients. */
const UNDER_WAY_MAX = 5_000
const PROBED_EVERY_MS = 50
/** A probe takes some milliseconds. */
const LATE_MS = 50
/** How much the newest answer counts in the recent time between two. */
const NEWEST_WEIGHT = 1 / 32
const RETRY_AFTER_MAX_SECONDS = 30

/** Asked by programs that decide by the answer whether the process lives. A preflight that is refused looks to a page like a refused origin. */
const isAlwaysLetIn = ({ method, url }: Request): boolean =>
  method === 'OPTIONS' || /^[^?#]*\/(?:healthz|readyz|metrics)$/.test(url)

type GateInput = {
  /** A request that would probably wait longer is refused. */
  readonly expectedWaitMaxMs: number
  readonly probe: () => Promise<unknown>
  readonly onRefused: () => void
}

/** Whether the process is late. @param input.isNeeded whether to go on looking. */
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
    isLate: (): boolean =>
      isLooking && Math.max(tookMs, begunAtMs === null ? 0 : performance.now() - begunAtMs) > LATE_MS,
  }
}

/** Lets requests in to `fetch`, or answers 503 `busy`. */
export const gated = (fetch: Fetch, { expectedWaitMaxMs, probe, onRefused }: GateInput): Fetch => {
  let underWay = 0
  let endedAtMs = performance.now()
  let betweenMs: number | null = null
  const lateness = watchLateness({ probe, isNeeded: () => underWay >= ALWAYS_MAX })

  /** @returns null if there is room. */
  const expectedWaitMs = (): number | null => {
    if (underWay < ALWAYS_MAX) return null
    if (underWay >= UNDER_WAY_MAX) return expectedWaitMaxMs
    lateness.begin()
    if (!lateness.isLate() || betweenMs === null) return null
    // Where nothing is answered any more, that counts as well.
    const waitMs = underWay * betweenMs + performance.now() - endedAtMs
    return waitMs > expectedWaitMaxMs ? waitMs : null
  }

  const noteEnd = (): void => {
    const nowMs = performance.now()
    if (underWay >= ALWAYS_MAX && lateness.isLate()) {
      const ms = nowMs - endedAtMs
      betweenMs = betweenMs === null ? ms : betweenMs + (ms - betweenMs) * NEWEST_WEIGHT
    }
    endedAtMs = nowMs
    underWay -= 1
  }

  return async (request) => {
    if (isAlwaysLetIn(request)) return await fetch(request)
    const waitMs = expectedWaitMs()
    if (waitMs !== null) {
      onRefused()
      return refusal(request, waitMs)
    }
    underWay += 1
    try {
      return await fetch(request)
    } finally {
      noteEnd()
    }
  }
}

const refusal = ({ headers }: Request, waitMs: number): Response => {
  const { status, body } = answerOf(new AppError('busy', 'The service has too much to do: try again later.'))
  const seconds = Math.min(RETRY_AFTER_MAX_SECONDS, Math.ceil(waitMs / 1000))
  return Response.json(body, {
    status,
    headers: {
      'retry-after': String(seconds),
      'cache-control': 'no-store',
      'x-request-id': requestIdOf(headers),
      // It says nothing that a page of any origin may not read.
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Retry-After, X-Request-Id',
    },
  })
}
