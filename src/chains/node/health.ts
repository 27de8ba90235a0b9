// How a node is, judged by what happens to the requests to it.
//
//   up           its last answer was right
//   slow         a question has waited longer than usual; it is asked how it is
//   failing      several requests in a row failed quickly (refused connections, 5xx, answers that cannot be read)
//   wrong_chain  it belongs to another chain
//   resting      it asked for a pause (429 or 503 with Retry-After): nothing is sent meanwhile
//   down         a question timed out, and it has answered nothing since that question: nothing is sent until a probe is
//                answered. The pause between probes grows.
//
// Only `resting` and `down` keep requests back. A failure that comes quickly costs nothing, so such a node can be asked
// again at once. A long question that times out while the node answers other ones says nothing about the node.

import type { Network, NodeTrouble } from '../../../db/words.ts'
import type { NodeState } from '../nodes.ts'
import { type AskOptions, BULK_TIMEOUT_TIMES, buildRpc, NodeUnavailable, type Rpc } from './rpc.ts'

const FAILURES_MAX = 3
const FIRST_PAUSE_MS = 1_000
/** A probe is one small question, so recovery need not wait for longer. */
const MAX_PAUSE_MS = 10_000
/** A node that goes down sooner than this after it came back gets the next longer pause. */
const STEADY_MS = 30_000
/** The weight of a new measurement in the average time of an answer. */
const NEW_WEIGHT = 0.1
/** Beside other nodes: an answer that takes so many times the average is late. */
const LATE_TIMES = 8
/** Longer than a pause of a healthy node. If a node hangs, the first caller waits this long. */
const LATE_MIN_MS = 300
const LATE_MAX_MS = 3_000

/** `behind` and `stalled` follow from its newest block. */
type OwnState = Exclude<NodeState, 'behind' | 'stalled'>

type LastTrouble = { readonly trouble: NodeTrouble; readonly at: Date }

export type Health = {
  /** The node's client. It does not send what the node cannot take now, and learns from each answer. */
  readonly rpc: Rpc
  state(): OwnState
  /** The error of a call that is not sent; null if the node may be asked. */
  refusal(): NodeUnavailable | null
  /** How long the node still rests; 0 if it does not. */
  restMs(): number
  /** After this time without an answer another node should be asked. */
  patienceMs(options: AskOptions | undefined): number
  /** The moving average of the time of an answer; null before the first. */
  latencyMs(): number | null
  lastTrouble(): LastTrouble | null
}

type HealthInput = {
  readonly plain: Rpc
  readonly network: Network
  readonly timeoutMs: number
  readonly isOnly: boolean
  readonly probe: () => Promise<unknown>
  readonly report: (trouble: NodeTrouble) => void
  /** A monotonic clock, in milliseconds. */
  readonly nowMs: () => number
}

/** When something of the monotonic clock happens by the wall clock, to the second. */
const clockTime = (inMs: number): string => new Date(Date.now() + inMs).toISOString().replace(/\.\d+Z$/, 'Z')

/** The growing pauses between probes of a node that is down. */
const createDown = ({ probe, nowMs }: Pick<HealthInput, 'probe' | 'nowMs'>) => {
  let pauseMs = FIRST_PAUSE_MS
  let backAtMs = Number.NEGATIVE_INFINITY
  let down: { readonly since: string; nextAtMs: number } | null = null

  const wait = (period: NonNullable<typeof down>): void => {
    period.nextAtMs = nowMs() + pauseMs
    const again = (): void => {
      if (down !== period) return
      // Not awaited: a probe that hangs must not delay the next one, which the node may answer.
      probe().catch(() => {})
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)
      wait(period)
    }
    // It keeps no process alive.
    setTimeout(again, pauseMs).unref()
  }

  return {
    begin: (): void => {
      if (down !== null) return
      pauseMs = nowMs() - backAtMs < STEADY_MS ? Math.min(2 * pauseMs, MAX_PAUSE_MS) : FIRST_PAUSE_MS
      down = { since: clockTime(0), nextAtMs: 0 }
      wait(down)
    },
    end: (): void => {
      if (down === null) return
      down = null
      backAtMs = nowMs()
    },
    read: () => down,
  }
}

