// Reads debug_traceCall with go-ethereum's callTracer, which returns call frames with their logs. A trace is converted to the
// logs that eth_simulateV1 would return: the contracts' logs and one log for each movement of the coin, in order.

import { type Question, question } from '../node/rpc.ts'
import { type JsonRecord, list, nullable, record, smallQuantity } from '../node/wire.ts'
import { type Call, transactionObject } from './call.ts'
import { coinLog } from './logs.ts'
import { parseLog, type RawLog } from './simulate.ts'
import { frameMove, hasFailed, orNull } from './traces.ts'

/** The result of one traced call. */
export type CallTrace = {
  readonly failed: boolean
  /** Empty for a failed call. */
  readonly logs: readonly RawLog[]
  /** The logs as revm-inspectors reports them: with payments to failed inner calls, without those of a self-destruction. */
  readonly asRevm: readonly RawLog[]
}

const TRACER = { tracer: 'callTracer', tracerConfig: { withLog: true } }

/** PUSH1 0, PUSH1 0, LOG0, STOP. */
const LOGGING_INIT_CODE = '0x60006000a000'

const ownMove = (frame: JsonRecord): RawLog | null => {
  const move = frameMove(frame)
  return move === null || move.amount === 0n ? null : coinLog(move)
}

type Lists = { readonly logs: RawLog[]; readonly asRevm: RawLog[] }

/** The `position` of a log is the number of inner calls before it. The recursion is bounded by the call depth limit, 1024. */
const walk = (frame: JsonRecord, lists: Lists): void => {
  const move = ownMove(frame)
  if (move !== null && frame.type !== 'SELFDESTRUCT') lists.asRevm.push(move)
  if (hasFailed(frame)) return
  if (move !== null) lists.logs.push(move)
  const inner = nullable(list)(frame.calls) ?? []
  const logs = (nullable(list)(frame.logs) ?? []).map(record)
  let next = 0
  for (let position = 0; position <= inner.length; position += 1) {
    for (; next < logs.length; next += 1) {
      const log = logs[next]
      if (log === undefined || (nullable(smallQuantity)(log.position) ?? inner.length) > position) break
      const own = parseLog(log)
      lists.logs.push(own)
      lists.asRevm.push(own)
    }
    if (position < inner.length) walk(record(inner[position]), lists)
  }
}

const parseTrace = (value: unknown): CallTrace => {
  const frame = record(value)
  if (hasFailed(frame)) return { failed: true, logs: [], asRevm: [] }
  const lists: Lists = { logs: [], asRevm: [] }
  walk(frame, lists)
  return { failed: false, ...lists }
}

/** Traces one call on the newest block; null if the trace cannot be read. */
export const callTraceQuestion = (from: string, call: Call): Question<CallTrace | null> =>
  question('debug_traceCall', [transactionObject(from, call), 'latest', TRACER], orNull(parseTrace))

/** Traces a creation that only emits a log. If the log is missing, the node's traces have no logs at all. */
export const logProbe = (from: string): Question<CallTrace | null> =>
  callTraceQuestion(from, { to: null, value: 0n, input: LOGGING_INIT_CODE })
