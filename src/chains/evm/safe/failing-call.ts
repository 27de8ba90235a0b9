// Finds out why the execution of a Safe fails. The Safe's own revert (GS013) hides the reason, so its calls are
// simulated from its address, one after the other.

import type { RecordedIntent } from '../../chain.ts'
import type { ContractWallets, FailingCall } from '../../contract-wallets.ts'
import { NodeUnavailable, question, type Rpc } from '../../node/rpc.ts'
import { bytes, toQuantity } from '../../node/wire.ts'
import { runBundle } from '../bundle.ts'
import { type Call, transactionObject } from '../call.ts'
import { notYetMined } from '../counts.ts'
import { describeFailures, type Failed, failedBy, failedIn } from '../failures.ts'
import { whyInvalid } from '../intrinsic.ts'
import type { NodeContext } from '../limits.ts'
import { isContractSenderRefused, isExecutionFailure } from '../node-errors.ts'
import { NO_FUNDS_REASON } from '../reverts.ts'
import type { SimulatedCall } from '../simulate.ts'

const TRIES_MAX = 3

type Input = Parameters<ContractWallets['failingCall']>[0]
type Failure = { readonly index: number; readonly failed: Failed }

/** Runs only the first call. Without a simulation nothing is known about the later ones. */
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

/** Runs the calls after the pending intents. Also null if the node cannot simulate, or mines faster than it answers. */
const firstAfterPending = async (
  { rpc, limits }: NodeContext,
  { from, calls, pending }: AfterPending,
): Promise<Failure | null> => {
  let live = await notYetMined(rpc, pending)
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const ends = await runBundle(rpc, limits, { from, calls: [...live, ...calls] })
    const failure = ends === null ? null : firstIn(ends.slice(live.length))
    if (failure === null) return null
    const left = await notYetMined(rpc, live)
    // An intent that was mined during the simulation may have been applied twice.
    if (left.length === live.length) return failure
    live = left
  }
  return null
}

const findFailure = async (context: NodeContext, input: Input): Promise<Failure | null> => {
  const { rpc, limits } = context
  const { address: from, blockNumber, pending } = input
  // The gas limits belong to the outer transaction.
  const calls = input.intents.map(({ to, value, input }) => ({ to, value, input }))
  if (pending !== undefined) return firstAfterPending(context, { from, calls, pending })
  const block = blockNumber === undefined ? 'latest' : toQuantity(blockNumber)
  const ends = calls.length > 1 ? await runBundle(rpc, limits, { from, calls, block }) : null
  return ends === null ? firstAlone(rpc, from, calls, block) : firstIn(ends)
}

/** See `ContractWallets.failingCall`. The reason is a preview's text. @throws NodeUnavailable for the newest block. */
export const findFailingCall = async (context: NodeContext, input: Input): Promise<FailingCall | null> => {
  try {
    const failure = await findFailure(context, input)
    if (failure === null || isContractSenderRefused(failure.failed.failure)) return null
    const { index, failed } = failure
    const to = input.intents[index]?.to ?? null
    const [reason] = await describeFailures(context, [{ to, failed }])
    return { reason: reason ?? failed.failure, index, isUnfunded: failed.failure === NO_FUNDS_REASON }
  } catch (error) {
    // The reason is optional for an older block: nodes prune state, and each reports this in its own way.
    if (error instanceof NodeUnavailable && input.blockNumber !== undefined) return null
    throw error
  }
}
