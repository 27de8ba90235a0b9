// Corrects the coin movements in simulations by anvil and reth (revm-inspectors, TransferInspector). They log a payment before
// the paid call begins, so the log remains if that call fails, and they do not log the coins of a self-destruction. A trace is
// right, but it runs the call alone on the newest block, not after the others. So a trace is used only if its logs, reported
// in their way, are equal to those of the simulation. It is read only if coins moved inside a call. A self-destruction without
// such a movement is not noticed.

import { NodeUnavailable, type Question, question, type Rpc } from '../node/rpc.ts'
import type { Call } from './call.ts'
import { type CallTrace, callTraceQuestion } from './call-traces.ts'
import type { SimulationLimits } from './limits.ts'
import { isCoinLog } from './logs.ts'
import { isMethodMissing } from './node-errors.ts'
import type { RawLog, SimulatedCall } from './simulate.ts'

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

const ask = async (rpc: Rpc, traces: readonly Question<CallTrace | null>[]) => {
  const version = question('web3_clientVersion', [], (value) => String(value))
  try {
    return await rpc.tryAll([version, ...traces])
  } catch (error) {
    if (error instanceof NodeUnavailable) return null
    throw error
  }
}

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
  const answers = await ask(
    rpc,
    places.map(({ call }) => callTraceQuestion(from, call)),
  )
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
