// Why a Safe fails at what it is told: its own revert hides the reason (GS013), so the calls are run once more from its
// address, one after the other as it would make them.

import type { Network } from '../../../../db/words.ts'
import type { ChainMemory, Intent, RecordedIntent } from '../../chain.ts'
import type { FailingCall } from '../../contract-wallets.ts'
import { NodeUnavailable, question, type Rpc } from '../../node/rpc.ts'
import { bytes, toQuantity } from '../../node/wire.ts'
import { runBundle } from '../bundle.ts'
import { type Call, transactionObject } from '../call.ts'
import { notYetMined } from '../counts.ts'
import { describeFailures, type Failed, failedBy, failedIn } from '../failures.ts'
import { whyInvalid } from '../intrinsic.ts'
import type { SimulationLimits } from '../limits.ts'
import { isContractSenderRefused, isExecutionFailure } from '../node-errors.ts'
import { NO_FUNDS_REASON } from '../reverts.ts'
import type { SimulatedCall } from '../simulate.ts'

const TRIES_MAX = 3

type Context = {
  readonly rpc: Rpc
  readonly network: Network
  readonly limits: SimulationLimits
  readonly memory: Pick<ChainMemory, 'readAbiItems'>
}

type Input = {
  readonly address: string
  readonly intents: readonly Intent[]
  readonly blockNumber?: bigint
  readonly pending?: readonly RecordedIntent[]
}
type Failure = { readonly index: number; readonly failed: Failed }

/** How the first of them ends without the others; of those behind it nothing can be said so. */
const firstAlone = async (rpc: Rpc, from: string, [first]: readonly Call[], block: string): Promise<Failure | null> => {
  if (first === undefined) return null
  const reason = whyInvalid(first)
  if (reason !== null) return { index: 0, failed: { failure: reason, reverted: '0x' } }
  const answer = await rpc.try(question('eth_call', [transactionObject(from, first), block], bytes))
  if (answer.ok) return null
  if (!isExecutionFailure(answer.error)) throw rpc.refusal(answer.error)
  return { index: 0, failed: failedBy(answer.error) }
}

const firstIn = (ends: readonly SimulatedCall[]): Failure | null => {
  const index = ends.findIndex(({ failure }) => failure !== null)
  const end = ends[index]
  const failed = end === undefined ? null : failedIn(end)
  return failed === null ? null : { index, failed }
}

type AfterPending = {
  readonly from: string
  readonly calls: readonly Call[]
  readonly pending: readonly RecordedIntent[]
}

/** null also where the node cannot simulate, or mines faster than it answers. */
const firstAfterPending = async (
  { rpc, limits }: Context,
  { from, calls, pending }: AfterPending,
): Promise<Failure | null> => {
  let live = await notYetMined(rpc, pending)
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const ends = await runBundle(rpc, limits, { from, calls: [...live, ...calls] })
    const failure = ends === null ? null : firstIn(ends.slice(live.length))
    if (failure === null) return null
    const left = await notYetMined(rpc, live)
    // What was mined meanwhile may have had its effect twice.
    if (left.length === live.length) return failure
    live = left
  }
  return null
}

const findFailure = async (context: Context, input: Input): Promise<Failure | null> => {
  const { rpc, limits } = context
  const { address: from, blockNumber, pending } = input
  // The gas is that of the transaction around them.
  const calls = input.intents.map(({ to, value, input }) => ({ to, value, input }))
  if (pending !== undefined) return firstAfterPending(context, { from, calls, pending })
  const block = blockNumber === undefined ? 'latest' : toQuantity(blockNumber)
  const ends = calls.length > 1 ? await runBundle(rpc, limits, { from, calls, block }) : null
  return ends === null ? firstAlone(rpc, from, calls, block) : firstIn(ends)
}

/** The first that fails, by place and in the words of a preview; null where none does or where it cannot be told. @throws NodeUnavailable for the newest block. */
export const findFailingCall = async (context: Context, input: Input): Promise<FailingCall | null> => {
  try {
    const failure = await findFailure(context, input)
    if (failure === null || isContractSenderRefused(failure.failed.failure)) return null
    const { index, failed } = failure
    const to = input.intents[index]?.to ?? null
    const [reason] = await describeFailures(context, [{ to, failed }])
    return { reason: reason ?? failed.failure, index, isUnfunded: failed.failure === NO_FUNDS_REASON }
  } catch (error) {
    // Of the past it is told as well as may be: nodes keep no state, or do not have the block, each in its words.
    if (error instanceof NodeUnavailable && input.blockNumber !== undefined) return null
    throw error
  }
}
