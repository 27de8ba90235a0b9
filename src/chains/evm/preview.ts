// What a bundle would do: one eth_simulateV1 for all of it, and the standards of the contracts that it touches (kept after
// the first time), because some calls and events mean one thing for ERC-20 and another for ERC-721.
// On a node without eth_simulateV1 each element is run alone on the newest block: eth_call tells how it ends, debug_traceCall
// (where the node has it) what it moves, and a failure says that the elements before it were not taken into account.

import type { Network } from '../../../db/words.ts'
import type { AddressFacts, ChainMemory, Intent, Movement, Preview } from '../chain.ts'
import { asStandard } from '../chain.ts'
import { NodeUnavailable, question, type Rpc } from '../node/rpc.ts'
import { bytes } from '../node/wire.ts'
import { runBundle } from './bundle.ts'
import { type Call, transactionObject } from './call.ts'
import { type CallTrace, callTraceQuestion, logProbe } from './call-traces.ts'
import { type Place, readDeclared } from './declared.ts'
import { decodeCall, dependsOnStandard, selectorIn } from './decode.ts'
import { describeFailures, type Failed, failedBy, failedIn } from './failures.ts'
import { whyInvalid } from './intrinsic.ts'
import type { SimulationLimits } from './limits.ts'
import { movementOf } from './logs.ts'
import { isExecutionFailure, isMethodMissing } from './node-errors.ts'
import { correctRevmTransfers } from './revm-transfers.ts'
import type { RawLog } from './simulate.ts'
import { transfersIn } from './wrapped.ts'

type Change = {
  readonly movement: Movement
  /** By an event that only a token's tells as a transfer. */
  readonly isWrap: boolean
}

type End = {
  /** null on success. */
  readonly failed: Failed | null
  readonly changes: readonly Change[] | null
  /** What is to be said of a failure besides. */
  readonly remark: string
}

type Context = {
  readonly rpc: Rpc
  readonly limits: SimulationLimits
  readonly network: Network
  readonly memory: ChainMemory
  readonly facts: (addresses: readonly string[]) => Promise<ReadonlyMap<string, AddressFacts>>
}

const changesOf = (logs: readonly RawLog[]): readonly Change[] =>
  transfersIn(logs).map(({ transfer, isWrap }) => ({ movement: movementOf(transfer), isWrap }))

const neverRun = (failure: string): Failed => ({ failure, reverted: '0x' })

const REMARK = ' (elements before it were not taken into account: the node cannot simulate a bundle)'

/** Of each call alone, null for one that was not told; null where none is. What the node says is no failure: eth_call tells the end. */
const traceEach = async (
  { rpc, limits }: Context,
  from: string,
  calls: readonly Call[],
): Promise<readonly (CallTrace | null)[] | null> => {
  if (limits.lacks('call traces')) return null
  try {
    const [probe, ...traces] = await rpc.tryAll([
      logProbe(from),
      ...calls.map((call) => (whyInvalid(call) === null ? callTraceQuestion(from, call) : null)),
    ])
    if (probe.ok ? probe.value?.logs.length === 1 : !isMethodMissing(probe.error)) {
      return traces.map((trace) => (trace.ok ? trace.value : null))
    }
    limits.learn('call traces')
    return null
  } catch (error) {
    if (error instanceof NodeUnavailable) return null
    throw error
  }
}

/** A block may have come between the two: then the trace may have failed where the call did not. */
const tracedChanges = (trace: CallTrace | null | undefined): readonly Change[] | null =>
  trace === null || trace === undefined || trace.failed ? null : changesOf(trace.logs)

/** For a node without eth_simulateV1. */
const callEach = async (context: Context, from: string, calls: readonly Call[]): Promise<readonly End[]> => {
  const { rpc } = context
  const reasons = calls.map(whyInvalid)
  const [answers, traces] = await Promise.all([
    rpc.tryAll(
      calls.map((call, index) =>
        reasons[index] === null ? question('eth_call', [transactionObject(from, call), 'latest'], bytes) : null,
      ),
    ),
    traceEach(context, from, calls),
  ])
  return answers.map((answer, index) => {
    if (!answer.ok && !isExecutionFailure(answer.error)) throw rpc.refusal(answer.error)
    const reason = reasons[index] ?? null
    const failed = reason === null ? (answer.ok ? null : failedBy(answer.error)) : neverRun(reason)
    const moved = failed === null ? tracedChanges(traces?.[index]) : []
    const changes = traces === null ? null : moved
    return { failed, changes, remark: index === 0 || answer.ok ? '' : REMARK }
  })
}

const simulateAll = async (context: Context, from: string, calls: readonly Call[]): Promise<readonly End[]> => {
  const { rpc, limits } = context
  const ran = await runBundle(rpc, limits, { from, calls })
  if (ran === null) return callEach(context, from, calls)
  const ends = await correctRevmTransfers({ rpc, limits }, { from, calls, ends: ran })
  return ends.map((end) => ({ failed: failedIn(end), changes: changesOf(end.logs), remark: '' }))
}

/** The contracts whose standard changes how an element reads. */
const contractsIn = (intents: readonly Intent[], ends: readonly End[]): readonly string[] => {
  const called = intents.flatMap(({ to, input }) => (to !== null && dependsOnStandard(input) ? [to] : []))
  const moved = ends.flatMap(({ changes }) =>
    (changes ?? []).flatMap(({ movement: { standard, contract } }) =>
      contract !== null && (standard === 'erc20' || standard === 'erc721') ? [contract] : [],
    ),
  )
  return [...called, ...moved]
}

const placeOf = ({ to, input }: Intent): Place | null => {
  const selector = to === null ? null : selectorIn(input)
  return selector === null ? null : { to, selector }
}

const NOT_SIMULATED: End = { failed: neverRun('execution failed: not simulated'), changes: null, remark: '' }

const shownChanges = (changes: readonly Change[], facts: ReadonlyMap<string, AddressFacts>): readonly Movement[] =>
  changes.flatMap(({ movement, isWrap }) => {
    const standard = facts.get(movement.contract ?? '')?.standard
    return isWrap && standard !== 'erc20' ? [] : [asStandard(movement, standard)]
  })

export const previewBundle = async (
  context: Context,
  input: { readonly from: string; readonly intents: readonly Intent[] },
): Promise<readonly Preview[]> => {
  const { from, intents } = input
  const [ends, functions] = await Promise.all([
    simulateAll(context, from, intents),
    readDeclared(context, { kind: 'function', places: intents.map(placeOf) }),
  ])
  const [facts, errors] = await Promise.all([
    context.facts(contractsIn(intents, ends)),
    describeFailures(
      context,
      intents.map(({ to }, index) => ({ to, failed: (ends[index] ?? NOT_SIMULATED).failed })),
    ),
  ])
  return intents.map((intent, index) => {
    const { failed, changes, remark } = ends[index] ?? NOT_SIMULATED
    const standard = intent.to === null ? undefined : facts.get(intent.to)?.standard
    return {
      decoded: decodeCall(intent, standard, functions[index]),
      success: failed === null,
      error: failed === null ? null : `${errors[index]}${remark}`,
      changes: changes === null ? null : shownChanges(changes, facts),
    }
  })
}
