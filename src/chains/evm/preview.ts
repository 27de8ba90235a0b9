// What a bundle would do: one eth_simulateV1 for all of it, and the standards of the contracts that it touches (kept after
// the first time), because some calls and events mean one thing for ERC-20 and another for ERC-721.

import type { Network } from '../../../db/words.ts'
import type { AddressFacts, ChainMemory, Hex, Intent, Movement, Preview } from '../chain.ts'
import { asStandard } from '../chain.ts'
import { runBundle, type SimulationLimits } from './bundle.ts'
import { type Call, transactionObject } from './call.ts'
import { type Place, readDeclared } from './declared.ts'
import { decodeCall, dependsOnStandard, selectorIn } from './decode.ts'
import { hopeless } from './intrinsic.ts'
import { movementOf, transfersOf } from './logs.ts'
import { isExecutionFailure, isRevert, revertData } from './nodeErrors.ts'
import { customErrorIn, failureOf, revertFailure } from './reverts.ts'
import { question, type Rpc } from './rpc.ts'
import { bytes } from './wire.ts'

type End = {
  readonly failure: string | null
  /** What a revert returned, for those who know more declarations. */
  readonly reverted: Hex
  readonly changes: readonly Movement[] | null
}

type Context = {
  readonly rpc: Rpc
  readonly limits: SimulationLimits
  readonly network: Network
  readonly memory: ChainMemory
  readonly facts: (addresses: readonly string[]) => Promise<ReadonlyMap<string, AddressFacts>>
}

/** For a node without eth_simulateV1: each element alone, on the newest block, and no word of what it moves. */
const callEach = async (rpc: Rpc, from: string, calls: readonly Call[]): Promise<readonly End[]> => {
  const reasons = calls.map(hopeless)
  const answers = await rpc.tryAll(
    calls.map((call, index) =>
      reasons[index] === null ? question('eth_call', [transactionObject(from, call), 'latest'], bytes) : null,
    ),
  )
  return answers.map((answer, index) => {
    if (!answer.ok && !isExecutionFailure(answer.error)) throw rpc.refusal(answer.error)
    const failure = reasons[index] ?? (answer.ok ? null : failureOf(answer.error))
    const reverted = answer.ok || !isRevert(answer.error) ? null : revertData(answer.error)
    return { failure, reverted: reverted ?? '0x', changes: null }
  })
}

const simulateAll = async ({ rpc, limits }: Context, from: string, calls: readonly Call[]): Promise<readonly End[]> => {
  const ends = await runBundle(rpc, limits, { from, calls })
  if (ends === null) return callEach(rpc, from, calls)
  return ends.map(({ failure, returnData, logs }) => ({
    failure,
    reverted: failure === null ? '0x' : returnData,
    changes: logs.flatMap(transfersOf).map(movementOf),
  }))
}

/** The contracts whose standard changes how an element reads. */
const contractsIn = (intents: readonly Intent[], ends: readonly End[]): readonly string[] => {
  const called = intents.flatMap(({ to, input }) => (to !== null && dependsOnStandard(input) ? [to] : []))
  const moved = ends.flatMap(({ changes }) =>
    (changes ?? []).flatMap(({ standard, contract }) =>
      contract !== null && (standard === 'erc20' || standard === 'erc721') ? [contract] : [],
    ),
  )
  return [...called, ...moved]
}

const placeOf = ({ to }: Intent, selector: Hex | null): Place | null => (selector === null ? null : { to, selector })

const NOT_SIMULATED: End = { failure: 'execution failed: not simulated', reverted: '0x', changes: null }

/** @throws NodeUnavailable. */
export const previewBundle = async (
  context: Context,
  input: { readonly from: string; readonly intents: readonly Intent[] },
): Promise<readonly Preview[]> => {
  const { from, intents } = input
  const [ends, functions] = await Promise.all([
    simulateAll(context, from, intents),
    readDeclared(context, {
      kind: 'function',
      places: intents.map((intent) => (intent.to === null ? null : placeOf(intent, selectorIn(intent.input)))),
    }),
  ])
  const [facts, errors] = await Promise.all([
    context.facts(contractsIn(intents, ends)),
    readDeclared(context, {
      kind: 'error',
      places: intents.map((intent, index) => placeOf(intent, customErrorIn(ends[index]?.reverted ?? '0x'))),
    }),
  ])
  return intents.map((intent, index) => {
    const { failure, reverted, changes } = ends[index] ?? NOT_SIMULATED
    const standard = intent.to === null ? undefined : facts.get(intent.to)?.standard
    return {
      decoded: decodeCall(intent, standard, functions[index]),
      success: failure === null,
      error: customErrorIn(reverted) === null ? failure : revertFailure(reverted, errors[index]),
      changes: changes?.map((change) => asStandard(change, facts.get(change.contract ?? '')?.standard)) ?? null,
    }
  })
}