/** What is known about a node, and what that means. */
const createRecord = (input: Pick<HealthInput, 'network' | 'probe' | 'report' | 'nowMs'>) => {
  const { network, report, nowMs } = input
  const down = createDown(input)
  let failures = 0
  let isSlow = false
  let isWrong = false
  let answeredAtMs = Number.NEGATIVE_INFINITY
  let restUntilMs = Number.NEGATIVE_INFINITY
  let lastTrouble: LastTrouble | null = null

  const restMs = (): number => Math.max(restUntilMs - nowMs(), 0)

  const answered = ({ isRight }: { readonly isRight: boolean }): void => {
    failures = 0
    isSlow = false
    if (isRight) isWrong = false
    answeredAtMs = nowMs()
    down.end()
  }

  const failed = ({ trouble, retryAfterMs }: NodeUnavailable, askedAtMs: number): void => {
    lastTrouble = { trouble, at: new Date() }
    report(trouble)
    if (trouble === 'timeout') {
      if (answeredAtMs < askedAtMs) down.begin()
    } else if (trouble === 'refused' || trouble === 'too_large' || trouble === 'wrong_chain') {
      answered({ isRight: false })
      if (trouble === 'wrong_chain') isWrong = true
    } else {
      failures += 1
      if (retryAfterMs !== null) restUntilMs = nowMs() + retryAfterMs
    }
  }

  const refusal = (): NodeUnavailable | null => {
    const downNow = down.read()
    if (downNow !== null) {
      const { since, nextAtMs } = downNow
      const next = clockTime(Math.max(nextAtMs - nowMs(), 0))
      const sentence = `The ${network} node has not answered since ${since}; it is asked again at ${next}.`
      return new NodeUnavailable('timeout', sentence)
    }
    const waitMs = restMs()
    if (waitMs === 0) return null
    return new NodeUnavailable('http', `The ${network} node asked for a pause until ${clockTime(waitMs)}.`)
  }

  const state = (): OwnState => {
    if (down.read() !== null) return 'down'
    if (restMs() > 0) return 'resting'
    if (isWrong) return 'wrong_chain'
    if (failures >= FAILURES_MAX) return 'failing'
    return isSlow ? 'slow' : 'up'
  }

  const waitsLong = (): void => {
    isSlow = true
  }

  return { answered, failed, waitsLong, restMs, refusal, state, lastTrouble: () => lastTrouble }
}

export const createHealth = (input: HealthInput): Health => {
  const { plain, network, timeoutMs, isOnly, probe, nowMs } = input
  const { answered, failed, waitsLong, ...record } = createRecord(input)
  let latencyMs: number | null = null

  const patienceMs = (options: AskOptions = {}): number => {
    const longer = options.size === 'bulk' ? BULK_TIMEOUT_TIMES : 1
    // No other node could be asked, so half of the time limit is soon enough to ask how it is.
    if (isOnly) return (longer * timeoutMs) / 2
    const late = Math.min(Math.max(LATE_TIMES * (latencyMs ?? 0), LATE_MIN_MS), LATE_MAX_MS)
    return longer * Math.min(late, timeoutMs / 3)
  }

  const doubt = (): void => {
    waitsLong()
    probe().catch(() => {})
  }

  const tryAll: Rpc['tryAll'] = async (questions, options) => {
    const isProbe = options?.isProbe === true
    const refused = isProbe ? null : record.refusal()
    if (refused !== null) throw refused
    const askedAtMs = nowMs()
    const late = isProbe ? undefined : setTimeout(doubt, patienceMs(options))
    try {
      const answers = await plain.tryAll(questions, options)
      // Where the chain is asked for along with the questions, an answer means that it is right.
      answered({ isRight: options?.along !== undefined })
      if (options?.size !== 'bulk') {
        const tookMs = nowMs() - askedAtMs
        latencyMs = latencyMs === null ? tookMs : latencyMs + NEW_WEIGHT * (tookMs - latencyMs)
      }
      return answers
    } catch (error) {
      if (error instanceof NodeUnavailable) failed(error, askedAtMs)
      throw error
    } finally {
      clearTimeout(late)
    }
  }

  return { ...record, rpc: buildRpc(network, tryAll), patienceMs, latencyMs: () => latencyMs }
}
