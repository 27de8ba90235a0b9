// Previews a bundle with one eth_simulateV1. The standards of the touched contracts are read (and remembered), because
// some calls and events have one meaning for ERC-20 and another for ERC-721. On a node without eth_simulateV1 each
// element runs alone on the newest block: eth_call shows whether it succeeds, and debug_traceCall, if the node has it,
// the movements. An error then says that the elements before it were ignored.

import type { EvmNetworkRow } from '../../platform/networks.ts'
import { type AddressFacts, asStandard, type Facts, type Intent, type Movement, type Preview } from '../chain.ts'
import { question } from '../node/rpc.ts'
import { bytes, unlessUnavailable } from '../node/wire.ts'
import { checksum } from './address.ts'
import { runBundle } from './bundle.ts'
import { type Call, transactionObject } from './call.ts'
import { type CoinContract, countedLogs } from './coin-contract.ts'
import { type CallSite, readDeclared } from './declared.ts'
import { decodeCall, dependsOnStandard, selectorIn } from './decode.ts'
import { describeFailures, type Failed, failedBy, failedIn } from './failures.ts'
import { tooMuchGas, whyInvalid } from './intrinsic.ts'
import type { NodeContext } from './limits.ts'
import { checksumMovement } from './logs.ts'
import { isExecutionFailure, isMethodMissing } from './node-errors.ts'
import { type CallTrace, callTraceQuestion, correctRevmTransfers, logProbe } from './revm-transfers.ts'
import type { RawLog } from './simulate.ts'
import { type FoundTransfer, transfersIn } from './wrapped.ts'

type End = {
  /** null on success. */
  readonly failed: Failed | null
  /** null if the node cannot trace. */
  readonly changes: readonly FoundTransfer[] | null
  /** Added to the error text. */
  readonly remark: string
}

type Context = NodeContext &
  Pick<Facts, 'facts'> & { readonly row: Pick<EvmNetworkRow, 'network' | 'maxTransactionGas' | 'coinContract'> }

const neverRun = (failure: string): Failed => ({ failure, reverted: '0x' })

const REMARK = ' (elements before it were not taken into account: the node cannot simulate a bundle)'

/** Why no transaction may do what a node simulated: there, nodes do not bound a call's gas (EIP-7825). */
const whyTooMuch = ({ row }: Context, call: Call | undefined, gasUsed: bigint): string | null => {
  const { maxTransactionGas: most } = row
  if (most === null) return null
  if ((call?.gasLimit ?? 0n) > most) return `execution failed: gas limit too high (at most ${most} on ${row.network})`
  return gasUsed > most ? tooMuchGas(row, { needed: gasUsed, most }) : null
}

/** Traces each call alone; null for one without a trace, or if the node cannot trace. eth_call shows the failures. */
const traceEach = async (
  { rpc, limits }: Context,
  from: string,
  calls: readonly Call[],
): Promise<readonly (CallTrace | null)[] | null> => {
  if (limits.lacks('call traces')) return null
  const questions = calls.map((call) => (whyInvalid(call) === null ? callTraceQuestion(from, call) : null))
  const answers = await unlessUnavailable(rpc.tryAll([logProbe(from), ...questions]))
  if (answers === null) return null
  const [probe, ...traces] = answers
  if (probe.ok ? probe.value?.logs.length === 1 : !isMethodMissing(probe.error)) {
    return traces.map((trace) => (trace.ok ? trace.value : null))
  }
  limits.learn('call traces')
  return null
}

/** Both kinds of simulation trace the coin. */
const changesIn = (coinContract: CoinContract, logs: readonly RawLog[]): readonly FoundTransfer[] =>
  transfersIn(countedLogs(coinContract, { logs, isTraced: true }))

/** A new block may have come between eth_call and the trace, so the trace may fail although the call succeeded. */
const tracedChanges = ({ row }: Context, trace: CallTrace | null | undefined): readonly FoundTransfer[] | null =>
  trace === null || trace === undefined || trace.failed ? null : changesIn(row.coinContract, trace.logs)

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
    const tooMuch = answer.ok ? whyTooMuch(context, calls[index], 0n) : null
    const never = reason ?? tooMuch
    const failed = never === null ? (answer.ok ? null : failedBy(answer.error)) : neverRun(never)
    const moved = failed === null ? tracedChanges(context, traces?.[index]) : []
    const changes = traces === null ? null : moved
    return { failed, changes, remark: index === 0 || answer.ok ? '' : REMARK }
  })
}

const simulateAll = async (context: Context, from: string, calls: readonly Call[]): Promise<readonly End[]> => {
  const { rpc, limits } = context
  const ran = await runBundle(rpc, limits, { from, calls })
  if (ran === null) return callEach(context, from, calls)
  const ends = await correctRevmTransfers({ rpc, limits }, { from, calls, ends: ran })
  return ends.map((end, index) => {
    const tooMuch = end.failure === null ? whyTooMuch(context, calls[index], end.gasUsed) : null
    if (tooMuch !== null) return { failed: neverRun(tooMuch), changes: [], remark: '' }
    return { failed: failedIn(end), changes: changesIn(context.row.coinContract, end.logs), remark: '' }
  })
}

/** The contracts whose standard decides what a call or an event means. */
const contractsIn = (intents: readonly Intent[], ends: readonly End[]): readonly string[] => {
  const called = intents.flatMap(({ to, input }) => (to !== null && dependsOnStandard(input) ? [to] : []))
  const moved = ends.flatMap(({ changes }) =>
    (changes ?? []).flatMap(({ transfer: { standard, contract } }) =>
      contract !== null && (standard === 'erc20' || standard === 'erc721') ? [checksum(contract)] : [],
    ),
  )
  return [...called, ...moved]
}

const findSite = ({ to, input }: Intent): CallSite | null => {
  const selector = to === null ? null : selectorIn(input)
  return selector === null ? null : { to, selector }
}

const NOT_SIMULATED: End = { failed: neverRun('execution failed: not simulated'), changes: null, remark: '' }

const shownChanges = (
  changes: readonly FoundTransfer[],
  facts: ReadonlyMap<string, AddressFacts>,
): readonly Movement[] =>
  changes.flatMap(({ transfer, isWrap }) => {
    const movement = checksumMovement(transfer)
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
    readDeclared(context, { kind: 'function', sites: intents.map(findSite) }),
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
