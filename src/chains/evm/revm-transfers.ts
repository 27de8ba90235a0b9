// Corrects the coin movements in simulations by anvil and reth (revm-inspectors, TransferInspector). They log a payment
// before the paid call begins, so the log remains if that call fails, and they do not log the coins of a
// self-destruction. A trace is right, but it runs the call alone on the newest block, not after the other calls. So a
// trace is used only if its logs, reported in their way, are equal to those of the simulation. It is read only if coins
// moved inside a call. A self-destruction without such a movement is not noticed.

import { type Question, question, type Rpc } from '../node/rpc.ts'
import { type JsonRecord, list, nullable, record, smallQuantity, unlessUnavailable } from '../node/wire.ts'
import { type Call, transactionObject } from './call.ts'
import type { SimulationLimits } from './limits.ts'
import { coinLog, isCoinLog } from './logs.ts'
import { isMethodMissing } from './node-errors.ts'
import { parseLog, type RawLog, type SimulatedCall } from './simulate.ts'
import { frameMove, hasFailed, orNull } from './traces.ts'

// Reads debug_traceCall with go-ethereum's callTracer, which returns call frames with their logs. A trace is converted
// to the logs that eth_simulateV1 would return: the contracts' logs and one for each movement of the coin, in order.

export type CallTrace = {
  readonly failed: boolean
  /** Empty for a failed call. */
  readonly logs: readonly RawLog[]
  /** As revm-inspectors reports them: with payments to failed inner calls, without those of a self-destruction. */
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

/** The `position` of a log is the number of inner calls before it. The call depth limit, 1024, bounds the recursion. */
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

const IS_REVM = /^anvil|reth\//i

/** Whether coins moved inside the call, besides its own value. */
const hasInternalMoves = (call: Call, { logs }: SimulatedCall): boolean =>
  logs.filter(isCoinLog).length > (call.value > 0n ? 1 : 0)

const isSame = (one: readonly RawLog[], other: readonly RawLog[]): boolean =>
  one.length === other.length &&
  one.every(({ address, topics, data }, index) => {
    const log = other[index]
    return address === log?.address && data === log.data && topics.join() === log.topics.join()
  })

const withTrace = (end: SimulatedCall, trace: CallTrace | null): SimulatedCall =>
  trace !== null && isSame(trace.asRevm, end.logs) ? { ...end, logs: trace.logs } : end

/** Corrects the coin movements in the results of `runBundle`. Takes another round trip if there may be a difference. */
export const correctRevmTransfers = async (
  { rpc, limits }: { readonly rpc: Rpc; readonly limits: SimulationLimits },
  input: { readonly from: string; readonly calls: readonly Call[]; readonly ends: readonly SimulatedCall[] },
): Promise<readonly SimulatedCall[]> => {
  const { from, calls, ends } = input
  const places = calls.flatMap((call, index) => {
    const end = ends[index]
    return end !== undefined && hasInternalMoves(call, end) ? [{ call, index }] : []
  })
  if (places.length === 0 || limits.lacks('revm transfers') || limits.lacks('call traces')) return ends
  const version = question('web3_clientVersion', [], String)
  const traceQuestions = places.map(({ call }) => callTraceQuestion(from, call))
  const answers = await unlessUnavailable(rpc.tryAll([version, ...traceQuestions]))
  // The simulation is still useful without traces.
  if (answers === null) return ends
  const [client, ...traces] = answers
  if (!client.ok || !IS_REVM.test(client.value)) {
    limits.learn('revm transfers')
    return ends
  }
  if (traces.some((trace) => !trace.ok && isMethodMissing(trace.error))) limits.learn('call traces')
  const traced = new Map(places.map(({ index }, at) => [index, traces[at]]))
  return ends.map((end, index) => {
    const trace = traced.get(index)
    return trace?.ok ? withTrace(end, trace.value) : end
  })
}
